"""Queries of others through the analysis: `python -m tests.unit.maintain.public_queries [DIALECT:]FOLDER...`.

Each query in the files of the folders is analysed, over the tables that its script creates, else over tables with the
columns that it names. What the project refuses is counted; any other exception is a fault. Where inputs are followed
and DuckDB can run the query, it is refreshed after random changes, with rows of the script among others, and compared
with the whole result. Ends with 1 after a fault or a difference.
"""

from __future__ import annotations

import random
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

import duckdb
from sqlglot import exp
from sqlglot.errors import SqlglotError

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.maintain.advice import advice
from airflow_refresh_provider.core.maintain.analysis import maintenance
from airflow_refresh_provider.core.maintain.plan import Maintenance, Sums
from airflow_refresh_provider.core.query.analysis import facts_of
from airflow_refresh_provider.core.query.parse import parse
from airflow_refresh_provider.errors import Invalid
from tests.unit.maintain import added, keyed
from tests.unit.maintain.keyed import Row
from tests.unit.maintain.public_cases import Case, Table, cases_of
from tests.unit.maintain.public_columns import guessed
from tests.unit.maintain.public_scripts import scripts_in

ROUNDS = 12
MOST_TABLES = 30
_SECONDS = 15.0
"""How long the statements of one query may take."""

_NOT_RUN = (duckdb.Error, SqlglotError)
"""What DuckDB, and the translation into its SQL, end in."""
_OTHER_VALUES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("smallint", "tinyint", "bigint", "double", "float", "decimal"), keyed.NUMBERS),
    "boolean": (None, True, False),
    **dict.fromkeys(
        ("timestamp", "timestamp_ntz"), (None, *map(datetime.fromisoformat, ("2000-01-01 12:00", "2000-02-01 01:00")))
    ),
}


