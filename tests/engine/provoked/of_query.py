"""Errors that the query is to blame for."""

from __future__ import annotations

from tests.engine.provoked.bench import Bench, Provocation


def _analyzed(query: str) -> Provocation:
    return lambda bench: bench.describe(bench.query(query))


def _computed(query: str, rows: str = "SELECT id, id AS v, 'a' || id AS s FROM range(4)") -> Provocation:
    return lambda bench: bench.read(bench.query(query, rows))


def _does_not_fit(bench: Bench) -> None:
    bench.load(bench.target("id INT, v INT"), bench.query("SELECT id, v FROM src", "SELECT 1 AS id, 5000000000 AS v"))


PROVOKED: dict[str, Provocation] = {
    "query.parse": _analyzed("SELECT id,\n  (v FROM src"),
    "query.column": _analyzed("SELECT id,\n  nope FROM src"),
    "query.file_metadata": _analyzed("SELECT id, _metadata.file_name AS x FROM src"),
    "query.table": _analyzed("SELECT id FROM nosuch"),
    "query.function": _analyzed("SELECT id, nofn(v) FROM src"),
    "query.arguments": _analyzed("SELECT id, substring(v) AS x FROM src"),
    "query.types": _analyzed("SELECT id, v + array(1) AS x FROM src"),
    "query.grouping": _analyzed("SELECT id, count(*) AS n FROM src"),
    "query.ambiguous": _analyzed("SELECT id FROM src a JOIN src b ON a.id = b.id"),
    "query.union": _analyzed("SELECT id FROM src UNION SELECT id, v FROM src"),
    "value.divide": _computed("SELECT id,\n  100 / (v - 2) AS x\nFROM src"),
    "value.cast": _computed("SELECT id,\n  CAST(s AS INT) AS x FROM src"),
    "value.overflow": _computed("SELECT id, CAST(v AS INT) * 2147483647 AS x FROM src"),
    "value.cast_overflow": _computed("SELECT id, CAST(v * 5000000000 AS INT) AS x FROM src"),
    "value.index": _computed("SELECT id, array(1, 2)[CAST(v AS INT)] AS x FROM src"),
    "value.raised": _computed("SELECT id, if(v = 2, raise_error('no such row'), v) AS x FROM src"),
    "value.date": _computed("SELECT id, to_date(s, 'yyyy-MM-dd') AS x FROM src"),
    "value.decimal": _computed("SELECT id, CAST(v * 1000 AS DECIMAL(4, 2)) AS x FROM src"),
    "value.subquery": _computed("SELECT id, (SELECT b.v FROM src b WHERE b.v >= a.v - a.v) AS x FROM src a"),
    "value.pattern": _computed("SELECT id, s RLIKE concat('(', s) AS x FROM src"),
    "value.json": _computed("SELECT id, from_json(s, 'a INT', map('mode', 'FAILFAST')) AS x FROM src"),
    "value.asserted": _computed("SELECT id, assert_true(v < 2) IS NULL AS x FROM src"),
    "value.target_type": _does_not_fit,
}
