"""The script that refreshes queries of others: what it reads of a folder, and that it finds what is wrong."""

from __future__ import annotations

from pathlib import Path

from airflow_refresh_provider.core.maintain.analysis import maintenance
from tests.unit.maintain.public_cases import Case, Table, cases_of
from tests.unit.maintain.public_queries import refreshed, report_of, sums_of
from tests.unit.maintain.public_scripts import scripts_in

FILE = """
-- orders; by customer
SELECT o.customer, count(*) AS n FROM {{ ref('orders') }} o WHERE o.kind = 'a;b' GROUP BY o.customer;
CREATE TABLE t (k INT);
SELECT max(x) AS m FROM {{ source('raw', 'orders') }};
SELECT k FROM t TABLESAMPLE (5 ROWS)
"""
SLT = """
# a comment
statement ok
CREATE TABLE t (k INT PRIMARY KEY, s VARCHAR);

statement ok
INSERT INTO t VALUES (1, 'x'), (2, NULL);

statement ok
CREATE MATERIALIZED VIEW mv AS
SELECT s, count(*) AS n FROM t GROUP BY s;

query II rowsort
SELECT k, s FROM t
----
1 x
2 NULL

statement ok
DROP TABLE t;

statement ok
CREATE TABLE t (k BIGINT);
"""
GROOVY = '''
suite("one") {
    sql "drop table if exists t"
    sql """CREATE TABLE t (k INT, v INT) UNIQUE KEY(k) DISTRIBUTED BY HASH(k) BUCKETS 2
        PROPERTIES ("replication_num" = "1");"""
    sql """INSERT INTO t VALUES (1, 2)"""
    sql """CREATE MATERIALIZED VIEW mv BUILD DEFERRED REFRESH INCREMENTAL ON MANUAL DISTRIBUTED BY RANDOM BUCKETS 2
        PROPERTIES ('replication_num' = '1') AS SELECT k, sum(v) AS s FROM t GROUP BY k"""
}
'''
YAML = """
- id: tables
  sql: CREATE TABLE t (k INT)
- before: [tables]
  sql: SELECT k FROM t
"""


def cases_in(folder: Path, dialect: str = "") -> list[Case]:
    return [
        case for script in scripts_in(f"{dialect}:{folder}" if dialect else str(folder)) for case in cases_of(script)
    ]


def test_the_queries_of_a_folder_are_refreshed(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "orders.sql").write_text(FILE)
    (tmp_path / "templated.sql").write_text("SELECT {% if x %} 1 {% endif %} AS a FROM t")
    cases = cases_in(tmp_path)
    assert [case.query.split()[-1] for case in cases] == ["o.customer", "orders", "ROWS)"]
    report = report_of(cases)
    assert report.counts == {
        "refreshed rightly, and added up": 1,
        "analysed, nothing followed": 1,
        "refused nondeterministic_query": 1,
    }
    assert report.problems == []


def test_a_script_has_the_tables_and_rows_of_then(tmp_path: Path) -> None:
    (tmp_path / "one.slt").write_text(SLT)
    grouped, plain = cases_in(tmp_path)
    assert grouped.query == "SELECT s, COUNT(*) AS n FROM t GROUP BY s"
    assert plain.tables["t"] == Table({"k": "int", "s": "string"}, ((1, "x"), (2, None)))
    assert plain.tables["mv"].columns == {"s": "string", "n": "bigint"}
    assert report_of([grouped, plain]).counts == {"refreshed rightly, and added up": 1, "refreshed rightly": 1}


def test_a_column_of_structs_without_names_has_no_values(tmp_path: Path) -> None:
    (tmp_path / "a.slt").write_text(
        "statement ok\nCREATE TABLE t AS SELECT 1 AS k, ROW(2, 3) AS r\n\nquery I\nSELECT k FROM t\n"
    )
    (_, case) = cases_in(tmp_path)
    assert case.tables["t"] == Table({"k": "int", "r": "struct<v: int>"}, ((1, None),))


def test_views_are_found_in_calls_strings_lists_and_files_that_belong_together(tmp_path: Path) -> None:
    (tmp_path / "a.groovy").write_text(GROOVY)
    (tmp_path / "b.yaml").write_text(YAML)
    for part, text in (("query", "SELECT b FROM t"), ("schema", "CREATE TABLE t (b DATE)")):
        (tmp_path / f"c_{part}.sql").write_text(text)
    assert [(case.query, dict(case.tables["t"].columns)) for case in cases_in(tmp_path)] == [
        ("SELECT k, SUM(v) AS s FROM t GROUP BY k", {"k": "int", "v": "int"}),
        ("SELECT k FROM t", {"k": "int"}),
        ("SELECT b FROM t", {"b": "date"}),
    ]
    call = tmp_path / "psql" / "call.sql"
    call.parent.mkdir()
    call.write_text("CREATE TABLE t (k int);\nSELECT create_immv('mv', 'SELECT k FROM t WHERE k::text = ''1''');")
    assert [case.query for case in cases_in(call.parent, "postgres")] == [
        "SELECT k FROM t WHERE CAST(k AS STRING) = '1'"
    ]


def test_a_wrong_analysis_is_found() -> None:
    query, tables = "SELECT g, count(*) AS n FROM a GROUP BY g", {"a": Table({"g": "int"}, ((7,), (8,)))}
    plan = maintenance(query, {"a": {"g": "int"}}, ())
    sums = sums_of(query, tables)
    assert refreshed(query, plan, sums, tables) == "refreshed rightly, and added up"
    wrong = plan.model_copy(update={"routes": tuple(r.model_copy(update={"values": ("0",)}) for r in plan.routes)})
    assert refreshed(query, wrong, sums, tables).startswith("difference: seed")


def test_a_result_that_is_added_up_wrongly_is_found() -> None:
    query, tables = "SELECT g, count(*) AS n, max(v) AS m FROM a GROUP BY g", {"a": Table({"g": "int", "v": "int"})}
    plan, sums = maintenance(query, {"a": tables["a"].columns}, ()), sums_of(query, tables)
    assert sums is not None
    wrong = sums.model_copy(update={"least": sums.greatest, "greatest": ()})
    assert refreshed(query, plan, wrong, tables).startswith("difference: seed")


def test_binary_keys_are_followed(tmp_path: Path) -> None:
    (tmp_path / "a.slt").write_text(
        "statement ok\nCREATE TABLE t (k BYTEA, v INT)\n\nstatement ok\nINSERT INTO t VALUES ('\\xAA', 1), ('b', 2)\n\n"
        "query II\nSELECT k, count(*) AS n FROM t GROUP BY k\n"
    )
    assert report_of(cases_in(tmp_path)).counts == {"refreshed rightly, and added up": 1}
