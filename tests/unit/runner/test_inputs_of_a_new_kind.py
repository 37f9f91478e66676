"""A new kind of input is one class and one line in the registry: nothing else has to know it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from airflow_refresh_provider.core.changes.listed import FilesOfPin
from airflow_refresh_provider.core.changes.pins import FilesPin, FileStamp
from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.definition.inputs import FORMATS, Input
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.ports.input_kind import InputKind
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.testing.memory_control import MemoryControlStore
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.testing.memory_ports import memory_ports
from airflow_refresh_provider.testing.memory_rows import shown
from tests.unit.runner.world import NAME, ONE, TARGET, definition

PLACE = "/in/lines"
COLUMNS = (Column(name="k", type="int"), Column(name="v", type="string"))


class Lines(FilesOfPin):
    """Files of JSON lines. A table of the lake stands in for Spark, which reads the files by the same names."""

    def __init__(self, lake: MemoryLake) -> None:
        self.texts: dict[str, str] = {}
        self._lake = lake
        lake.create(PLACE, COLUMNS)

    def write(self, *rows: dict[str, object]) -> None:
        self._lake.append(PLACE, rows)
        (new,) = self._lake.table(PLACE).newest.files.keys() - self.texts.keys()
        self.texts[new] = "".join(json.dumps(row) + "\n" for row in rows)

    def pin(self, name: str, input: Input) -> FilesPin:
        if input.path != PLACE:
            raise Invalid("input_missing", f"the input {name} is missing: {input.path}", next="Correct the path.")
        files = (FileStamp(path=path, size=len(text), modified=len(path)) for path, text in self.texts.items())
        return FilesPin(format="lines", location=PLACE, files=tuple(files))

    def unreadable(self, pin: FilesPin) -> str | None:
        return next((f"{f.path} is gone" for f in pin.files if f.path not in self.texts), None)

    def rows(self, pin: FilesPin) -> int:
        return sum(self.texts[f.path].count("\n") for f in pin.files)

    def watch(self, input: Input) -> Callable[[], str]:
        return lambda: str(self.pin("", input).digest)


@pytest.fixture
def lake(monkeypatch: pytest.MonkeyPatch) -> MemoryLake:
    monkeypatch.setitem(FORMATS, "lines", "json_lines")
    return MemoryLake()


def test_a_table_is_refreshed_from_an_input_of_a_new_kind(lake: MemoryLake) -> None:
    lines = Lines(lake)
    kind: InputKind[FilesPin] = lines
    ports = memory_ports(lake, MemoryControlStore())
    refreshes = Refreshes(replace(ports, inputs={**ports.inputs, "lines": kind}))
    lines.write({"k": 1, "v": "a"}, {"k": 2, "v": "b"})
    refreshes.register(definition(inputs={"x": {"path": PLACE, "format": "lines"}}, mode="auto"))

    assert refreshes.run(NAME, ONE).mode == "full"
    lines.write({"k": 3, "v": "c"})
    again = refreshes.run(NAME, ONE)

    assert (again.mode, again.mode_reason) == ("incremental", "changes of x in new files")
    assert sorted(map(str, map(shown, lake.rows(TARGET)))) == [
        str({"k": k, "v": v}) for k, v in ((1, "a"), (2, "b"), (3, "c"))
    ]
    assert refreshes.run(NAME, ONE).outcome == "nothing_to_do"


def test_a_format_that_is_not_registered_is_refused() -> None:
    with pytest.raises(Invalid, match="must be delta or parquet"):
        definition(inputs={"x": {"path": PLACE, "format": "lines"}})
