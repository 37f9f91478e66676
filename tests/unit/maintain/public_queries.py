"""Queries of others through the analysis: `python -m tests.unit.maintain.public_queries FOLDER...`.

Each statement of the .sql files in the folders is analysed, over tables with the columns that it names. What the
project refuses is counted; any other exception is a fault. Where inputs are followed and DuckDB can run the query, it
is refreshed after random changes and compared with the whole result. Ends with 1 after a fault or a difference.
"""

from __future__ import annotations

import random
import re
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.maintain.advice import advice
from airflow_refresh_provider.core.maintain.analysis import maintenance
from airflow_refresh_provider.core.maintain.assumed import assumed_columns
from airflow_refresh_provider.core.maintain.plan import Maintenance
from airflow_refresh_provider.core.query.analysis import facts_of
from airflow_refresh_provider.core.query.parse import parse
from airflow_refresh_provider.errors import Invalid
from tests.unit.maintain import keyed

ROUNDS = 12
MOST_TABLES = 30
_SECONDS = 15.0
"""How long the statements of one query may take."""

_NOT_RUN = (duckdb.Error, SqlglotError)
"""What DuckDB, and the translation into its SQL, end in."""
_REFERENCE = re.compile(r"\{\{\s*(?:ref|source)\(\s*(?:['\"][^'\"]*['\"]\s*,\s*)?['\"](\w+)['\"]\s*\)\s*\}\}")
_TEMPLATE = re.compile(r"\{[{%#]")
_DAY_LIKE = (
    exp.Year, exp.Month, exp.Day, exp.Quarter, exp.DateTrunc, exp.TimestampTrunc, exp.DateAdd, exp.DateSub,
    exp.TsOrDsAdd,
)  # fmt: skip
_TEXT_LIKE = (exp.Like, exp.ILike, exp.Upper, exp.Lower, exp.Trim, exp.Substring, exp.Concat, exp.DPipe)


