"""Advice to write NOT EXISTS instead of NOT IN: a row of the subquery then concerns only the rows that it is equal to.

The two differ where something compared is NULL, which the advice says. The text is cut and put together, never
generated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.maintain.advised import Advice, AdviceKind
from airflow_refresh_provider.core.maintain.analysis import lower_names, maintenance
from airflow_refresh_provider.core.maintain.plan import Maintenance
from airflow_refresh_provider.core.maintain.relations import InputColumns
from airflow_refresh_provider.core.query.parse import Parsed, parse
from airflow_refresh_provider.core.text.wording import listed

_INNER = frozenset({"expressions", "from_", "where", "distinct"})
"""The clauses of a subquery to whose WHERE a condition can be added."""


@dataclass(frozen=True)
class _Written:
    """A query with NOT EXISTS, and the two columns that are compared in it, as `alias.name`."""

    query: str
    compared: str
    found: str


def advised(definition: Definition, inputs: Mapping[str, Mapping[str, str]], found: Maintenance) -> Advice | None:
    """The first NOT IN without which more inputs are followed, None without one. Raises Invalid for no query."""
    for one in _written(parse(definition.query_text), lower_names(inputs)):
        lost = maintenance(one.query, inputs, definition.keys).unfollowed.keys()
        if lost < found.unfollowed.keys():
            return _advice(definition, one, [name for name in found.unfollowed if name not in lost])
    return None


def _advice(definition: Definition, one: _Written, won: list[str]) -> Advice:
    given = definition.model_dump(mode="json", exclude_unset=True) | {"query": one.query}
    return Advice(
        kind=AdviceKind.NOT_EXISTS,
        text=f"write {one.compared} NOT IN (...) as NOT EXISTS, the same as long as neither {one.compared} nor "
        f"{one.found} is NULL: changes of {listed(won)} are then followed",
        definitions=(Definition.build(**given),),
    )


def _written(parsed: Parsed, inputs: InputColumns) -> Iterator[_Written]:
    """The query with each NOT IN of a column as NOT EXISTS, one at a time."""
    for node in parsed.tree.find_all(exp.In):
        inner, around = node.args.get("query"), node.find_ancestor(exp.Select)
        query = inner.unnest() if inner is not None else None
        if not isinstance(node.parent, exp.Not) or not isinstance(query, exp.Select) or around is None:
            continue
        compared, found = _qualified(node.this, around, inputs), _selected(query, inputs)
        if compared and found and compared.partition(".")[0] not in _sources(query, inputs):
            text = _rewritten(parsed, node, query, f"{found} = {compared}")
            if text:
                yield _Written(text, compared, found)


def _selected(query: exp.Select, inputs: InputColumns) -> str | None:
    """The one column that a simple subquery gives."""
    given = {part for part, value in query.args.items() if value}
    if not given <= _INNER or len(query.expressions) != 1:
        return None
    return _qualified(query.expressions[0].unalias(), query, inputs)


def _qualified(node: exp.Expr, select: exp.Select, inputs: InputColumns) -> str | None:
    """A column with the alias of the input that it is of; None where that is not known."""
    if not isinstance(node, exp.Column) or len(node.parts) > 2:
        return None
    sources = _sources(select, inputs)
    having = [alias for alias, columns in sources.items() if node.name.lower() in columns]
    of = [alias for alias in having if node.table.lower() in ("", alias)]
    return f"{of[0]}.{node.name}" if len(of) == 1 else None


def _sources(select: exp.Select, inputs: InputColumns) -> dict[str, Mapping[str, str]]:
    """The columns of the inputs that FROM and JOIN name, by alias in lower case."""
    clause = select.args.get("from_")
    named = [*([clause.this] if clause else []), *(join.this for join in select.args.get("joins") or ())]
    tables = [node for node in named if isinstance(node, exp.Table)]
    return {(t.alias or t.name).lower(): inputs.get(t.name.lower(), {}) for t in tables}


def _rewritten(parsed: Parsed, node: exp.In, query: exp.Select, same: str) -> str | None:
    """The text with `x NOT IN (SELECT y FROM t WHERE c)` as `NOT EXISTS (SELECT 1 FROM t WHERE (c) AND y = x)`."""
    starts = [int(part.meta["start"]) for part in node.this.parts]
    ends = int(node.this.parts[-1].meta["end"])
    after = [token for token in parsed.tokens if token.start > ends]
    if [token.text.upper() for token in after[:4]] != ["NOT", "IN", "(", "SELECT"]:
        return None
    closing = _closing([(token.text, int(token.start)) for token in after[2:]])
    from_ = next(int(token.start) for token in after if token.text.upper() == "FROM")
    rows = parsed.text[from_:closing].rstrip()
    if query.args.get("where"):
        where = next(int(t.start) for t in after if t.text.upper() == "WHERE" and t.start > from_) - from_
        rows = f"{rows[:where]}WHERE ({rows[where + len('WHERE') :].strip()}) AND {same}"
    else:
        rows = f"{rows} WHERE {same}"
    return f"{parsed.text[: min(starts)]}NOT EXISTS (SELECT 1 {rows}){parsed.text[closing + 1 :]}"


def _closing(tokens: list[tuple[str, int]]) -> int:
    """Where the parenthesis closes that the first token opens."""
    depth = 0
    for text, start in tokens:
        depth += (text == "(") - (text == ")")
        if depth == 0:
            return start
    raise ValueError("a parenthesis is not closed")
