"""Spans of touched values become conditions only for tables of which they leave out enough files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from airflow_refresh_provider.core.changes.pins import DeltaPin, FilesPin, Pin
from airflow_refresh_provider.core.changes.reads import Read
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.maintain.plan import Maintenance, Use
from airflow_refresh_provider.core.maintain.spans import Spans
from airflow_refresh_provider.core.plan.plan import Target
from airflow_refresh_provider.ports.table_log import SpansOf, TableFacts
from airflow_refresh_provider.ports.tasks import Touched
from airflow_refresh_provider.runner.facts.targets import Ready
from airflow_refresh_provider.runner.windows.skipping import with_skipping
from airflow_refresh_provider.testing.memory_control import MemoryControlStore
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.testing.memory_ports import memory_ports
from airflow_refresh_provider.testing.memory_reads import MemoryLog

MB = 1 << 20
READ = {"sorted": 10, "half": 50, "scattered": 100, "other": 30}
PIN = DeltaPin(location="/in/x", table_id="t", version=1)
ONE = Spans(type="bigint", spans=((1, 9),))


TARGET = Target(location="/gold", table_id="g", columns=(), vnodes=1, deletion_vectors=False)


class Files(MemoryLog):
    """Tables of 100 MB, of which spans of these columns read so many; with `sorted` rows by their files."""

    sorted = False
    few = False

    def files_within(self, location: str, version: int, ways: Sequence[SpansOf]) -> Read | None:
        little = sum(READ[column] for way in ways for column in way) <= 50
        if not (self.sorted and all(ways) and little):
            return None
        return Read(location=location, format="parquet", paths=(f"{location}/{version}",), file_format="parquet")

    def few_files(self, location: str, version: int, *, deleted: bool) -> Read | None:
        kind = "deleted" if deleted else "all"
        path = f"{location}/{kind}/{version}"
        return Read(location=location, format="parquet", paths=(path,), file_format="parquet") if self.few else None

    def sizes_within(
        self, location: str, version: int, column: str, spans: Sequence[tuple[int, int]]
    ) -> tuple[int, int]:
        return READ.get(column, 100) * MB, 100 * MB

    def facts(self, location: str) -> TableFacts | None:
        return TableFacts(location=location, table_id="t", properties={}, version=1, partitioned_by=("Day",))


def skipped(
    *uses: Any,
    anchors: tuple[str, ...] = ("scattered",),
    pin: Pin = PIN,
    rows: int = 3,
    by_files: bool = False,
    few: bool = False,
    spans: bool = True,
    options: dict[str, str] | None = None,
) -> Touched:
    """The touched values, with what they skip; `uses`: the restrictions of each use of an input."""
    read = tuple(Use(input="x", start=0, end=0, aliased=False, restrictions=ways) for ways in uses)
    maintenance = Maintenance(anchors=anchors, uses=read, routes=())
    touched = Touched(location="/staged", maintenance=maintenance, rows=rows, spans={0: ONE} if spans else {})
    lake = MemoryLake()
    log = Files(lake)
    log.sorted, log.few = by_files, few
    definition = Definition.build(
        name="d",
        target="/gold",
        query="SELECT k FROM x",
        keys=("k",),
        inputs={"x": {"path": "/in/x", "options": options or {}}},
    )
    ports = replace(memory_ports(lake, MemoryControlStore()), log=log)
    return with_skipping(ports, definition, {"x": pin}, Ready(TARGET, 7, 100), touched)


@pytest.mark.parametrize(
    ("ways", "skips"),
    [
        ((("`sorted`",),), True),
        ((("`half`",),), True),
        ((("`scattered`",),), False),
        ((("`sorted`",), ("`other`",)), True),
        ((("`sorted`",), ("`half`",)), False),
        ((("`sorted`",), (None,)), False),
        ((("trunc(`day`, 'MM')",),), True),
        ((("trunc(`sorted`, 'MM')",),), False),
        (None, False),
    ],
)
def test_an_input_is_restricted_where_enough_is_left_out(ways: Any, skips: bool) -> None:
    assert skipped(ways).skips == (frozenset({0}) if skips else frozenset())


def test_each_use_of_an_input_is_looked_at_by_itself() -> None:
    assert skipped((("`scattered`",),), None, (("`sorted`",),)).skips == {2}


def test_the_target_is_restricted_where_enough_is_left_out() -> None:
    assert not skipped().skips_target
    assert skipped(anchors=("sorted",)).skips_target


def test_row_groups_of_plain_files_may_be_left_out() -> None:
    pin = FilesPin(location="/in/x", format="parquet", files=())
    assert skipped((("`scattered`",),), pin=pin).skips == {0}


def test_without_touched_values_nothing_is_asked() -> None:
    assert not skipped((("`sorted`",),), anchors=("sorted",), rows=0).skips


@pytest.mark.parametrize(
    ("ways", "read"),
    [
        ((("`sorted`",),), True),
        ((("`scattered`",),), False),
        ((("`sorted`",), ("`other`",)), True),
        ((("`sorted`",), ("trunc(`day`, 'MM')",)), False),
        (None, False),
    ],
)
def test_an_input_is_read_by_its_files_where_few_rows_are_within(ways: Any, read: bool) -> None:
    found = skipped(ways, by_files=True)
    assert (found.reads.keys() == {0}) is read
    assert found.skips >= found.reads.keys()
    if read:
        assert found.reads[0].paths == ("/in/x/1",), "at the pinned version"


def test_columns_of_another_definition_are_hidden_in_files_too() -> None:
    pin = PIN.model_copy(update={"hidden": ("_vnode",)})
    assert skipped((("`sorted`",),), by_files=True, pin=pin).reads[0].hidden == ("_vnode",)


def test_options_are_those_of_a_reader_of_tables() -> None:
    found = skipped((("`sorted`",),), by_files=True, options={"x": "y"})
    assert not found.reads and found.skips == {0}


def test_the_target_is_read_by_its_files_where_few_rows_are_within() -> None:
    assert skipped(by_files=True).target_read is None
    found = skipped(anchors=("sorted",), by_files=True)
    assert found.skips_target and found.target_read and found.target_read.paths == ("/gold/7",)


@pytest.mark.parametrize("spans", [True, False])
def test_a_table_of_few_files_is_read_by_them_without_a_condition(spans: bool) -> None:
    found = skipped((("`scattered`",),), None, few=True, spans=spans)
    assert found.reads[0].paths == ("/in/x/deleted/1",)
    assert found.reads[1].paths == ("/in/x/all/1",), "rows would be looked up among deleted ones"
    assert found.target_read is not None and found.target_read.paths == ("/gold/deleted/7",)
    assert not found.skips and not found.skips_target


def test_a_condition_that_leaves_out_files_comes_before_few_files() -> None:
    found = skipped((("`sorted`",),), anchors=("sorted",), few=True)
    assert not found.reads and found.skips == {0}
    assert found.target_read is None and found.skips_target


def test_few_files_hide_columns_and_leave_options_to_the_reader_of_tables() -> None:
    pin = PIN.model_copy(update={"hidden": ("_vnode",)})
    assert skipped(None, few=True, pin=pin).reads[0].hidden == ("_vnode",)
    assert not skipped(None, few=True, options={"x": "y"}).reads
