"""Definitions: what to keep fresh, as a user wrote it and as it is stored.

A definition is complete in itself: it names its places absolutely and holds the text of its query. `build` is how one
is made from what a user gave; it checks the query too. Loading a stored one checks the fields only.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property, partial
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StrictBool,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_serializer,
)

from airflow_refresh_provider.core.definition.budget import Budget, Whole
from airflow_refresh_provider.core.definition.choices import (
    Chunking,
    ColumnChoice,
    Deletes,
    Layout,
    OnDuplicate,
    OnSchemaChange,
    Visibility,
)
from airflow_refresh_provider.core.definition.columns import check_distinct, check_known
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.core.definition.locations import TargetLocation
from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.definition.names import (
    ClusterColumnNames,
    ColumnName,
    ColumnNames,
    DefinitionName,
    InputName,
    SomeColumnNames,
    ViewName,
    backticked,
    repeated,
)
from airflow_refresh_provider.core.definition.problems import invalid, problems, together
from airflow_refresh_provider.core.definition.schedule import Schedule, from_text
from airflow_refresh_provider.core.query.facts import QueryFacts
from airflow_refresh_provider.core.text.stored import Stored
from airflow_refresh_provider.errors import Invalid

MAX_VNODES = 1024


def _vnodes(value: object, handler: ValidatorFunctionWrapHandler) -> object:
    try:
        return handler(value)
    except ValidationError:
        raise ValueError(f"must be auto or a whole number from 1 to {MAX_VNODES}") from None


def _inputs(inputs: dict[str, Input]) -> dict[str, Input]:
    if again := repeated(inputs):
        raise ValueError(f"names {', '.join(again)} more than once (case-insensitive): rename one")
    return inputs


def _query(query: str) -> str:
    if not query.strip():
        raise ValueError("must not be empty: write a SELECT over the inputs")
    return query.rstrip()


class Definition(Stored):
    """One target to keep fresh."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True, serialize_by_alias=True)

    name: DefinitionName = Field(description="What it is called: lower-case words joined by dots.")
    target: TargetLocation = Field(description="Where the Delta table is kept: an absolute path or a URI.")
    query: Annotated[str, AfterValidator(_query)] | None = Field(
        default=None, description="One Spark SQL SELECT over the names of the inputs."
    )
    from_: InputName | None = Field(
        default=None, alias="from", description="Instead of a query: the one input to copy."
    )
    columns: ColumnChoice | None = Field(default=None, description="With `from`: which columns are taken, default all.")
    inputs: Annotated[dict[InputName, Input], Field(min_length=1), AfterValidator(_inputs)] = Field(
        description="What the query reads, by name."
    )
    keys: SomeColumnNames = Field(description="Columns of the result that identify a row: never NULL, unique together.")
    mode: Mode = Field(
        default=Mode.FULL,
        description="`full`: each refresh evaluates the whole query. `incremental`: it reads only what has changed in "
        "the inputs, and refuses queries that cannot follow them. `auto`: incremental where possible and sensible.",
    )
    refresh: Annotated[Schedule, BeforeValidator(from_text, json_schema_input_type=Literal["manual"] | Schedule)] = (
        Field(default=Schedule(), description="When it is refreshed automatically; `manual`, the default, means never.")
    )
    layout: Layout = Field(
        default=Layout.PLAIN,
        description="`plain`: exactly the columns of the query. `vnode`: for very large tables; partitioned by a "
        "hidden `_vnode`, units commit side by side.",
    )
    vnodes: Annotated[
        Literal["auto"] | Annotated[int, Field(strict=True, ge=1, le=MAX_VNODES)], WrapValidator(_vnodes)
    ] = Field(
        default="auto",
        description=f"Number of hash buckets that work is divided into, 1 to {MAX_VNODES}; with layout `vnode` fixed "
        "for the table's life.",
    )
    partition_by: ColumnNames = Field(
        default=(),
        description="Partition columns, none of them binary; layout `plain` only. Empty text in one is NULL.",
    )
    cluster_by: ClusterColumnNames = Field(
        default=(), description="Clustering columns, at most four; layout `plain` only."
    )
    visibility: Visibility = Field(
        default=Visibility.WHOLE,
        description="`whole`: readers see whole refreshes (the target itself if the change fits one commit, else the "
        "published version). `live`: each chunk is visible once committed.",
    )
    view: ViewName | None = Field(
        default=None,
        description="A catalog view that always reads the published version. Views in the catalog of the embedded "
        "server are lost when it stops; the next refresh that has something to do creates them again.",
    )
    chunking: Chunking = Field(default=Chunking(), description="How large commits are, in changed rows.")
    budget: Budget | None = Field(
        default=None,
        description="What a run may spend before it stops between two chunks; the next run continues it.",
    )
    throttle: Whole | None = Field(
        default=None,
        description="How many rows a second a run may change; units wait for that between two chunks. "
        "`airflow-refresh throttle` takes precedence over it.",
    )
    deletes: Deletes = Field(
        default=Deletes.APPLY, description="Rows no longer in the result: `apply` deletes them, `ignore` keeps them."
    )
    on_duplicate: OnDuplicate = Field(
        default=OnDuplicate.ERROR, description="A key that occurs twice: `error`, or `latest` keeps its newest row."
    )
    latest_by: ColumnName | None = Field(
        default=None,
        description="With `on_duplicate: latest`: the column that says which row is newest.",
    )
    on_schema_change: OnSchemaChange = Field(
        default=OnSchemaChange(), description="What to do when the columns of the result change."
    )
    verify_every: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        default=None,
        description="Verify one of so many incremental refreshes of a query that is not row-wise by a whole "
        "comparison. The first one always is.",
    )
    verify_share: Annotated[float, Field(strict=True, ge=0, le=1)] = Field(
        default=0.0,
        description="Share of the rows of the target, 0 to 1, that other incremental refreshes of such a query compute "
        "again as a sample and compare, such as 0.001. It reads the columns that the query needs of all inputs.",
    )
    max_delete_ratio: Annotated[float, Field(strict=True, ge=0, le=1)] = Field(
        default=0.5, description="Share of a non-empty target that a run may delete without `--force`, 0 to 1."
    )
    float_tolerance: Annotated[float, Field(strict=True, ge=0, lt=1)] = Field(
        default=1e-13,
        description="For DOUBLE and FLOAT computed with `sum`, `avg` and the like, whose last digits vary: up to this "
        "relative difference a value is unchanged. 0: all digits count. -0.0 equals 0.0, NaN equals NaN.",
    )
    adopt: StrictBool = Field(
        default=False, description="Take over an existing table that this provider did not create."
    )
    deletion_vectors: StrictBool = Field(
        default=True,
        description="`false` for readers that know no deletion vectors. An adopted table keeps its own setting unless "
        "this is given.",
    )
    change_feed: StrictBool = Field(
        default=False,
        description="Whether the target keeps a change data feed, from which definitions that read it follow its "
        "changes. A feed that a table has already stays on.",
    )
    single_writer: StrictBool = Field(
        default=False,
        description="Declares that one Spark driver only ever writes the target; needed on plain S3, where commits of "
        "two drivers can overwrite each other.",
    )
    redact_keys: StrictBool = Field(
        default=True,
        description="Whether stored reasons have hashes in the place of keys and of other values of rows; errors show "
        "some to the caller. `false` stores them too.",
    )
    owner: str | None = Field(default=None, description="The person or team responsible.")
    description: str | None = Field(default=None, description="What it is for.")
    tags: tuple[str, ...] = Field(default=(), description="Labels for searching.")

    @classmethod
    def build(cls, **fields: object) -> Definition:
        """A definition from what a user gave, its query checked. Raises Invalid with everything that is wrong."""
        definition = cls.unchecked(**fields)
        definition.analyse_query()
        return definition

    @classmethod
    def unchecked(cls, **fields: object) -> Definition:
        """As `build`, but the query is checked only if a field is invalid."""
        try:
            return cls.model_validate(fields)
        except ValidationError as error:
            raise invalid([*problems(error, _known_fields()), *_wrong_query(error, fields)]) from None

    @classmethod
    def wrong_fields(cls, **fields: object) -> tuple[str, ...]:
        """The problems of the fields where the text of the query is not known, one line for each."""
        try:
            cls.model_validate(fields)
        except ValidationError as error:
            return problems(error, _known_fields())
        return ()

    def analyse_query(self) -> QueryFacts:
        """The facts of the query. Raises Invalid, with the position, for one that cannot be refreshed as defined."""
        # The SQL parser takes a third of a second to import; stored definitions have their facts stored with them.
        from airflow_refresh_provider.core.query.query import analyse

        try:
            facts = analyse(self.query_text, tuple(self.inputs))
            check_distinct(facts.columns or ())
            check_known(facts.columns, self.result_columns)
        except Invalid as error:
            raise together(self._problems_of_query() or [error]) from None
        return facts

    def _problems_of_query(self) -> list[Invalid]:
        """What is wrong with the query, and with the columns that fields name, so that all is reported at once."""
        from airflow_refresh_provider.core.query.query import problems_of

        found, columns = problems_of(self.query_text, tuple(self.inputs))
        for check in (partial(check_distinct, columns or ()), partial(check_known, columns, self.result_columns)):
            try:
                check()
            except Invalid as error:
                found.append(error)
        return found

    @property
    def query_text(self) -> str:
        """The query, or the one that `from` stands for."""
        if self.query is not None:
            return self.query
        assert self.from_ is not None
        return f"SELECT {_selection(self.columns)} FROM {backticked(self.from_)}"

    @property
    def result_columns(self) -> dict[str, tuple[str, ...]]:
        """The columns of the result that fields name, by field."""
        latest = (self.latest_by,) if self.latest_by else ()
        return {
            "keys": self.keys,
            "latest_by": latest,
            "partition_by": self.partition_by,
            "cluster_by": self.cluster_by,
        }

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """As that of any model; what was computed from the fields is not that of the copy."""
        copied = super().model_copy(update=update, deep=deep)
        vars(copied).pop("hash", None)
        return copied

    @cached_property
    def hash(self) -> str:
        """A hash over exactly what decides the result or its layout; a run is only resumed under the same one."""
        facts = {
            "target": self.target,
            "query": self.query_text,
            "inputs": {name: given.model_dump(mode="json", exclude=_NOT_READ) for name, given in self.inputs.items()},
            **{field: getattr(self, field) for field in _HASHED},
            **{field: getattr(self, field) for field in _HASHED_IF_CHANGED if getattr(self, field) != _default(field)},
        }
        canonical = json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()

    def model_post_init(self, context: object, /) -> None:
        """Refuse fields that do not go together. A validator would look again for each model that has this one."""
        found = [*_query_problems(self), *_layout_problems(self), *_row_problems(self)]
        if found:
            raise ValueError("\n".join(found))

    @model_serializer(mode="wrap")
    def _as_given(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        """Adoption depends on whether `deletion_vectors` was given, so its default is not stored."""
        dumped: dict[str, object] = handler(self)
        if "deletion_vectors" not in self.model_fields_set:
            dumped.pop("deletion_vectors", None)
        return dumped


_NOT_READ = {"trigger", "ignore_changes"}
"""Fields that decide when an input is checked for changes, not which rows are read."""

_HASHED = ("keys", "layout", "vnodes", "partition_by", "cluster_by", "deletes", "on_duplicate", "latest_by")

_HASHED_IF_CHANGED = ("float_tolerance",)
"""Fields of later versions: with their defaults a definition has the hash that it had without them."""


def _default(field: str) -> object:
    return Definition.model_fields[field].default


def parts() -> dict[str, type[Stored]]:
    """The models a definition is made of, by the field they stand under; the definition itself under ''."""
    return {
        "": Definition,
        "inputs": Input,
        "columns": ColumnChoice,
        "refresh": Schedule,
        "chunking": Chunking,
        "budget": Budget,
        "on_schema_change": OnSchemaChange,
    }


def _wrong_query(error: ValidationError, fields: dict[str, object]) -> list[str]:
    """The problems of the query where other fields are wrong too, so that all are reported at once."""
    from airflow_refresh_provider.core.query.query import problems_of

    query, inputs = fields.get("query"), fields.get("inputs")
    hidden = any(_hides_the_query(details["loc"]) for details in error.errors())
    if hidden or not isinstance(query, str) or not isinstance(inputs, dict):
        return []
    return [found.message for found in problems_of(query, tuple(inputs))[0]]


def _hides_the_query(place: tuple[int | str, ...]) -> bool:
    """Whether a problem leaves the query or the names of its inputs unknown; a field of an input does not."""
    names = place == ("inputs",) or (place[:1] == ("inputs",) and place[-1] == "[key]")
    return names or place == ("query",)


def _known_fields() -> dict[str, tuple[str, ...]]:
    known = {place: tuple(f.alias or n for n, f in model.model_fields.items()) for place, model in parts().items()}
    return known | {"": (*known[""], "query_file")}


def _selection(columns: ColumnChoice | None) -> str:
    if columns is None:
        return "*"
    named = ", ".join(backticked(c) for c in columns.include or columns.exclude or ())
    return named if columns.include else f"* EXCEPT ({named})"


def _query_problems(d: Definition) -> list[str]:
    found = []
    if (d.query is None) == (d.from_ is None):
        found.append("give exactly one of query, query_file and from")
    if d.columns is not None and d.from_ is None:
        found.append("columns goes with from: select the columns in the query instead")
    if d.from_ is not None and d.from_.lower() not in (name.lower() for name in d.inputs):
        found.append(f"from: {d.from_} is not among the inputs {', '.join(d.inputs)}")
    reading_itself = [name for name, given in d.inputs.items() if given.path == d.target]
    if reading_itself:
        found.append(f"inputs.{reading_itself[0]}: is the target itself, so each refresh would change its own input")
    if d.refresh.on_change and not any(i.trigger and not i.ignore_changes for i in d.inputs.values()):
        found.append("refresh.on_change: needs an input whose changes may start a refresh (trigger: true)")
    return found


def _layout_problems(d: Definition) -> list[str]:
    found = []
    if d.partition_by and d.cluster_by:
        found.append("give partition_by or cluster_by, a table cannot have both")
    if d.layout is Layout.VNODE and (d.partition_by or d.cluster_by):
        found.append("partition_by and cluster_by need layout plain: layout vnode has its own partitions")
    return found


def _row_problems(d: Definition) -> list[str]:
    if d.on_duplicate is OnDuplicate.LATEST and d.latest_by is None:
        return ["on_duplicate: latest needs latest_by, the column that says which row is newest"]
    if d.on_duplicate is OnDuplicate.ERROR and d.latest_by is not None:
        return ["latest_by needs on_duplicate: latest"]
    return []
