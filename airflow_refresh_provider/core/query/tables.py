"""Which tables a query reads: only inputs, by their plain names, and each of them.

Names of WITH queries are not tables, but only where SQL lets them be seen: in the statement they stand before, and in
the WITH queries after them.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from airflow_refresh_provider.core.query.parse import Parsed, complaint, start_of
from airflow_refresh_provider.core.text.wording import suggestion
from airflow_refresh_provider.errors import Invalid

_ROW_GENERATORS = frozenset(
    {
        "range", "explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer", "stack",
        "json_tuple", "variant_explode", "variant_explode_outer",
    }
)  # fmt: skip


def tables_of(parsed: Parsed, input_names: Collection[str]) -> tuple[str, ...]:
    """The inputs read, as the definition spells them and in its order. Raises Invalid."""
    known = {name.lower(): name for name in input_names}
    used = {known[name] for table in parsed.tree.find_all(exp.Table) if (name := _input(parsed, table, known))}
    if unused := [name for name in input_names if name not in used]:
        raise Invalid(
            "unused_input",
            f"query: does not read the input {', '.join(unused)}",
            next="Remove it from inputs, or use it in the query.",
        )
    return tuple(name for name in input_names if name in used)


def _input(parsed: Parsed, table: exp.Table, known: dict[str, str]) -> str | None:
    """The input a table stands for in lower case, None for what reads no table. Raises Invalid."""
    if table.find_ancestor(exp.Hint) is not None:
        return None
    if not isinstance(table.this, exp.Identifier):
        _check_function(parsed, table)
        return None
    place = start_of(table)
    if table.args.get("db") is not None:
        raise complaint(
            parsed.text,
            place,
            f"reads {table.sql('spark', comments=False)} which is not an input and cannot be pinned",
            "Make it an input (name: {path: ...}) and read that name.",
            "unknown_table",
        )
    if table.args.get("version") is not None or table.args.get("when") is not None:
        raise complaint(
            parsed.text,
            place,
            f"asks for a version of {table.name}",
            "Leave it out: each run pins its inputs' versions.",
        )
    if _is_with_query(table):
        return None
    if table.name.lower() not in known:
        raise _unknown(parsed, table, place, known)
    return table.name.lower()


def _check_function(parsed: Parsed, table: exp.Table) -> None:
    place = start_of(table.this)
    name = parsed.text[place : int(table.this.meta.get("end", place - 1)) + 1].strip("`").lower()
    if name not in _ROW_GENERATORS:
        raise complaint(
            parsed.text,
            place,
            f"reads from {name or 'something'}(...), which is not an input",
            "Make what it reads an input (name: {path: ...}) and read that name.",
            "unknown_table",
        )


def _unknown(parsed: Parsed, table: exp.Table, place: int, known: dict[str, str]) -> Invalid:
    return complaint(
        parsed.text,
        place,
        f"unknown table {table.name}; the inputs are {', '.join(known.values())}."
        f"{suggestion(table.name, known.values())}",
        "Add it to inputs, or correct the name.",
        "unknown_table",
    )


def _is_with_query(table: exp.Table) -> bool:
    """Whether the name is that of a WITH query that can be seen from here."""
    below: exp.Expr | None = None  # the child of `node` that leads to the table
    node: exp.Expr | None = table
    while node is not None:
        if isinstance(node, exp.With):
            visible = _before(node, below)
        elif isinstance(with_ := node.args.get("with_"), exp.With) and with_ is not below:
            visible = with_.expressions
        else:
            visible = []
        if any(cte.alias.lower() == table.name.lower() for cte in visible):
            return True
        below, node = node, node.parent
    return False


def _before(with_: exp.With, cte: exp.Expr | None) -> list[exp.Expr]:
    """What one WITH query sees of its siblings: those before it, and itself if it is recursive."""
    index = next(i for i, sibling in enumerate(with_.expressions) if sibling is cte)
    return list(with_.expressions[: index + 1 if with_.args.get("recursive") else index])
