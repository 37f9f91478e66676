"""Spans of touched values become conditions only for tables of which they leave out enough files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from airflow_refresh_provider.core.changes.pins import DeltaPin, FilesPin, Pin
from airflow_refresh_provider.core.maintain.plan import Maintenance, Use
from airflow_refresh_provider.core.maintain.spans import Spans
from airflow_refresh_provider.ports.table_log import TableFacts
from airflow_refresh_provider.ports.tasks import Touched
from airflow_refresh_provider.runner.windows.skipping import with_skipping
from airflow_refresh_provider.testing.memory_control import MemoryControlStore
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.testing.memory_ports import memory_ports
from airflow_refresh_provider.testing.memory_reads import MemoryLog

MB = 1 << 20
READ = {"sorted": 10, "half": 50, "scattered": 100, "other": 30}
PIN = DeltaPin(location="/in/x", table_id="t", version=1)
ONE = Spans(type="bigint", spans=((1, 9),))


class Files(MemoryLog):
    """Tables of 100 MB, of which spans of these columns read so many."""

    def sizes_within(self, location: str, column: str, spans: Sequence[tuple[int, int]]) -> tuple[int, int]:
        return READ.get(column, 100) * MB, 100 * MB

    def facts(self, location: str) -> TableFacts | None:
        return TableFacts(location=location, table_id="t", properties={}, version=1, partitioned_by=("Day",))


def skipped(*uses: Any, anchors: tuple[str, ...] = ("scattered",), pin: Pin = PIN, rows: int = 3) -> Touched:
    """The touched values, with what they skip; `uses`: the restrictions of each use of an input."""
    read = tuple(Use(input="x", start=0, end=0, aliased=False, restrictions=ways) for ways in uses)
    maintenance = Maintenance(anchors=anchors, uses=read, routes=())
    touched = Touched(location="/staged", maintenance=maintenance, rows=rows, spans={0: ONE})
    lake = MemoryLake()
    return with_skipping(
        replace(memory_ports(lake, MemoryControlStore()), log=Files(lake)), {"x": pin}, "/gold", touched
    )


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
