"""The columns of tables of which only a query is known."""

from __future__ import annotations

from sqlglot import exp

from airflow_refresh_provider.core.maintain.assumed import assumed_columns

_DAY_LIKE = (
    exp.Year, exp.Month, exp.Day, exp.Quarter, exp.DateTrunc, exp.TimestampTrunc, exp.DateAdd, exp.DateSub,
    exp.TsOrDsAdd,
)  # fmt: skip
_TEXT_LIKE = (exp.Like, exp.ILike, exp.Upper, exp.Lower, exp.Trim, exp.Substring, exp.Concat, exp.DPipe)


def guessed(query: str, tree: exp.Expr, inputs: tuple[str, ...]) -> dict[str, dict[str, str]]:
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
