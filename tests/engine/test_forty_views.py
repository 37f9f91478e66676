"""Forty views of the catalogue follow random changes of their inputs on real Spark and Delta, from every change source.

After each refresh the target is compared with the query, run by Spark over the inputs as they are. A failure shows the
view, the changes with their seed, and both results.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import RunResult
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from tests.engine.changing_inputs import FILE_LESS, PARTITIONED_BY, ChangingInput, Kind
from tests.engine.forty_views import COUNTED, KEYED, with_keys
from tests.unit.maintain.catalogue import FOLLOWED, INPUTS
from tests.unit.maintain.test_catalogue import inputs_of

VIEWS = (*KEYED, *COUNTED)
MIXED = {"a": Kind.FEED, "b": Kind.FILES, "c": Kind.PARQUET, "d": Kind.PARTITIONS}
WORLDS: dict[str, Mapping[str, Kind]] = {
    "mixed": MIXED,
    **{kind.value: dict.fromkeys(INPUTS, kind) for kind in Kind},
}
ROUNDS = 2
SOME = ("mixed", (6, 18, 23, 27))
PARTS = [(world, tuple(range(number, len(VIEWS), 10))) for number, world in enumerate([*WORLDS, *WORLDS])]
"""Kinds of inputs, and the views that are refreshed from them: each view once."""
FOLLOWS = ("changes", "verification", "nothing_changed", None)
"""Codes of incremental refreshes; none where no input has another version."""


class World:
    """Some of the four inputs, and views that are refreshed from them."""

    def __init__(self, spark: SparkSession, folder: Path, endpoint: Endpoint, kinds: Mapping[str, Kind], seed: int):
        self.spark, self.folder, self.seed, self.chance = spark, folder, seed, random.Random(seed)
        self.refreshes = refreshes(Places(str(folder / "control"), endpoint.url, str(folder / "spark")))
        self.done: list[str] = []
        self.inputs = {}
        for name, kind in kinds.items():
            parts = PARTITIONED_BY[name] if kind is Kind.PARTITIONS else ()
            self.inputs[name] = ChangingInput(spark, folder / name, name, kind, parts)
            self.inputs[name].create(self.chance)

    def register(self, number: int) -> None:
        query, keys = with_keys(VIEWS[number])
        self.refreshes.register(
            Definition.build(
                name=f"view_{number}",
                target=str(self.folder / f"view_{number}"),
                query=query,
                inputs={name: self.inputs[name].settings for name in inputs_of(VIEWS[number])},
                keys=keys,
                mode="incremental",
                max_delete_ratio=1.0,
            )
        )

    def change(self) -> tuple[str | None, ...]:
        """One or two changes of most of the inputs; returns the codes that a refresh may then have."""
        names = [name for name in self.inputs for _ in range(self.chance.choice([0, 1, 1, 2]))]
        made = [self.inputs[name].change(self.chance) for name in names]
        self.done += made
        return (*FOLLOWS, "history_lost") if FILE_LESS in made else FOLLOWS

    def refresh(self, number: int) -> RunResult:
        """A refresh, after which the target equals the query."""
        result = self.refreshes.run(f"view_{number}", Request())
        found, wanted = self._rows(number)
        assert found == wanted, self._story(number, result, f"found {found - wanted}, missing {wanted - found}")
        codes = [notice.code for notice in result.notices if notice.code != "not_added_up"]
        assert not codes, self._story(number, result, str(result.notices))
        return result

    def _rows(self, number: int) -> tuple[Counter[str], Counter[str]]:
        """Rows of the target and of the query, by one statement: each has a price."""
        target, query = f"delta.`{self.folder / f'view_{number}'}`", with_keys(VIEWS[number])[0]
        rows = "to_json(struct(*), map('ignoreNullFields', 'false')) AS row"
        both = f"SELECT true AS found, {rows} FROM {target} UNION ALL SELECT false, {rows} FROM ({query})"
        found, wanted = Counter[str](), Counter[str]()
        for row in self.spark.sql(both).collect():
            (found if row.found else wanted)[row.row] += 1
        return found, wanted

    def _story(self, number: int, result: RunResult, what: str) -> str:
        inputs = {name: self.inputs[name].rows() for name in inputs_of(VIEWS[number])}
        lines = [VIEWS[number], f"seed {self.seed}", *self.done, f"{result.mode_code}: {result.mode_reason}", what]
        return "\n".join([*lines, *(f"{name} is {rows}" for name, rows in inputs.items())])


def test_forty_views_of_the_catalogue_are_refreshed() -> None:
    assert set(VIEWS) <= set(FOLLOWED) and len(VIEWS) == 40
    assert sorted(number for _, views in PARTS for number in views) == list(range(40))


@pytest.mark.parametrize(
    ("world", "views"),
    [SOME, *(pytest.param(*part, marks=pytest.mark.slow) for part in PARTS)],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, tuple) else str(value),
)
def test_views_follow_any_changes(
    open_session: Callable[[], SparkSession],
    tmp_path: Path,
    spark_server: Endpoint,
    world: str,
    views: tuple[int, ...],
) -> None:
    read = {name for number in views for name in inputs_of(VIEWS[number])}
    kinds = {name: kind for name, kind in WORLDS[world].items() if name in read}
    made = World(open_session(), tmp_path, spark_server, kinds, seed=views[0])
    for number in views:
        made.register(number)
        assert made.refresh(number).mode_code == "first_refresh"
    for _ in range(ROUNDS):
        allowed = made.change()
        codes = {number: made.refresh(number).mode_code for number in views}
        assert set(codes.values()) <= set(allowed), f"{codes}: {made.done}"
