"""What every kind of input promises, on real tables and files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Literal

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from deltalake import DeltaTable, write_deltalake

from airflow_refresh_provider.core.changes.pins import DeltaPin, FilesPin, IgnoredFiles, Pin
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.errors import Invalid, Retry
from airflow_refresh_provider.inputs.kinds import input_kinds
from tests.contract.tables import rows, write, write_parquet

KINDS = input_kinds()


def _delta(path: Path) -> Input:
    return Input(path=str(path))


def _parquet(path: Path) -> Input:
    return Input(path=str(path), format="parquet")


def _pin(input: Input) -> Pin:
    pin: Pin = KINDS[input.format].pin("orders", input)
    return pin


def _rows(pin: Pin) -> int | None:
    return KINDS[pin.format].rows(pin)


def _files(pin: Pin) -> tuple[tuple[str, int], ...] | None:
    return KINDS[pin.format].files(pin)


def _unreadable(pin: Pin) -> str | None:
    return KINDS[pin.format].unreadable(pin)


def _code(input: Input) -> str:
    with pytest.raises(Invalid) as caught:
        _pin(input)
    assert "orders" in caught.value.message and input.path in caught.value.message and caught.value.next
    return caught.value.code


def test_a_delta_table_is_pinned_by_identity_and_version(tmp_path: Path) -> None:
    write(tmp_path / "t", rows(1, 2))
    write(tmp_path / "t", rows(3))
    pin = _pin(_delta(tmp_path / "t"))
    assert isinstance(pin, DeltaPin)
    assert (pin.version, pin.rows, pin.table_id) == (1, 3, str(DeltaTable(tmp_path / "t").metadata().id))
    assert pin.bytes == sum(p.stat().st_size for p in (tmp_path / "t").glob("*.parquet"))
    assert _rows(pin) == 3 and _unreadable(pin) is None


def test_a_pinned_version_has_its_files_and_not_those_added_later(tmp_path: Path) -> None:
    write(tmp_path / "t", rows(1, 2))
    pin = _pin(_delta(tmp_path / "t"))
    before = tuple(sorted((str(p), p.stat().st_size) for p in (tmp_path / "t").glob("*.parquet")))
    write(tmp_path / "t", rows(3))
    assert _files(pin) == before


def test_a_partitioned_table_is_not_a_list_of_plain_files(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "t", rows(1, 2), partition_by=["_vnode"])
    assert _files(_pin(_delta(tmp_path / "t"))) is None


def test_files_are_pinned_one_by_one_without_hidden_ones(tmp_path: Path) -> None:
    hidden = ("_temporary/x.parquet", ".y.parquet", "deep/_z", ".day=1/a", "b.parquet._COPYING_")
    names = ["_day=1/a%20.parquet", "_day=1/b #1.parquet", "_day=1/deep/er/ü'c"]
    for name in ("a", *names, *hidden):
        write_parquet(tmp_path / "in" / name, 2)
    (tmp_path / "in" / "_SUCCESS").touch()
    pin = _pin(_parquet(tmp_path / "in"))
    assert isinstance(pin, FilesPin)
    assert [f.path for f in pin.files] == [f"{tmp_path}/in/{n}" for n in names]
    about = (tmp_path / "in" / names[0]).stat()
    assert (pin.files[0].size, pin.files[0].modified) == (about.st_size, about.st_mtime_ns // 1000)
    assert _files(pin) == tuple((f.path, f.size) for f in pin.files)
    assert _rows(pin) == 6
    assert pin.ignored == IgnoredFiles(count=1, example=f"{tmp_path}/in/a")


def test_folders_that_cannot_be_read_together_are_refused(tmp_path: Path) -> None:
    for name in ("day=1/a", "other/b"):
        write_parquet(tmp_path / "in" / name, 2)
    with pytest.raises(Invalid, match="files elsewhere: below the folder itself and other") as refused:
        _pin(_parquet(tmp_path / "in"))
    assert refused.value.code == "input_mixed"


def test_a_single_file_is_an_input_too(tmp_path: Path) -> None:
    write_parquet(tmp_path / "customer.parquet", 3)
    pin = _pin(_parquet(tmp_path / "customer.parquet"))
    assert isinstance(pin, FilesPin) and len(pin.files) == 1 and _rows(pin) == 3


def test_rows_of_many_files_are_estimated_from_some(tmp_path: Path) -> None:
    for n in range(20):
        write_parquet(tmp_path / "in" / f"{n:02}.parquet", 100)
    assert _rows(_pin(_parquet(tmp_path / "in"))) == pytest.approx(2000, rel=0.05)


@pytest.mark.parametrize("change", ["grow", "touch", "remove"])
def test_a_changed_file_makes_its_pin_unreadable(tmp_path: Path, change: Literal["grow", "touch", "remove"]) -> None:
    path = tmp_path / "in" / "a.parquet"
    write_parquet(path, 3)
    pin = _pin(_parquet(tmp_path / "in"))
    assert _unreadable(pin) is None
    match change:
        case "grow":
            write_parquet(path, 30)
        case "touch":
            os.utime(path, (1, 1))
        case "remove":
            path.unlink()
    assert str(path) in (_unreadable(pin) or "")


def test_a_new_file_leaves_the_pin_readable(tmp_path: Path) -> None:
    write_parquet(tmp_path / "in" / "a.parquet", 3)
    pin = _pin(_parquet(tmp_path / "in"))
    write_parquet(tmp_path / "in" / "b.parquet", 3)
    assert _unreadable(pin) is None


def test_a_table_that_is_gone_replaced_or_cleaned_is_unreadable(tmp_path: Path) -> None:
    write(tmp_path / "t", rows(1))
    write(tmp_path / "t", rows(2))
    pin = _pin(_delta(tmp_path / "t"))
    assert isinstance(pin, DeltaPin)
    first = pin.model_copy(update={"version": 0})
    assert _unreadable(first) is None
    DeltaTable(tmp_path / "t").create_checkpoint()
    (tmp_path / "t" / "_delta_log" / f"{0:020}.json").unlink()
    assert _unreadable(pin) is None
    assert "version 0" in (_unreadable(first) or "")
    shutil.rmtree(tmp_path / "t")
    assert "no Delta table" in (_unreadable(pin) or "")
    write(tmp_path / "t", rows(1))
    write(tmp_path / "t", rows(1))
    assert "another table" in (_unreadable(pin) or "")


def test_storage_that_fails_is_not_taken_for_a_version_that_is_lost(tmp_path: Path) -> None:
    write(tmp_path / "t", rows(1))
    pin = _pin(_delta(tmp_path / "t"))
    log = tmp_path / "t" / "_delta_log"
    log.rename(tmp_path / "away")
    log.symlink_to(log)
    with pytest.raises(Retry, match="levels of symbolic links"):
        _unreadable(pin)
    log.unlink()
    (tmp_path / "away").rename(log)
    assert _unreadable(pin) is None
    (log / f"{0:020}.json").write_text("{}")
    assert "version 0" in (_unreadable(pin) or "")


def test_what_is_missing_is_named_with_the_folder_that_is_there(tmp_path: Path) -> None:
    for missing in (_delta(tmp_path / "no" / "such"), _parquet(tmp_path / "no" / "such")):
        with pytest.raises(Invalid, match=f"{tmp_path}, and nothing further") as caught:
            _pin(missing)
        assert caught.value.code == "input_missing"


def test_a_path_is_no_pattern_and_an_error_says_so(tmp_path: Path) -> None:
    write_parquet(tmp_path / "in1" / "a.parquet", 1)
    for missing in (_delta(tmp_path / "in*"), _parquet(tmp_path / "in{1,2}")):
        with pytest.raises(Invalid, match="is missing") as caught:
            _pin(missing)
        assert (caught.value.code, "without patterns" in caught.value.next) == ("input_missing", True)
    with pytest.raises(Invalid) as plain:
        _pin(_parquet(tmp_path / "in2"))
    assert "pattern" not in plain.value.next


def test_data_in_another_format_is_reported_with_the_fix(tmp_path: Path) -> None:
    write(tmp_path / "delta", rows(1))
    write_parquet(tmp_path / "parquet" / "a.parquet", 1)
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.parquet").write_text("id,name\n1,not parquet\n")
    (tmp_path / "short").write_bytes(b"PAR1PAR1")
    (tmp_path / "empty").mkdir()
    assert _code(_parquet(tmp_path / "delta")) == "input_is_delta"
    assert _code(_delta(tmp_path / "parquet")) == "input_is_parquet"
    log = tmp_path / "forgotten" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{2:020}.checkpoint.parquet").write_bytes(b"rows")
    (log.parent / "a.parquet").write_bytes((tmp_path / "parquet" / "a.parquet").read_bytes())
    assert _code(_delta(log.parent)) == "input_not_delta"
    assert _code(_delta(tmp_path / "parquet" / "a.parquet")) == "input_is_parquet"
    assert _code(_delta(tmp_path / "text")) == "input_not_delta"
    assert _code(_delta(tmp_path / "empty")) == "input_not_delta"
    assert _code(_parquet(tmp_path / "text")) == "input_not_parquet"
    assert _code(_parquet(tmp_path / "short")) == "input_not_parquet"
    assert _code(_parquet(tmp_path / "empty")) == "input_empty"


def test_a_path_that_delta_rs_takes_for_another_is_no_table_and_may_hold_parquet(tmp_path: Path) -> None:
    write(tmp_path / "a b", rows(1, 2, 3))
    for name in ("a%20b", "a\\b"):
        shutil.copytree(tmp_path / "a b", tmp_path / name)
        assert _code(_delta(tmp_path / name)) == "input_place"
        write_parquet(tmp_path / name / "files" / "a.parquet", 1)
        assert _rows(_pin(_parquet(tmp_path / name / "files"))) == 1
    assert _rows(_pin(_delta(tmp_path / "a b"))) == 3


def test_a_file_with_a_broken_footer_has_an_unknown_number_of_rows(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1" + b"\x00" * 100 + b"PAR1")
    assert _rows(_pin(_parquet(tmp_path / "a.parquet"))) is None


def test_columns_and_their_types_are_known_without_spark(tmp_path: Path) -> None:
    table = pa.table({
        "k": pa.array([1], pa.int64()), "n": pa.array([1], pa.int32()), "s": ["a"], "l": [[1.5]],
        "d": pa.array([0], pa.date32()),
    })  # fmt: skip
    write_deltalake(tmp_path / "t", table)
    (tmp_path / "p" / "day=1").mkdir(parents=True)
    pq.write_table(table, tmp_path / "p" / "day=1" / "f.parquet")

    found = [KINDS[pin.format].columns(pin) for pin in (_pin(_delta(tmp_path / "t")), _pin(_parquet(tmp_path / "p")))]

    flat = {"k": "bigint", "n": "int", "s": "string", "d": "date"}
    assert found == [flat | {"l": "array<double>"}, flat | {"l": "", "day": ""}]
