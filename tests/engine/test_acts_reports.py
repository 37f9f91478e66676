"""What the engine says about bad keys, differing rows and unreadable inputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_refresh_provider.core.changes.pins import DeltaPin, FilesPin, FileStamp
from airflow_refresh_provider.core.definition.choices import Layout
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.core.run.ownership import CONTROL, LAYOUT
from airflow_refresh_provider.errors import Failed, Invalid, RefreshError
from airflow_refresh_provider.inputs.kinds import kind_of
from airflow_refresh_provider.ports.tasks import KeyReport, Sample, Source
from tests.engine.acts import Lake, source

_GOOD = source("SELECT id AS v, 'x' AS s, id AS k FROM range(4)", "k", "s")


def _with(rows: str) -> Source:
    return source(f"{_GOOD.query} UNION ALL SELECT * FROM VALUES {rows}", "k", "s")


@pytest.mark.parametrize(
    ("rows", "report"),
    [
        ("(0L, 'x', 9L)", KeyReport(rows=5)),
        (
            "(0L, 'it''s', NULL), (0L, NULL, 3L)",
            KeyReport(rows=6, null_keys=2, null_examples=("k=3, s=NULL", 'k=NULL, s="it\'s"')),
        ),
        ("(0L, 'x', 1L), (9L, 'x', 1L)", KeyReport(rows=6, duplicate_keys=1, duplicate_examples=("k=1, s='x'",))),
        (
            "(0L, 'x', NULL), (1L, 'x', 1L)",
            KeyReport(
                rows=6,
                null_keys=1,
                duplicate_keys=1,
                null_examples=("k=NULL, s='x'",),
                duplicate_examples=("k=1, s='x'",),
            ),
        ),
    ],
)
def test_missing_and_repeated_keys_are_counted_and_shown(lake: Lake, rows: str, report: KeyReport) -> None:
    found = lake.keys(_with(rows))

    assert found.model_copy(update={"null_examples": tuple(sorted(found.null_examples))}) == report


def test_of_many_bad_keys_all_are_counted_and_three_are_shown(lake: Lake) -> None:
    nulls = [f"(0L, 'n{i}', NULL)" for i in range(5)]
    repeated = [f"({row}L, 'r', {i}L)" for i in range(5) for row in range(3)]

    found = lake.keys(_with(", ".join(nulls + repeated)))

    assert (found.rows, found.null_keys, found.duplicate_keys) == (4 + 5 + 15, 5, 5)
    assert len(set(found.null_examples)) == len(set(found.duplicate_examples)) == 3
    assert set(found.null_examples) < {f"k=NULL, s='n{i}'" for i in range(5)}
    assert set(found.duplicate_examples) < {f"k={i}, s='r'" for i in range(5)}


def test_a_comparison_reports_bad_keys_of_the_source_also_when_they_equal_the_target_s_rows(lake: Lake) -> None:
    target = lake.target(_GOOD)
    lake.load(target, _GOOD)

    reports = {
        rows: lake.compare(target, _with(rows)).keys
        for rows in ("(1L, 'x', 1L)", "(7L, 'x', 1L)", "(7L, 'x', 8L), (7L, 'x', 8L)", "(7L, 'x', NULL)")
    }

    assert [(r.null_keys, r.duplicate_keys) for r in reports.values()] == [(0, 1), (0, 1), (0, 1), (1, 0)]


@pytest.mark.parametrize(
    ("added", "code"),
    [
        ("(1L, 'x', 1L)", "duplicate_target_key"),
        pytest.param("(9L, 'x', 99L), (9L, 'x', 99L)", "duplicate_target_key", marks=pytest.mark.slow),
        ("(1L, 'x', NULL)", "null_target_key"),
    ],
)
def test_a_target_with_keys_that_repeat_or_are_missing_is_refused(lake: Lake, added: str, code: str) -> None:
    target = lake.target(_GOOD)
    lake.load(target, _with(added))

    with pytest.raises(Failed) as refused:
        lake.compare(target, _GOOD)

    assert refused.value.code == code
    assert "s='x'" in refused.value.message
    assert "or a load that was abandoned" in refused.value.next


def test_samples_show_differing_rows_as_the_query_and_as_the_target_have_them(lake: Lake) -> None:
    query = "SELECT id AS k, named_struct('a b', {}, 'm', map('x', array(id))) AS s FROM range({})"
    first = source(query.format("1", "0, 3"), "k")
    then = source(query.format("if(id = 1, 2, 1)", "1, 4"), "k")
    target = lake.target(first)
    lake.load(target, first)
    base = lake.log.newest(target.location)
    compared = lake.compare(target, then)

    found = lake.session.samples(compared.changes, target, ("k",), base, 10)
    limited = lake.session.samples(compared.changes, target, ("k",), base, 2)

    def row(k: int, a: int) -> dict[str, object]:
        return {"k": k, "s": {"a b": a, "m": {"x": [k]}}}

    assert sorted(found, key=lambda s: s.op) == [
        Sample(op="D", desired=None, found=row(0, 1)),
        Sample(op="I", desired=row(3, 1), found=None),
        Sample(op="U", desired=row(1, 2), found=row(1, 1)),
    ]
    assert len(limited) == 2


def _reading(pin: FilesPin | DeltaPin) -> Source:
    return source("SELECT id AS k FROM x", "id", pins={"x": pin})


def _file(path: Path) -> FilesPin:
    return FilesPin(format="parquet", location=str(path), files=(FileStamp(path=str(path), size=1, modified=1),))


def _three_parts(error: RefreshError) -> bool:
    parts = (error.message, error.left, error.next)
    return all(parts) and not any(word in part for part in parts for word in ("\tat ", "Exception", "SQLSTATE"))


def test_an_error_in_the_query_is_reported_with_its_position(lake: Lake) -> None:
    for query, code, part in (
        ("SELECT id AS k,\n  nope FROM range(3)", "query_invalid", "(line 2, column 3)"),
        ("SELECT (1", "query_invalid", "(line 1, column 10)"),
        ("SELECT 1 AS k, NULL AS nothing", "untyped_column", "nothing"),
        ("SELECT 1 AS k, array(named_struct('a', NULL)) AS nested", "untyped_column", "nested"),
    ):
        with pytest.raises(Invalid) as refused:
            lake.session.describe(source(query, "k"))
        assert (refused.value.code, part in refused.value.message) == (code, True), refused.value.message
        assert _three_parts(refused.value)


def test_an_input_that_is_missing_or_damaged_is_reported_as_such(lake: Lake, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(b"PAR1 no such thing PAR1")
    table = lake.input("SELECT id FROM range(3)")

    for pin, code in (
        (_file(tmp_path / "absent.parquet"), "input_missing"),
        (_file(damaged), "input_unreadable"),
        (table.model_copy(update={"version": 9}), "input_missing"),
        (table.model_copy(update={"location": str(tmp_path / "absent")}), "input_missing"),
    ):
        with pytest.raises(Failed) as failed:
            lake.keys(_reading(pin))
        assert failed.value.code == code, failed.value.message
        assert _three_parts(failed.value)


@pytest.mark.slow
def test_columns_of_an_input_that_are_named_like_hidden_ones_are_its_own(lake: Lake) -> None:
    pin = lake.input("SELECT id AS k, 'a' AS _row_hash, id AS _VNODE FROM range(3)")
    whole = lake.session.describe(source("SELECT * FROM t", "k", pins={"t": pin}))
    assert [c.name for c in whole] == ["k", "_row_hash", "_VNODE"]  # refused before anything is written
    renamed = source("SELECT k, _row_hash AS h, _vnode AS v FROM t", "k", pins={"t": pin})
    target = lake.target(renamed, by_vnode=True)
    lake.load(target, renamed)
    lake.assert_equal(target, renamed)


def test_hidden_columns_of_an_input_that_is_a_target_are_not_seen(lake: Lake) -> None:
    target = lake.target(_GOOD, by_vnode=True, properties={CONTROL: "id", LAYOUT: Layout.VNODE.value})
    lake.load(target, _GOOD)
    pin = kind_of("delta").pin("t", Input(path=target.location))

    reading = source("SELECT * FROM t", "k", pins={"t": pin})

    assert [c.name for c in lake.session.describe(reading)] == ["v", "s", "k"]
    copy = lake.target(reading)
    lake.load(copy, reading)
    assert lake.refresh(copy, reading, Way.MERGE).total == 0
