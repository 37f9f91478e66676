"""What the table log promises, on real tables."""

from __future__ import annotations

import json
import shutil
from datetime import date
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from deltalake import DeltaTable, write_deltalake

from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.core.log.marker import Marker, seal_app_id, slot_app_id
from airflow_refresh_provider.delta.tables.delta_table import open_table
from airflow_refresh_provider.delta.tables.opened_tables import OpenedTables
from airflow_refresh_provider.delta.tables.target_log import DeltaTableLog
from airflow_refresh_provider.errors import Failed
from airflow_refresh_provider.inputs.delta_table import DeltaTables
from airflow_refresh_provider.ports.table_log import OPEN_COST, LogGap, Opened, TableIdentity
from tests.contract.tables import rows, write

LOG = DeltaTableLog()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "a target with 'quotes' # and ünïcode"


def test_a_place_without_a_table_has_no_facts(tmp_path: Path) -> None:
    assert LOG.facts(str(tmp_path / "nowhere")) is None
    assert LOG.facts(str(tmp_path)) is None
    (tmp_path / "cut_short" / "_delta_log").mkdir(parents=True)
    (tmp_path / "cut_short" / "part-0.parquet").write_bytes(b"left behind")
    assert LOG.facts(str(tmp_path / "cut_short")) is None
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cut_short"]


