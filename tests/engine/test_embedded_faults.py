"""What real Spark raises for real mistakes, and what is made of it."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_refresh_provider.core.faults.answers import explained
from airflow_refresh_provider.core.faults.fault import Doing, Fault, SentQuery
from airflow_refresh_provider.core.faults.positions import position
from airflow_refresh_provider.core.faults.sentences import reason
from airflow_refresh_provider.errors import Conflict
from airflow_refresh_provider.spark.connect.faults import SPARK_ERRORS, FaultKind, fault_of, kind_of
from airflow_refresh_provider.spark.connect.sessions import Endpoint, close, connect

Open = Callable[[], SparkSession]


def _fault(session: SparkSession, statement: str) -> Fault:
    with pytest.raises(SPARK_ERRORS) as raised:
        session.sql(statement).collect()
    return fault_of(raised.value)


@pytest.mark.parametrize(
    ("statement", "kind", "error_class", "place"),
    [
        ("SELECT (1", FaultKind.PARSE, "PARSE_SYNTAX_ERROR", (1, 10)),
        ("SELECT 1,\n  nope FROM range(3)", FaultKind.ANALYSIS, "UNRESOLVED_COLUMN.WITH_SUGGESTION", (2, 3)),
        ("SELECT * FROM nope", FaultKind.ANALYSIS, "TABLE_OR_VIEW_NOT_FOUND", (1, 15)),
        ("SELECT nofn(1)", FaultKind.ANALYSIS, "UNRESOLVED_ROUTINE", (1, 8)),
        ("SELECT id / 0 FROM range(3)", FaultKind.BAD_VALUE, "DIVIDE_BY_ZERO", (1, 8)),
        ("SELECT CAST('a' || id AS INT) FROM range(3)", FaultKind.BAD_VALUE, "CAST_INVALID_INPUT", (1, 8)),
        ("SELECT raise_error('no') FROM range(1)", FaultKind.BAD_VALUE, "USER_RAISED_EXCEPTION", None),
        ("SELECT * FROM delta.`/absent/table`", FaultKind.MISSING, "PATH_NOT_FOUND", None),
        ("SELECT * FROM parquet.`/absent/file`", FaultKind.MISSING, "PATH_NOT_FOUND", None),
    ],
)
def test_a_mistake_in_a_statement_is_reported_with_kind_class_and_position(
    open_session: Open, statement: str, kind: FaultKind, error_class: str, place: tuple[int, int] | None
) -> None:
    fault = _fault(open_session(), statement)
    found = position(fault, Doing(left="", query=SentQuery(text=statement)))

    assert (kind_of(fault), fault.error_class) == (kind, error_class)
    assert ((found.line, found.column) if found else None) == place


def _table(session: SparkSession, folder: Path) -> Path:
    session.range(0, 10, 1, 1).selectExpr("id", "id AS v").write.format("delta").save(str(folder / "table"))
    return folder / "table"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory, spark_server: Endpoint) -> Path:
    session = connect(spark_server, str(uuid.uuid4()))
    try:
        return _table(session, tmp_path_factory.mktemp("faults"))
    finally:
        close(session)


def test_a_version_that_never_was_is_missing(open_session: Open, table: Path) -> None:
    assert kind_of(_fault(open_session(), f"SELECT * FROM delta.`{table}` VERSION AS OF 9")) is FaultKind.MISSING


def test_a_data_file_that_vanished_is_missing_and_a_damaged_one_unreadable(open_session: Open, tmp_path: Path) -> None:
    table = _table(open_session(), tmp_path)
    [file] = table.glob("*.parquet")
    statement = f"SELECT sum(v) FROM delta.`{table}`"
    file.write_bytes(b"PAR1 no such thing PAR1")
    damaged = _fault(open_session(), statement)
    file.unlink()
    vanished = _fault(open_session(), statement)

    assert (kind_of(damaged), kind_of(vanished)) == (FaultKind.UNREADABLE, FaultKind.MISSING)
    assert file.name in reason(damaged)


def test_a_bad_row_in_a_write_is_reported_by_its_own_cause(open_session: Open, table: Path) -> None:
    fault = _fault(open_session(), f"INSERT INTO delta.`{table}` SELECT id, CAST(1 / (id - 1) AS BIGINT) FROM range(3)")

    assert (kind_of(fault), fault.error_class) == (FaultKind.BAD_VALUE, "DIVIDE_BY_ZERO")


def test_of_two_racing_updates_the_loser_gets_a_conflict(open_session: Open, table: Path) -> None:
    faults: list[Fault] = []
    sessions = [open_session(), open_session()]

    def update(session: SparkSession) -> None:
        try:
            session.sql(f"UPDATE delta.`{table}` SET v = v + 1").collect()
        except SPARK_ERRORS as error:
            faults.append(fault_of(error))

    for _ in range(20):
        racers = [threading.Thread(target=update, args=(session,)) for session in sessions]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
        if faults:
            break

    assert [kind_of(fault) for fault in faults] == [FaultKind.CONCURRENCY]
    assert isinstance(explained(faults[0], Doing(left="")), Conflict)


def test_no_stack_trace_and_no_exception_name_reaches_a_user(
    open_session: Open, table: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    session = open_session()
    for statement in ("SELECT (1", "SELECT nope", "SELECT 1 / 0", f"SELECT * FROM delta.`{table}` VERSION AS OF 9"):
        error = explained(_fault(session, statement), Doing(left="", query=SentQuery(text=statement)))

        assert not any(word in error.message for word in ("\n", "\tat ", "Exception", "SQLSTATE", "org.apache"))
    assert capfd.readouterr() == ("", "")
