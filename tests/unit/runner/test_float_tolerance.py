"""Rows that differ in the last digits of a sum: left as they are, counted, and noted where a definition is shown."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_refresh_provider.cli.definition_commands import validate
from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.run.query_notices import FLOAT_SUM
from airflow_refresh_provider.core.run.results import Outcome, Rows
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.testing.memory_control import MemoryControlStore
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.testing.memory_ports import memory_ports
from airflow_refresh_provider.views.tables import table_of
from tests.unit.runner.world import INPUT, NAME, ONE, World, definition

_COLUMNS = tuple(Column(name=n, type=t) for n, t in (("k", "int"), ("v", "double"), ("o", "double")))
_SUMS = "SELECT k, sum(v) AS s, max(o) AS o FROM x GROUP BY k"
_ALMOST = 1.0000000000000002
BOTH_LAYOUTS = pytest.mark.parametrize("layout", ["plain", "vnode"])


class Summed(World):
    """A world whose query adds up DOUBLEs."""

    def __init__(self, *rows: dict[str, Any], **changes: Any) -> None:
        self.lake = MemoryLake()
        self.store = MemoryControlStore()
        self.dead: set[int] = set()
        self.lake.create(INPUT, _COLUMNS, rows)
        self.ports = memory_ports(self.lake, self.store, self.dead)
        self.refreshes = Refreshes(self.ports)
        self.refreshes.register(definition(**({"query": _SUMS} | changes)))


def _row(k: int, v: float, o: float = 1.0) -> dict[str, Any]:
    return {"k": k, "v": v, "o": o}


@BOTH_LAYOUTS
def test_another_last_digit_of_a_sum_is_no_change_and_is_counted(layout: str) -> None:
    world = Summed(_row(1, 1.0), _row(2, 1.0), _row(3, 1.0), layout=layout, vnodes=4)
    world.run()
    world.become(_row(1, _ALMOST), _row(2, 1.0), _row(3, 1.001))

    result = world.run()

    assert (result.rows, result.within_tolerance) == (Rows(updated=1, unchanged=2), 1)
    assert [r["s"] for r in world.target()] == [1.0, 1.0, 1.001]
    compared = world.refreshes.compare_only(NAME)
    assert (compared.equal, compared.rows, compared.within_tolerance) == (True, Rows(unchanged=3), 1)
    [history, *_] = world.refreshes.history(NAME)
    assert history.result
    assert history.result.within_tolerance == 1
    assert ("within float_tolerance", "1") in table_of(result).rows


@BOTH_LAYOUTS
def test_the_row_is_written_once_something_else_in_it_changes(layout: str) -> None:
    world = Summed(_row(1, 1.0), layout=layout, vnodes=4)
    world.run()
    world.become(_row(1, _ALMOST))
    assert world.run().outcome is Outcome.SUCCEEDED
    world.become(_row(1, _ALMOST, o=_ALMOST))

    assert world.run().rows == Rows(updated=1)
    assert world.target() == [{"k": 1, "s": _ALMOST, "o": _ALMOST}]


def test_differences_do_not_add_up() -> None:
    world = Summed(_row(1, 1.0), float_tolerance=1e-9)
    world.run()
    for step in range(1, 4):
        world.become(_row(1, 1.0 + step * 0.4e-9))
        world.run()
        assert abs(world.target()[0]["s"] - (1.0 + step * 0.4e-9)) <= 1e-9
    assert world.target()[0]["s"] == 1.0 + 3 * 0.4e-9


@pytest.mark.parametrize(
    "changes",
    [
        {"float_tolerance": 0},
        {"query": "SELECT k, v AS s, o FROM x"},
        {"query": "SELECT k, max(v) AS s FROM x GROUP BY k"},
    ],
)
def test_with_a_tolerance_of_0_and_in_copied_values_every_bit_counts(changes: dict[str, Any]) -> None:
    world = Summed(_row(1, 1.0), **changes)
    world.run()
    world.become(_row(1, _ALMOST))

    assert world.run().rows == Rows(updated=1)


def test_another_tolerance_compares_again_and_the_default_keeps_the_hash() -> None:
    usual = definition(query=_SUMS)
    assert usual.hash == definition(query=_SUMS, float_tolerance=1e-13).hash
    assert usual.hash != definition(query=_SUMS, float_tolerance=0).hash
    world = Summed(_row(1, 1.0))
    world.run()
    world.become(_row(1, _ALMOST))
    world.run()

    world.refreshes.register(definition(query=_SUMS, float_tolerance=0))

    assert world.run().rows == Rows(updated=1)


@pytest.mark.parametrize("tolerance", [-1e-9, 1, float("nan"), "1e-9"])
def test_a_tolerance_is_a_share(tolerance: object) -> None:
    with pytest.raises(Invalid, match="float_tolerance"):
        definition(query=_SUMS, float_tolerance=tolerance)


def test_sums_are_noted_where_a_definition_is_registered_and_where_it_is_shown() -> None:
    world = Summed(_row(1, 1.0))
    [registered] = world.refreshes.register(definition(query=_SUMS)).notices
    [before] = world.refreshes.show(NAME).notices
    world.run(ONE)
    [after] = world.refreshes.show(NAME).notices

    assert registered == before
    assert {note.code for note in (registered, after)} == {FLOAT_SUM}
    assert registered.message == (
        "if sum (line 1, column 11) adds up DOUBLE or FLOAT, its last digits vary, so a difference of at most 1e-13 "
        "of a value is no change (float_tolerance: 1e-13)"
    )
    assert "column 11) in s: its" in after.message
    assert table_of(world.refreshes.show(NAME)).notes[0] == after.line

    exact = Summed(query="SELECT k, sum(k) AS s FROM x GROUP BY k")
    assert exact.refreshes.show(NAME).notices
    exact.run()
    assert not exact.refreshes.show(NAME).notices

    bits = Summed(query=_SUMS, float_tolerance=0)
    assert "rows in which nothing else has changed are updated" in bits.refreshes.show(NAME).notices[0].message


def test_validate_notes_sums(tmp_path: Any) -> None:
    file = tmp_path / "sums.yaml"
    file.write_text(
        f"name: sums\ntarget: {tmp_path}/t\nquery: {_SUMS}\ninputs: {{x: {{path: {tmp_path}/x}}}}\nkeys: [k]\n"
    )

    results = validate(None, [str(file)], [], [])  # type: ignore[arg-type]

    assert [note.code for result in results for note in result.notices] == [FLOAT_SUM]
    [line] = table_of(list(results)).notes
    assert line.startswith("sums: float_sum: if sum (line 1, column 11)")