def test_a_place_that_holds_something_else_is_named(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear reader")
    for place in (tmp_path, tmp_path / "letter.txt", tmp_path / "letter.txt" / "gold"):
        with pytest.raises(Failed) as caught:
            LOG.facts(str(place))
        assert caught.value.code == "not_a_table" and str(place) in caught.value.message


def test_facts_have_identity_shape_and_size(table: Path) -> None:
    write(table, rows(1, 2, 3))
    write(table, rows(4))
    DeltaTable(table).alter.set_table_properties({"airflow_refresh.control": "me"}, raise_if_not_exists=False)
    facts = LOG.facts(str(table))
    assert facts is not None
    assert (facts.location, facts.version, facts.rows) == (str(table), 2, 4)
    assert facts.table_id == str(DeltaTable(table).metadata().id)
    assert facts.properties["airflow_refresh.control"] == "me"
    assert (facts.columns, facts.partitioned_by, facts.clustered) == (("id", "_vnode"), (), False)
    assert facts.bytes == sum(p.stat().st_size for p in table.glob("*.parquet"))


def test_a_log_that_keeps_what_it_opens_says_the_same_later_and_opens_once(table: Path) -> None:
    write(table, rows(1, 2, 3))
    places: list[str] = []

    def noted(location: str, version: int | None = None) -> DeltaTable | None:
        places.append(location)
        return open_table(location, version)

    opened = Opened()
    log = DeltaTableLog(OpenedTables(noted)).keeping(opened)
    facts, found = log.facts(str(table)), DeltaTables(OpenedTables(noted)).keeping(opened)
    write(table, rows(4))
    pin = found.pin("x", Input(path=str(table)))
    assert (log.facts(str(table)), pin.version) == (facts, 0)
    identity = log.identity(str(table))
    assert facts is not None and identity == TableIdentity(**facts.model_dump(include=set(TableIdentity.model_fields)))
    assert found.columns(pin).keys() == {"id", "_vnode"} and found.history(pin, pin) is not None
    assert places == [str(table)]
    newest = LOG.facts(str(table))
    assert newest is not None and newest.version == 1


def test_tables_of_a_refresh_are_opened_once_and_again_after_a_commit(table: Path) -> None:
    opened: list[int | None] = []

    def noted(location: str, version: int | None = None) -> DeltaTable | None:
        opened.append(version)
        return open_table(location, version)

    tables = OpenedTables(noted).keeping(Opened(followed=True))
    assert tables.at(str(table)) is None and tables.at(str(table)) is None
    write(table, rows(1))
    first = tables.at(str(table))
    assert first is not None and tables.at(str(table)) is tables.at(str(table), 0) is first
    assert opened == [None, None, None]
    write(table, rows(2))
    second = tables.at(str(table))
    assert second is not None and second.version() == 1 and tables.at(str(table), 0) is first
    assert opened == [None] * 4
    again = tables.at(str(table), 1)
    write(table, rows(3))
    assert again is second and tables.at(str(table), 1) is second and opened == [None] * 4


def test_a_table_in_place_of_one_that_stays_open_is_opened_at_the_same_versions(table: Path) -> None:
    tables = OpenedTables().keeping(Opened(followed=True))
    write(table, rows(1))
    before = tables.at(str(table)), tables.at(str(table), 0)
    shutil.rmtree(table)
    write(table, rows(1))
    after = tables.at(str(table)), tables.at(str(table), 0)
    assert {one.metadata().id for one in before if one} & {one.metadata().id for one in after if one} == set()
    assert None not in before + after
    shutil.rmtree(table)
    assert tables.at(str(table)) is None


def test_a_table_that_was_put_back_to_a_backup_is_opened_at_the_same_versions(table: Path) -> None:
    tables = OpenedTables().keeping(Opened(followed=True))
    write(table, rows(1))
    write(table, rows(2))
    before = tables.at(str(table)), tables.at(str(table), 1)
    (table / "_delta_log" / f"{1:020}.json").unlink()
    write(table, rows(3))
    after = tables.at(str(table)), tables.at(str(table), 1)
    assert [one.version() for one in (*before, *after) if one] == [1] * 4
    assert {tuple(one.file_uris()) for one in before if one}.isdisjoint(tuple(one.file_uris()) for one in after if one)


def test_newest_and_oldest_follow_the_log(table: Path) -> None:
    for n in range(4):
        write(table, rows(n))
    assert (LOG.newest(str(table)), LOG.oldest(str(table))) == (3, 0)
    (table / "_delta_log" / f"{1:020}.json").unlink()
    assert (LOG.newest(str(table)), LOG.oldest(str(table))) == (3, 2)


def test_asking_a_table_that_is_gone_fails_with_its_place(tmp_path: Path) -> None:
    for ask in (LOG.newest, LOG.oldest, LOG.markers, lambda place: LOG.commits(place, 0)):
        with pytest.raises(Failed, match="gone_table"):
            ask(str(tmp_path / "gone_table"))


def test_the_newest_marker_of_every_app_id_is_found(table: Path) -> None:
    write(table, rows(1), markers={"a": 1, "b": 7})
    write(table, rows(2), markers={"a": 2})
    write(table, rows(3))
    assert LOG.markers(str(table)) == {"a": 2, "b": 7}


def test_markers_survive_a_cleaned_log(table: Path) -> None:
    write(table, rows(1))
    target_id = str(DeltaTable(table).metadata().id)
    slot, seal = slot_app_id(target_id, 31), seal_app_id(target_id)
    old, new = Marker(1, 1).version, Marker(2, 1).version
    write(table, rows(2), markers={slot: old, seal: old})
    DeltaTable(table).create_checkpoint()
    write(table, rows(3))
    for version in (0, 1):
        (table / "_delta_log" / f"{version:020}.json").unlink()
    assert LOG.markers(str(table)) == {slot: old, seal: old}
    write(table, rows(4), markers={slot: new, "rows-1": 5})
    assert LOG.markers(str(table)) == {slot: new, seal: old, "rows-1": 5}


def test_markers_are_taken_from_a_checksum_that_lists_them(table: Path) -> None:
    write(table, rows(1), markers={"a": 1})
    write(table, rows(2), markers={"b": 1})
    write(table, rows(3), markers={"a": 2})
    sums = {"setTransactions": [{"appId": "a", "version": 1}, {"appId": "old", "version": 9}]}
    (table / "_delta_log" / f"{1:020}.crc").write_text(json.dumps(sums))
    assert LOG.markers(str(table)) == {"a": 2, "old": 9}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"numFiles": 1}'])
def test_a_checksum_that_says_nothing_is_passed_over(table: Path, text: str) -> None:
    write(table, rows(1), markers={"a": 1})
    write(table, rows(2), markers={"b": 1})
    (table / "_delta_log" / f"{1:020}.crc").write_text(text)
    assert LOG.markers(str(table)) == {"a": 1, "b": 1}


def test_commits_come_oldest_first_between_the_versions_asked(table: Path) -> None:
    for n in range(4):
        write(table, rows(n, n + 10), note=f"note {n}", markers={"app": n + 1})
    found = LOG.commits(str(table), after=0, upto=2)
    assert [(c.version, c.net_rows, c.note, c.txns) for c in found] == [
        (1, 2, "note 1", {"app": 2}),
        (2, 2, "note 2", {"app": 3}),
    ]
    assert [c.version for c in LOG.commits(str(table), after=-1)] == [0, 1, 2, 3]
    assert LOG.commits(str(table), after=3) == ()


