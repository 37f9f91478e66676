"""Which inputs Spark reads by their files."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.pins import DeltaPin
from airflow_refresh_provider.ports.engine import Source
from airflow_refresh_provider.runner import inputs
from tests.unit.runner.world import INPUT, World, row


def _files(world: World, **options: str) -> int:
    pins = inputs.pin(world.ports, world.record.definition)
    assert isinstance(pins["x"], DeltaPin)
    source = Source(query="", pins=pins, options={"x": options} if options else {}, keys=("k",))
    listed = inputs.by_files(world.ports, source)
    assert listed.model_copy(update={"files": {}}) == source
    return len(listed.files.get("x", ()))


@pytest.mark.parametrize(("written", "listed"), [(0, 0), (1, 1), (16, 16), (17, 0)])
def test_a_table_of_a_few_files_is_read_by_them(written: int, listed: int) -> None:
    world = World()
    for number in range(written):
        world.lake.append(INPUT, (row(number),))

    assert _files(world) == listed


def test_a_table_with_reader_options_is_read_as_a_table() -> None:
    assert _files(World(row(1))) == 1
    assert _files(World(row(1)), some="option") == 0