@dataclass
class Report:
    """How many queries ended how, and the text of those with a fault or a difference."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


def report_of(cases: Iterable[Case]) -> Report:
    """Analyse and refresh queries, each text once."""
    report = Report()
    for case in {case.query: case for case in cases}.values():
        outcome = _outcome(case) if case.translated else "not said in Spark's dialect"
        report.counts[outcome.split(":")[0]] += 1
        if outcome.startswith(("fault", "difference")):
            report.problems.append(f"{outcome}\n{case.query}\n")
    return report


def _outcome(case: Case) -> str:
    query = case.query
    try:
        tree = parse(query).tree
        inputs = _inputs(tree)
        facts = facts_of(query, inputs)
    except Invalid as refused:
        return f"refused {refused.code}"
    except Exception:  # noqa: BLE001 - any is a finding
        return f"fault: {traceback.format_exc(limit=-3)}"
    try:
        tables = _tables(case, tree, inputs)
        types = {name: table.columns for name, table in tables.items()}
        plans = {text: maintenance(text, types, ()) for text in (query, _as_table(tree))}
        _advise(query, types, plans[query])
    except Exception:  # noqa: BLE001 - any is a finding
        return f"fault: {traceback.format_exc(limit=-3)}"
    text, plan = list(plans.items())[-1]
    watch = threading.Timer(_SECONDS, keyed.interrupt)
    if facts.clock_spans or len(inputs) > MOST_TABLES or not plan.anchors:
        return "clock" if facts.clock_spans else "too large" if plan.anchors else "analysed, nothing followed"
    watch.start()
    try:
        return refreshed(text, plan, sums_of(text, tables), tables)
    finally:
        watch.cancel()


def _inputs(tree: exp.Expr) -> tuple[str, ...]:
    """The tables that are no WITH queries."""
    names = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    found = {t.name.lower() for t in tree.find_all(exp.Table) if isinstance(t.this, exp.Identifier)}
    return tuple(sorted(found - names))


def _as_table(tree: exp.Query) -> str:
    """The query as a table: without the ORDER BY and LIMIT at its end, each column with a name of its own."""
    copy = tree.copy()
    for number, column in enumerate(() if copy.is_star else copy.selects):
        named = isinstance(column, exp.Alias | exp.Column)
        if not named or column.output_name in [other.output_name for other in copy.selects[:number]]:
            column.replace(exp.alias_(column.unalias().copy(), f"column_{number}"))
    for clause in ("limit", "order", "offset"):
        copy.set(clause, None)
    return copy.sql("spark", comments=False)


def _tables(case: Case, tree: exp.Expr, inputs: tuple[str, ...]) -> dict[str, Table]:
    """Those of the script, else what the text names."""
    known = {name: case.tables[name] for name in inputs if name in case.tables}
    if len(known) == len(inputs):
        return known
    return {name: Table(columns) for name, columns in guessed(case.query, tree, inputs).items()} | known


def _advise(query: str, tables: Mapping[str, Mapping[str, str]], found: Maintenance) -> None:
    names = [name for name in found.columns if name.isidentifier()]
    if names and tables:
        definition = Definition.unchecked(
            name="view",
            target="/gold/view",
            query=query,
            inputs={name: {"path": f"/in/{name}"} for name in tables},
            keys=names[:1],
        )
        advice(definition, tables, found)


def refreshed(query: str, plan: Maintenance, sums: Sums | None, tables: Mapping[str, Table]) -> str:
    """How refreshes of a query after random changes end: in the words of the counts, a difference with its seed."""
    with keyed.other_tables({name: table.columns for name, table in tables.items()}):
        return _refreshed(query, plan, sums, tables)


def _refreshed(query: str, plan: Maintenance, sums: Sums | None, tables: Mapping[str, Table]) -> str:
    for seed in range(ROUNDS):
        chance = random.Random(seed)
        old, new = keyed.changed(chance, tables, partial(_rows, chance, tables))
        try:
            columns, _ = keyed.whole(new, query)
            if len(set(columns)) < len(columns):
                return "two columns with one name"
            if set(columns) != set(plan.columns):
                return "other columns in DuckDB"
            if not _is_repeatable(query, new):
                return "not repeatable"
        except _NOT_RUN:
            return "not run by DuckDB"
        try:
            if not keyed.is_right(plan, query, old, new):
                return f"difference: seed {seed}, anchors {plan.anchors}"
            _add_up(query, sums, chance, tables)
        except _NOT_RUN as error:
            return f"statement not run by DuckDB: {str(error)[:200]}"
        except AssertionError as error:
            return f"difference: seed {seed}, added up: {error}"
    return "refreshed rightly" if sums is None else "refreshed rightly, and added up"


def sums_of(query: str, tables: Mapping[str, Table]) -> Sums | None:
    """How the query is added up by its columns without an aggregate, of exact numbers."""
    types = {name: table.columns for name, table in tables.items()}
    if any(kind in ("double", "float") for columns in types.values() for kind in columns.values()):
        return None
    keys = [column.output_name for column in parse(query).tree.selects if not column.find(exp.AggFunc)]
    return maintenance(query, types, keys).sums


def _add_up(query: str, sums: Sums | None, chance: random.Random, tables: Mapping[str, Table]) -> None:
    """Raises AssertionError where the sums are not those of the whole query."""
    if sums is not None:
        for _ in range(3):
            added.decided(query, sums, chance, list(tables), partial(_rows, chance, tables))


def _rows(chance: random.Random, tables: Mapping[str, Table], name: str, most: int) -> list[Row]:
    """Rows of the script and rows with any of the values of their columns."""
    table = tables[name]
    values = [
        (*keyed.VALUES.get(kind, _OTHER_VALUES.get(kind.partition("(")[0], (None,))), *(row[at] for row in table.rows))
        for at, kind in enumerate(table.columns.values())
    ]
    made = [tuple(chance.choice(some) for some in values) for _ in range(most)]
    return chance.sample([*made, *chance.sample(table.rows, min(most, len(table.rows)))], chance.randint(0, most))


def _is_repeatable(query: str, inputs: keyed.Inputs) -> bool:
    """Whether the rows of the result do not depend on the order of those of the inputs."""
    chance = random.Random(0)
    shuffled = {name: chance.sample(list(rows), len(rows)) for name, rows in inputs.items()}
    return keyed.whole(inputs, query) == keyed.whole(shuffled, query)


if __name__ == "__main__":
    scripts = (script for folder in sys.argv[1:] for script in scripts_in(folder))
    done = report_of(case for script in scripts for case in cases_of(script))
    lines = [f"{count:6} {outcome}" for outcome, count in done.counts.most_common()]
    sys.stdout.write("\n".join([*done.problems, f"{done.counts.total()} queries", *lines, ""]))
    sys.exit(1 if done.problems else 0)