@dataclass
class Report:
    """How many queries ended how, and the text of those with a fault or a difference."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


def report_of(queries: Iterator[str] | list[str]) -> Report:
    """Analyse and refresh queries, each text once."""
    report = Report()
    for query in dict.fromkeys(queries):
        outcome = _outcome(query)
        report.counts[outcome.split(":")[0]] += 1
        if outcome.startswith(("fault", "difference")):
            report.problems.append(f"{outcome}\n{query}\n")
    return report


def queries_in(folder: Path) -> Iterator[str]:
    """The statements of all files that begin like a query; references of dbt become names, other templates are left."""
    for file in sorted(folder.rglob("*.sql")):
        text = _REFERENCE.sub(r"\1", file.read_text(encoding="utf-8", errors="replace"))
        if _TEMPLATE.search(text):
            continue
        for statement in _statements(text):
            if re.match(r"(\s|--.*\n|/\*(.|\n)*?\*/|\()*(SELECT|WITH|FROM)\b", statement, flags=re.IGNORECASE):
                yield statement.strip()


def _statements(text: str) -> list[str]:
    """A file cut at its semicolons, those in strings and comments left out."""
    try:
        tokens = sqlglot.Dialect.get_or_raise("spark").tokenize(text)
    except SqlglotError:
        return text.split(";")
    cuts = [-1, *(t.start for t in tokens if t.token_type is sqlglot.TokenType.SEMICOLON), len(text)]
    return [text[start + 1 : end] for start, end in pairwise(cuts)]


def _outcome(query: str) -> str:
    try:
        tree = parse(query).tree
        inputs = _inputs(tree)
        facts = facts_of(query, inputs)
    except Invalid as refused:
        return f"refused {refused.code}"
    except Exception:  # noqa: BLE001 - any is a finding
        return f"fault: {traceback.format_exc(limit=-3)}"
    try:
        tables = _tables(query, tree, inputs)
        plans = {text: maintenance(text, tables, ()) for text in (query, _unlimited(tree))}
        _advise(query, tables, plans[query])
    except Exception:  # noqa: BLE001 - any is a finding
        return f"fault: {traceback.format_exc(limit=-3)}"
    text, plan = list(plans.items())[-1]
    watch = threading.Timer(_SECONDS, keyed.interrupt)
    if facts.clock_spans or len(inputs) > MOST_TABLES or not plan.anchors:
        return "clock" if facts.clock_spans else "too large" if plan.anchors else "analysed, nothing followed"
    watch.start()
    try:
        return refreshed(text, plan, tables)
    finally:
        watch.cancel()


def _inputs(tree: exp.Expr) -> tuple[str, ...]:
    """The tables that are no WITH queries."""
    names = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    found = {t.name.lower() for t in tree.find_all(exp.Table) if isinstance(t.this, exp.Identifier)}
    return tuple(sorted(found - names))


def _unlimited(tree: exp.Query) -> str:
    """The query as a table: without the ORDER BY and LIMIT at its end."""
    copy = tree.copy()
    for clause in ("limit", "order", "offset"):
        copy.set(clause, None)
    return copy.sql("spark", comments=False)


def _tables(query: str, tree: exp.Expr, inputs: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """The columns that the text names; one that may be of several inputs is of the one whose name it begins like."""
    named = assumed_columns(query, inputs, ())
    columns = {name: list(found) for name, found in named.columns.items()}
    for unresolved in named.unresolved:
        if unresolved.name != "*":
            columns[_likeliest(unresolved.name, inputs)].append(unresolved.name)
    kinds = _kinds(tree)
    return {
        name: {c: kinds.get(c, "int") for c in dict.fromkeys([*found, f"{name}_other"])}
        for name, found in columns.items()
    }


def _likeliest(column: str, inputs: tuple[str, ...]) -> str:
    prefix = column.partition("_")[0]
    for name in inputs:
        if prefix in ("".join(word[0] for word in name.split("_") if word), name[0]):
            return name
    return next((name for name in inputs if name.startswith(prefix)), inputs[0])


def _kinds(tree: exp.Expr) -> dict[str, str]:
    """Text for columns that are compared with strings, days for those of which there is a month or the like."""
    kinds = {c.name.lower(): "date" for node in tree.find_all(*_DAY_LIKE) for c in node.find_all(exp.Column)}
    for node in tree.find_all(exp.Predicate, *_TEXT_LIKE):
        columns = [c.name.lower() for c in node.find_all(exp.Column)]
        days = any(cast.to.is_type("date", "timestamp") for cast in node.find_all(exp.Cast))
        strings = any(literal.is_string for literal in node.find_all(exp.Literal))
        if len(set(columns)) == 1 and (days or strings or isinstance(node, _TEXT_LIKE)):
            kinds.setdefault(columns[0], "date" if days else "string")
    return kinds


def _advise(query: str, tables: dict[str, dict[str, str]], found: Maintenance) -> None:
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


def refreshed(query: str, plan: Maintenance, tables: dict[str, dict[str, str]]) -> str:
    """How refreshes of a query after random changes end: in the words of the counts, a difference with its seed."""
    keyed.COLUMNS.update(tables)
    for seed in range(ROUNDS):
        old, new = keyed.random_changes(seed, tables)
        try:
            columns, _ = keyed.whole(new, query)
            if len(set(columns)) < len(columns):
                return "two columns with one name"
            if not _is_repeatable(query, new):
                return "not repeatable"
        except _NOT_RUN:
            return "not run by DuckDB"
        try:
            if not keyed.is_right(plan, query, old, new):
                return f"difference: seed {seed}, anchors {plan.anchors}"
        except _NOT_RUN as error:
            return f"statement not run by DuckDB: {str(error)[:200]}"
    return "refreshed rightly"


def _is_repeatable(query: str, inputs: keyed.Inputs) -> bool:
    """Whether the rows of the result do not depend on the order of those of the inputs."""
    chance = random.Random(0)
    shuffled = {name: chance.sample(list(rows), len(rows)) for name, rows in inputs.items()}
    return keyed.whole(inputs, query) == keyed.whole(shuffled, query)


if __name__ == "__main__":
    done = report_of([query for folder in sys.argv[1:] for query in queries_in(Path(folder))])
    lines = [f"{count:6} {outcome}" for outcome, count in done.counts.most_common()]
    sys.stdout.write("\n".join([*done.problems, f"{done.counts.total()} queries", *lines, ""]))
    sys.exit(1 if done.problems else 0)
