"""Advice to split a query: an aggregate inside of it, or its first rows of groups, become a definition of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from sqlglot import exp

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.maintain import columns
from airflow_refresh_provider.core.maintain.advised import Advice, AdviceKind
from airflow_refresh_provider.core.maintain.analysis import lower_names, maintenance
from airflow_refresh_provider.core.maintain.pieces import Piece, pieces
from airflow_refresh_provider.core.maintain.plan import Maintenance
from airflow_refresh_provider.core.maintain.queries import Reader
from airflow_refresh_provider.core.maintain.relations import Relation
from airflow_refresh_provider.core.maintain.scopes import Scope
from airflow_refresh_provider.core.maintain.structs import ASSUMED
from airflow_refresh_provider.core.query.parse import parse
from airflow_refresh_provider.core.text.wording import listed

InputTypes = Mapping[str, Mapping[str, str]]
_Given = TypeVar("_Given")


@dataclass(frozen=True)
class _Split:
    """A query in two parts: the keys of the inner one, and the inputs that the outer one does not follow then."""

    piece: Piece
    keys: tuple[str, ...]
    unfollowed: frozenset[str]

    @property
    def lost(self) -> int:
        """How many inputs are still not followed; an inner part that is not is small beside an input."""
        return 2 * len(self.unfollowed - {self.piece.name}) + (self.piece.name in self.unfollowed)


def advised(definition: Definition, inputs: InputTypes, found: Maintenance) -> Advice | None:
    """The part that is better a definition of its own; None where none is. Raises Invalid for no query."""
    parsed = parse(definition.query_text)
    given = [split for piece in pieces(parsed) if (split := _split(piece, definition, inputs)) is not None]
    good = [split for split in given if split.unfollowed - {split.piece.name} < found.unfollowed.keys()]
    best = min(good, key=lambda split: split.lost, default=None)
    return _advice(definition, found, best) if best else None


def _split(piece: Piece, definition: Definition, inputs: InputTypes) -> _Split | None:
    """Both parts analysed; None where the inner one has no keys, or does not follow its inputs."""
    if piece.name in lower_names(inputs):
        return None
    read = _read(piece.inner, inputs)
    reader = Reader(parse(piece.inner), lower_names(read))
    tree = reader.parsed.tree
    result = reader.relation(tree, {})
    top = reader.top
    keys = _keys(tree, top.scope) if top and isinstance(tree, exp.Select) else None
    if not keys or maintenance(piece.inner, read, keys).unfollowed:
        return None
    outer: InputTypes = {**_read(piece.outer, inputs), piece.name: _types(result, inputs)}
    return _Split(piece, keys, frozenset(maintenance(piece.outer, outer, definition.keys).unfollowed))


def _keys(select: exp.Select, scope: Scope) -> tuple[str, ...] | None:
    return columns.group_names(select, scope) or columns.first_names(select, scope)


def _read(query: str, inputs: Mapping[str, _Given]) -> dict[str, _Given]:
    """The inputs that a query reads."""
    names = {table.name.lower() for table in parse(query).tree.find_all(exp.Table)}
    return {name: given for name, given in inputs.items() if name.lower() in names}


def _types(relation: Relation, inputs: InputTypes) -> dict[str, str]:
    """The columns of a query as those of an input. One whose type is not known compares with itself alone."""
    assumed = any(ASSUMED in types.values() for types in inputs.values())
    return {name: type_ or (ASSUMED if assumed else f"that of {name}") for name, type_ in relation.types.items()}


def _advice(definition: Definition, found: Maintenance, split: _Split) -> Advice:
    name, keys = split.piece.name, listed(split.keys)
    won = listed(sorted(found.unfollowed.keys() - split.unfollowed))
    if split.piece.name in split.unfollowed:
        effect = f"changes of {won} then recompute only rows of {name}, from which the rest is computed as a whole"
    else:
        effect = f"changes of {won} are then followed" if split.unfollowed else "every input is then followed"
    return Advice(
        kind=AdviceKind.SPLIT,
        text=f"split {name} into a definition of its own, whose keys {keys} must never be NULL: {effect}",
        definitions=_definitions(definition, split),
    )


def _definitions(definition: Definition, split: _Split) -> tuple[Definition, Definition]:
    piece = split.piece
    given = definition.model_dump(mode="json", exclude_unset=True)
    target = f"{definition.target}_{piece.name}"
    kept = {field: given[field] for field in ("refresh", "owner", "tags") if field in given}
    inner: dict[str, object] = {
        "name": f"{definition.name}_{piece.name}",
        "target": target,
        "query": piece.inner,
        "inputs": _read(piece.inner, given["inputs"]),
        "keys": list(split.keys),
        "mode": "incremental",
        "change_feed": True,
    }
    outer: dict[str, object] = {
        "query": piece.outer,
        "inputs": {**_read(piece.outer, given["inputs"]), piece.name: {"path": target}},
        "mode": "auto" if split.unfollowed else "incremental",
    }
    return Definition.build(**inner | kept), Definition.build(**given | outer)