def test_a_long_log_is_read_in_order_and_ends_where_a_file_is_missing(table: Path) -> None:
    write(table, rows(1))
    for n in range(1, 200):
        commit = {"commitInfo": {"timestamp": n, "operation": "WRITE", "userMetadata": f"note {n}"}}
        (table / "_delta_log" / f"{n:020}.json").write_text(json.dumps(commit))
    assert [c.note for c in LOG.commits(str(table), after=0)] == [f"note {n}" for n in range(1, 200)]
    (table / "_delta_log" / f"{150:020}.json").unlink()
    with pytest.raises(LogGap, match="150"):
        LOG.commits(str(table), after=0)


def test_commits_of_a_cleaned_log_are_a_gap(table: Path) -> None:
    for n in range(3):
        write(table, rows(n))
    (table / "_delta_log" / f"{1:020}.json").unlink()
    with pytest.raises(LogGap):
        LOG.commits(str(table), after=0)
    with pytest.raises(LogGap):
        LOG.commits(str(table), after=2, upto=5)
    assert [c.version for c in LOG.commits(str(table), after=1)] == [2]


def test_merging_files_changes_no_data_and_restoring_says_its_name(table: Path) -> None:
    for n in range(3):
        write(table, rows(n))
    DeltaTable(table).optimize.compact()
    DeltaTable(table).restore(1)
    merged, restored = LOG.commits(str(table), after=2)
    assert (merged.data_change, merged.net_rows, merged.bytes_added, merged.vnodes) == (False, 0, 0, ())
    assert restored.operation.upper().startswith("RESTORE")


def _metadata(table: Path, **changes: object) -> dict[str, object]:
    """The table's metadata, as Spark keeps it beside a commit."""
    [first] = [json.loads(line) for line in (table / "_delta_log" / f"{0:020}.json").open() if "metaData" in line]
    return {**first["metaData"], **changes}


def _beside(table: Path, version: int, sums: object) -> None:
    (table / "_delta_log" / f"{version:020}.crc").write_text(json.dumps(sums))


def test_which_table_it_is_comes_from_what_spark_keeps_beside_its_newest_commit(table: Path) -> None:
    write(table, rows(1))
    write(table, rows(2))
    assert (found := LOG.identity(str(table))) and found.table_id == str(DeltaTable(table).metadata().id)
    _beside(table, 1, {"metadata": _metadata(table, id="kept", configuration={"own.note": "x"})})
    kept = TableIdentity(location=str(table), table_id="kept", properties={"own.note": "x"})
    assert LOG.identity(str(table)) == kept
    write(table, rows(3))
    assert LOG.identity(str(table)) == kept
    DeltaTable(table).alter.set_table_properties({"own.note": "y"}, raise_if_not_exists=False)
    assert (found := LOG.identity(str(table))) and found.table_id == str(DeltaTable(table).metadata().id)


@pytest.mark.parametrize("sums", [{}, [], {"metadata": None}, {"metadata": {"id": "half"}}], ids=str)
def test_sums_without_the_metadata_do_not_say_which_table_it_is(table: Path, sums: object) -> None:
    write(table, rows(1))
    _beside(table, 0, sums)
    assert (found := LOG.identity(str(table))) and found.table_id == str(DeltaTable(table).metadata().id)


def test_which_table_it_is_is_found_before_commits_that_leave_it_as_it_is(table: Path) -> None:
    places: list[str] = []

    def noted(location: str, version: int | None = None) -> DeltaTable | None:
        places.append(location)
        return open_table(location, version)

    log = DeltaTableLog(OpenedTables(noted))
    write(table, rows(1))
    for n in range(20):
        write(table, rows(n))
    first = log.identity(str(table))
    assert first is not None and first.table_id == str(DeltaTable(table).metadata().id)
    DeltaTable(table).alter.set_table_properties({"airflow_refresh.control": "me"}, raise_if_not_exists=False)
    write(table, rows(2))
    second = log.identity(str(table))
    assert second is not None
    assert (second.table_id, second.properties["airflow_refresh.control"]) == (first.table_id, "me")
    shutil.rmtree(table)
    write(table, rows(1))
    other = log.identity(str(table))
    assert other is not None and other.table_id == str(DeltaTable(table).metadata().id) != first.table_id
    assert places == []
    for n in range(40):
        write(table, rows(n))
    assert log.identity(str(table)) == other and places == [str(table)]


