"""Advice to correct a column that no input has: otherwise the first refresh finds out that Spark refuses the query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from sqlglot import exp

from airflow_refresh_provider.core.maintain.advised import Advice, AdviceKind
from airflow_refresh_provider.core.maintain.analysis import UNEXPECTED, lower_names
from airflow_refresh_provider.core.maintain.queries import Reader
from airflow_refresh_provider.core.query.parse import parse, place_of, start_of

_ADDED_BY_SPARK = frozenset({"_metadata", "localtimestamp", "user"})
"""A column of files, and functions without parentheses that the parser takes for columns."""


def advised(query: str, inputs: Mapping[str, Mapping[str, str]]) -> Advice | None:
    """The first column that no input has; None where each has a source, or that is not known. Raises Invalid."""
    reader = Reader(parse(query), lower_names(inputs))
    try:
        reader.relation(reader.parsed.tree, {})
    except UNEXPECTED:
        return None
    tree = reader.parsed.tree
    if tree.find(exp.Pivot):  # it names columns by values
        return None
    given = {name.lower(): name for columns in inputs.values() for name in columns}
    sources = {source.alias_or_name.lower() for source in tree.find_all(exp.Table, exp.Subquery)}
    surely = (node for node in reader.missing if _is_nowhere(node, given, sources))
    first = min(surely, key=start_of, default=None)
    if first is None:
        return None
    name, place = first.sql("spark", comments=False), place_of(query, start_of(first))
    text = f"correct the column {name} ({place}): no input has it{_nearest(first.name, given)}"
    return Advice(kind=AdviceKind.CORRECT_COLUMN, text=text)


def _is_nowhere(node: exp.Column, given: Iterable[str], sources: Iterable[str]) -> bool:
    """Whether it is a name alone, or one of a source: others may be fields, which not all kinds of values declare."""
    *of, name = (part.name.lower() for part in node.parts)
    known = name in given or name in _ADDED_BY_SPARK or _ADDED_BY_SPARK.intersection(of)
    return not known and (not of or (len(of) == 1 and of[0] in sources))


def _nearest(name: str, given: Mapping[str, str]) -> str:
    found = get_close_matches(name.lower(), list(given), n=1)
    return f"; is it {given[found[0]]}?" if found else ""
