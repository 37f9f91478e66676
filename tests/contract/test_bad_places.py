"""Control tables and inputs that the user may read but not write, or not even read."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_refresh_provider.core.definition.inputs import FORMATS, Input
from airflow_refresh_provider.delta.control.store import DeltaControlStore
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.inputs.kinds import kind_of
from tests.contract.rights import without_rights
from tests.contract.samples import REGISTER, event_row, moment, record


def test_control_tables_that_may_only_be_read_can_be_read_and_say_so_when_written(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    root = str(folder / "control")
    store = DeltaControlStore(root)
    view = store.commit(store.read("orders"), record("orders"), REGISTER, moment(0))
    with without_rights(folder, 0o555):
        reader = DeltaControlStore(root)
        assert reader.records() == [record("orders")]
        for write in (
            lambda: reader.commit(view, record("orders", 1), REGISTER, moment(1)),
            lambda: reader.add_event(event_row("orders", "x", 1)),
        ):
            with pytest.raises(Failed) as caught:
                write()
            assert caught.value.code == "storage_denied" and root in caught.value.message
    assert store.records() == [record("orders")]
    assert "panicked" not in capfd.readouterr().err


def test_a_control_root_that_cannot_be_made_is_named(folder: Path) -> None:
    with without_rights(folder, 0o555):
        store = DeltaControlStore(str(folder / "control"))
        with pytest.raises(Failed) as caught:
            store.commit(store.read("orders"), record("orders"), REGISTER, moment(0))
    assert caught.value.code == "storage_denied" and str(folder / "control") in caught.value.message


@pytest.mark.parametrize("format", FORMATS)
def test_an_input_that_may_not_be_read_is_named(folder: Path, format: str) -> None:
    (folder / "in").mkdir()
    (folder / "in" / "a.parquet").write_bytes(b"PAR1")
    with without_rights(folder, 0o000), pytest.raises(Failed) as caught:
        kind_of(format).pin("orders", Input(path=str(folder / "in"), format=format))
    assert caught.value.code == "storage_denied" and str(folder / "in") in caught.value.message
