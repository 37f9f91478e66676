"""The scope of a refresh: windows only where nothing casts doubt on them, and a reason for everything else."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from airflow_refresh_provider.core.changes.history import InputCommit, InputHistory, Window, of_files
from airflow_refresh_provider.core.changes.pins import DeltaPin, FilesPin, FileStamp
from airflow_refresh_provider.core.changes.sources import ChangeSource, ChangeSourceInfo
from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.run.record import Published
from airflow_refresh_provider.core.strategy.scope import UNCHANGED, ScopeFacts, scope

NOW = datetime(2024, 1, 10, tzinfo=UTC)
DAY = timedelta(days=1)


def pin(version: int, table_id: str = "t", bytes: int = 1000) -> DeltaPin:
    return DeltaPin(location="/in/x", table_id=table_id, version=version, bytes=bytes)


def files(*names: str, size: int = 1) -> FilesPin:
    return FilesPin(
        format="parquet",
        location="/in/f",
        files=tuple(FileStamp(path=f"/in/f/{n}", size=size, modified=1) for n in ("1", *names)),
    )


def commit(version: int, *, data_change: bool = True) -> InputCommit:
    return InputCommit(version=version, at=NOW - DAY, operation="WRITE", data_change=data_change)


def source(bytes: int = 20, expires_at: datetime | None = NOW + DAY) -> ChangeSourceInfo:
    return ChangeSourceInfo(source=ChangeSource.FEED, bytes=bytes, expires_at=expires_at)


HISTORY = InputHistory(commits=(commit(4), commit(5)), change_sources=(source(),))
MAINTAINED = HISTORY.model_copy(update={"commits": (commit(4, data_change=False), commit(5, data_change=False))})
PUBLISHED = Published(
    run_id="r", target_id="g", version=3, seal_version=4, pins={"x": pin(3)}, definition_hash="h", clocked=False, at=NOW
)
FACTS = ScopeFacts(
    mode=Mode.AUTO,
    definition_hash="h",
    published=PUBLISHED,
    pins={"x": pin(5)},
    histories={"x": HISTORY},
    obstacle=None,
    now=NOW,
)


def history(**changes: object) -> dict[str, InputHistory | None]:
    return {"x": HISTORY.model_copy(update=changes)}


@pytest.mark.parametrize("mode", [Mode.AUTO, Mode.INCREMENTAL])
def test_only_what_has_not_been_applied_is_read(mode: Mode) -> None:
    found = scope(replace(FACTS, mode=mode))
    assert found.windows == {"x": Window(after=3, upto=5)}
    assert found.reason.text == "changes of x in versions 4 to 5"


@pytest.mark.parametrize(
    ("changes", "code", "reason"),
    [
        ({"mode": Mode.FULL}, "mode_full", "mode is full"),
        ({"published": None}, "first_refresh", "first refresh"),
        ({"definition_hash": "other"}, "definition_changed", "definition has changed"),
        ({"clock_moved": True}, "clock", "clock"),
        ({"clock_moved": True, "follows_time": True}, "clock", "the moment of the last refresh is not known"),
        ({"target_changed": "others have written"}, "target_changed", "others have written"),
        (
            {"obstacle": "the aggregate function sum (line 1, column 8) is not supported in incremental mode"},
            "not_followed",
            "line 1, column 8",
        ),
        ({"pins": {"x": pin(5, "other")}}, "input_replaced", "another table"),
        ({"pins": {"x": pin(2)}}, "input_replaced", "another table"),
        ({"pins": {"x": files()}}, "input_replaced", "another table"),
        ({"histories": {"x": None}}, "history_lost", "no longer has every version after 3"),
        (
            {"histories": history(change_sources=())},
            "changes_unknown",
            "does not say which rows have changed since version 3",
        ),
        ({"histories": history(reshaped=True)}, "columns_changed", "columns of the input x"),
        (
            {"histories": history(change_sources=(source(expires_at=NOW),))},
            "changes_expired",
            "only until 2024-01-10 00:00 UTC",
        ),
        ({"histories": history(change_sources=(source(bytes=1001),))}, "changes_larger", "than it has in all"),
    ],
)
def test_a_window_that_is_not_exact_has_everything_compared(changes: dict[str, object], code: str, reason: str) -> None:
    found = scope(replace(FACTS, **changes))  # type: ignore[arg-type]
    assert (found.windows, found.reason.code) == ({}, code)
    assert reason in found.reason.text


def test_changes_that_one_source_no_longer_has_may_come_from_another() -> None:
    files = ChangeSourceInfo(source=ChangeSource.FILES, bytes=1001)
    both = history(change_sources=(source(expires_at=NOW), files))
    assert scope(replace(FACTS, mode=Mode.INCREMENTAL, histories=both)).windows
    assert "than it has in all" in scope(replace(FACTS, histories=both)).reason.text
    assert scope(replace(FACTS, histories=history(change_sources=(source(), files)))).windows


def test_strictly_incremental_reads_windows_of_any_size() -> None:
    large = history(change_sources=(source(bytes=1001),))
    assert scope(replace(FACTS, mode=Mode.INCREMENTAL, histories=large)).windows


@pytest.mark.parametrize("mode", list(Mode))
def test_inputs_with_only_maintenance_are_not_read_in_any_mode(mode: Mode) -> None:
    facts = replace(FACTS, mode=mode, obstacle="any query", histories={"x": MAINTAINED})
    found = scope(facts)
    assert (found.windows, found.reason.text) == ({"x": Window(after=3, upto=5)}, UNCHANGED)
    assert not scope(replace(facts, insist=True)).windows


@pytest.mark.parametrize("mode", list(Mode))
def test_a_target_in_doubt_is_the_reason_although_no_input_has_changed(mode: Mode) -> None:
    found = scope(replace(FACTS, mode=mode, histories={"x": MAINTAINED}, target_changed="others have written"))
    assert (found.windows, found.reason.text) == ({}, "others have written")


def test_files_that_have_not_changed_need_no_window() -> None:
    published = PUBLISHED.model_copy(update={"pins": {"x": pin(3), "f": files()}})
    both = replace(FACTS, published=published, pins={"x": pin(5), "f": files()}, histories={"x": MAINTAINED})
    assert scope(both).reason.text == UNCHANGED


def listed(after: FilesPin, upto: FilesPin) -> ScopeFacts:
    """A refresh of one input of files."""
    published = PUBLISHED.model_copy(update={"pins": {"f": after}})
    return replace(FACTS, published=published, pins={"f": upto}, histories={"f": of_files(after, upto)})


def test_files_that_came_are_a_window_between_two_lists() -> None:
    found = scope(listed(files("2"), files("3", "2", size=1)))
    assert found.windows == {"f": Window(after=files("2").digest, upto=files("2", "3").digest)}
    assert found.reason.text == "changes of f in new files"


@pytest.mark.parametrize("newer", [files("3"), files("2", "3", size=2), files()], ids=["another", "changed", "gone"])
def test_files_that_changed_or_went_take_their_rows_with_them(newer: FilesPin) -> None:
    found = scope(listed(files("2"), newer))
    assert not found.windows
    assert found.reason.text == "files of the input f that the last refresh read were changed or deleted"


def test_files_that_came_are_weighed_too() -> None:
    known = of_files(files("2"), files("2", "3"))
    assert known is not None
    (known_source,) = known.change_sources
    assert (known_source.bytes, known_source.expires_at, known.readable_until) == (1, None, None)
    assert [c.version for c in known.commits] == [1]
