"""Advice to add a column to the SELECT: one by which the rows can be found that a change affects.

The rows stay the same with a column more only where they are grouped by it already, or not grouped at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.maintain import columns
from airflow_refresh_provider.core.maintain.advised import Advice, AdviceKind
from airflow_refresh_provider.core.maintain.analysis import lower_names, maintenance
from airflow_refresh_provider.core.maintain.blocks import Block
from airflow_refresh_provider.core.maintain.plan import Maintenance
from airflow_refresh_provider.core.maintain.queries import Reader
from airflow_refresh_provider.core.maintain.values import canonical, column
from airflow_refresh_provider.core.query.outputs import end_of_outputs
from airflow_refresh_provider.core.query.parse import parse
from airflow_refresh_provider.core.text.wording import listed

_MOST = 8
"""How many columns are tried."""
_QUOTED = re.compile(r"`([A-Za-z_][A-Za-z0-9_]*)`")

InputTypes = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class _Added:
    """A query with a column more: as it is written, its name, and the inputs that are not followed then."""

    query: str
    written: str
    name: str
    unfollowed: frozenset[str]


def advised(definition: Definition, inputs: InputTypes, found: Maintenance) -> Advice | None:
    """The column with which the most inputs are followed; None where none helps. Raises Invalid for no query."""
    parsed = parse(definition.query_text)
    reader, select = Reader(parsed, lower_names(inputs)), parsed.tree
    reader.relation(select, {})
    block = reader.top
    if block is None or not isinstance(select, exp.Select) or not _may_get_a_column(select):
        return None
    tried = [one for one in _tried(definition, inputs, select, block) if one.unfollowed < found.unfollowed.keys()]
    best = min(tried, key=lambda one: len(one.unfollowed), default=None)
    return _advice(definition, found, best, grouped=bool(select.args.get("group"))) if best else None


def _may_get_a_column(select: exp.Select) -> bool:
    group = select.args.get("group")
    return not select.args.get("distinct") and not (group and group.args.get("all"))


def _tried(definition: Definition, inputs: InputTypes, select: exp.Select, block: Block) -> Iterator[_Added]:
    parsed = parse(definition.query_text)
    end = end_of_outputs(parsed.tokens)
    if end is None:
        return
    names = [name for name, _ in columns.outputs(select, block.scope)]
    for expression in _candidates(select, block)[:_MOST]:
        written, name = _written(expression), _name(expression, names)
        added = written if written.rpartition(".")[2] == name else f"{written} AS {name}"
        query = f"{parsed.text[:end]}, {added}{parsed.text[end:]}"
        lost = frozenset(maintenance(query, inputs, definition.keys).unfollowed)
        yield _Added(query, written, name, lost)


def _candidates(select: exp.Select, block: Block) -> list[exp.Expr]:
    """What has a value in all rows that a change affects, of as many inputs as possible first."""
    knowns = [columns.limited(select, block.scope, known) for known in block.known.values()]
    grouped = columns.group_keys(select, block.scope)
    possible = grouped or [*_visible(block), *block.joined.merged_values()]
    counted = {part: sum(canonical(part) in known for known in knowns) for part in possible}
    return sorted((part for part, count in counted.items() if count), key=lambda part: -counted[part])


def _visible(block: Block) -> Iterator[exp.Expr]:
    for alias, relation in block.scope.visible.items():
        yield from (column(alias, name) for name in relation.types)


def _written(expression: exp.Expr) -> str:
    return _QUOTED.sub(r"\1", expression.sql("spark"))


def _name(expression: exp.Expr, taken: list[str]) -> str:
    """A name for the column that no other one has."""
    first = expression if isinstance(expression, exp.Column) else expression.find(exp.Column)
    name, alias = (first.name, first.table) if first is not None else ("added", "")
    options = (name, f"{alias}_{name}", *(f"{name}_{number}" for number in range(2, len(taken) + 3)))
    return next(option for option in options if option not in taken)


def _advice(definition: Definition, found: Maintenance, added: _Added, *, grouped: bool) -> Advice:
    keys = " and, where it is never NULL, to the keys" if grouped else ""
    won = [name for name in found.unfollowed if name not in added.unfollowed]
    given = definition.model_dump(mode="json", exclude_unset=True) | {"query": added.query}
    if grouped:
        given["keys"] = [*definition.keys, added.name]
    return Advice(
        kind=AdviceKind.ADD_COLUMN,
        text=f"add {added.written} to the SELECT{keys}: changes of {listed(won)} are then followed",
        definitions=(Definition.build(**given),),
    )