def test_a_marker_is_found_before_many_commits_without_checksums(table: Path) -> None:
    write(table, rows(1))
    slot = slot_app_id(str(DeltaTable(table).metadata().id), 0)
    write(table, rows(2), markers={slot: 7})
    for n in range(15):
        write(table, rows(n), markers={"other": n + 1})
    assert LOG.markers(str(table)) == {slot: 7, "other": 15}
    for n in range(15, 40):
        write(table, rows(n), markers={"other": n + 1})
    assert LOG.markers(str(table))[slot] == 7


def test_a_log_is_read_from_its_last_checkpoint_on(table: Path) -> None:
    for n in range(3):
        write(table, rows(n), markers={f"app {n}": n + 1})
    DeltaTable(table).create_checkpoint()
    write(table, rows(4))
    for version in (0, 1):
        (table / "_delta_log" / f"{version:020}.json").write_text("not to be read")
    _beside(
        table,
        3,
        {"setTransactions": [{"appId": "all", "version": 1}], "metadata": {"id": "kept", "schemaString": "{}"}},
    )
    assert LOG.markers(str(table)) == {"all": 1}
    assert LOG.newest(str(table)) == 3
    assert (found := LOG.identity(str(table))) and found.table_id == "kept"


@pytest.mark.parametrize("named", ["", "{", "[]", '{"version": "x"}', '{"version": 999}'], ids=str)
def test_a_last_checkpoint_that_says_nothing_useful_is_passed_over(table: Path, named: str) -> None:
    for n in range(3):
        write(table, rows(n), markers={f"app {n}": n + 1})
    (table / "_delta_log" / "_last_checkpoint").write_text(named)
    assert LOG.newest(str(table)) == 2
    assert LOG.markers(str(table)) == {"app 0": 1, "app 1": 2, "app 2": 3}


def test_types_are_those_of_spark(table: Path) -> None:
    write(table, rows(1))
    facts = LOG.facts(str(table))
    assert facts is not None
    assert [(c.name, c.type) for c in facts.types] == [("id", "bigint"), ("_vnode", "bigint")]


def test_files_outside_of_spans_are_known_by_statistics(tmp_path: Path) -> None:
    for first in (0, 100):
        found = pa.table({"Id": [first, first + 9], "day": [date(1970, 1, 1 + first % 30), None], "t": ["a", "b"]})
        write_deltalake(tmp_path, found, mode="append")
    place, each = str(tmp_path), [p.stat().st_size + OPEN_COST for p in tmp_path.glob("*.parquet")]
    both = sum(each)
    assert LOG.sizes_within(place, 1, "id", ((10, 99), (200, 300))) == (0, both)
    assert LOG.sizes_within(place, 1, "id", ((9, 9), (200, 300)))[0] in each
    assert LOG.sizes_within(place, 1, "id", ((-5, 100),)) == (both, both)
    assert LOG.sizes_within(place, 1, "day", ((10, 10),))[0] in each
    assert LOG.sizes_within(place, 1, "day", ((1, 9),)) == (0, both)
    assert LOG.sizes_within(place, 1, "t", ((1, 9),)) == LOG.sizes_within(place, 1, "none", ((1, 9),)) == (both, both)
    assert LOG.sizes_within(str(tmp_path / "nowhere"), 0, "id", ((1, 9),)) == (0, 0)


def test_files_outside_of_spans_are_known_by_partition_values(tmp_path: Path) -> None:
    days = [date(1970, 1, day) for day in (1, 2, 3)]
    write_deltalake(tmp_path, pa.table({"id": [1, 2, 3, 4], "day": [*days, None]}), partition_by=["day"])
    facts = LOG.facts(str(tmp_path))
    assert facts is not None and (facts.partitioned_by, facts.partitions) == (("day",), 4)
    within, everything = LOG.sizes_within(str(tmp_path), 0, "day", ((1, 1),))
    assert everything // OPEN_COST == 4
    assert within // OPEN_COST == 2, "of the day, and of no day"
