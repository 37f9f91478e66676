"""Columns, arithmetic, comparisons, conditions and subqueries."""

from __future__ import annotations

from sqlglot import exp

from airflow_refresh_provider.testing.spark_sql.casts import convert, converted, literal_time
from airflow_refresh_provider.testing.spark_sql.expressions import (
    Handler,
    Scope,
    cast,
    operand,
    shown,
    translated,
    unless,
)
from airflow_refresh_provider.testing.spark_sql.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGERS,
    STRING,
    TIMES,
    VOID,
    as_decimal,
    common,
    decimal,
    decimal_of,
    is_number,
    unsupported,
)

_DAYS = frozenset({"DAY", "WEEK", "MONTH", "YEAR"})
_UNITS = _DAYS | {"HOUR", "MINUTE", "SECOND"}
_ZERO = "DIVIDE_BY_ZERO: division by zero"


def _column(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    assert isinstance(node, exp.Column)
    return node, scope.column(node)


def _passed(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    """An alias, parentheses: of the type of what is inside."""
    kind = operand(node, "this", scope)
    if kind == VOID and isinstance(node, exp.Alias):
        raise unsupported(f"a column of nothing but NULL, {node.alias}: cast it")
    return node, kind


def _arithmetic(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    if isinstance(node.expression, exp.Interval):
        return _moved(node, scope)
    what = shown(node)
    literals = [_literal_digits(node.args[part]) for part in ("this", "expression")]
    kinds = [operand(node, part, scope) for part in ("this", "expression")]
    if kinds[0] == DATE and kinds[1] in INTEGERS[:3] and isinstance(node, exp.Add | exp.Sub):
        return cast(node, DATE), DATE
    if not all(map(is_number, kinds)):
        raise unsupported(f"{what} of {kinds[0]} and {kinds[1]}")
    if any(map(decimal_of, kinds)) and DOUBLE not in kinds:
        sides = [lit or as_decimal(kind) for lit, kind in zip(literals, kinds, strict=True)]
        return _of_decimals(node, kinds, [side for side in sides if side])
    kind = common(*kinds)
    for part, was in zip(("this", "expression"), kinds, strict=True):
        convert(node.args[part], was, kind)
    return cast(node, kind), kind


def _of_decimals(node: exp.Expr, kinds: list[str], sides: list[tuple[int, int]]) -> tuple[exp.Expr, str]:
    """Plus, minus, times of decimals, with the digits that Spark gives the result."""
    (p1, s1), (p2, s2) = sides
    for part, was, side in zip(("this", "expression"), kinds, sides, strict=True):
        convert(node.args[part], was, decimal(*side))
    if isinstance(node, exp.Mul):
        kind = decimal(p1 + p2 + 1, s1 + s2)
    else:
        scale = max(s1, s2)
        kind = decimal(max(p1 - s1, p2 - s2) + scale + 1, scale)
    return cast(node, kind), kind


def _literal_digits(node: exp.Expr) -> tuple[int, int] | None:
    """Beside a decimal, an integer literal is a decimal of just its digits."""
    return (len(str(int(node.name))), 0) if isinstance(node, exp.Literal) and node.is_int else None


def _moved(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    """A date or timestamp plus or minus an interval."""
    interval = node.expression
    what = shown(node)
    unit, amount = interval.text("unit").upper().removesuffix("S"), interval.this
    kind = operand(node, "this", scope)
    units = _DAYS if kind == DATE else _UNITS if kind in TIMES else frozenset()
    if unit not in units or not isinstance(amount, exp.Literal) or not amount.name.lstrip("-").isdigit():
        raise unsupported(f"{what} of {kind}")
    return cast(node, kind), kind


def _divided(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    what = shown(node)
    kinds = [operand(node, part, scope) for part in ("this", "expression")]
    if not all(map(is_number, kinds)) or (any(map(decimal_of, kinds)) and DOUBLE not in kinds):
        raise unsupported(f"{what} of {kinds[0]} and {kinds[1]}: cast one of them to double")
    above, below = (
        converted(node.args[part], was, DOUBLE) for part, was in zip(("this", "expression"), kinds, strict=True)
    )
    return _checked(exp.Div(this=above, expression=below), below), DOUBLE


def _whole(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    """DIV and the remainder, of integers."""
    what = shown(node)
    kinds = [operand(node, part, scope) for part in ("this", "expression")]
    if not set(kinds) <= set(INTEGERS):
        raise unsupported(f"{what} of {kinds[0]} and {kinds[1]}")
    kind = BIGINT if isinstance(node, exp.IntDiv) else common(*kinds)
    for part in ("this", "expression"):
        node.set(part, cast(node.args[part], kind))
    return _checked(cast(node, kind), node.expression), kind


def _checked(result: exp.Expr, divisor: exp.Expr) -> exp.Expr:
    return unless(exp.EQ(this=divisor.copy(), expression=exp.Literal.number(0)), _ZERO, exp.Paren(this=result))


def _comparison(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    _compared(node, ["this", "expression"], scope)
    return node, BOOLEAN


def _between(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    if node.args.get("symmetric"):
        raise unsupported(shown(node))
    _compared(node, ["this", "low", "high"], scope)
    return node, BOOLEAN


def _compared(node: exp.Expr, parts: list[str], scope: Scope) -> None:
    """Translate operands of one comparison and bring them to one type."""
    same_type([node.args[part] for part in parts], scope, literals=True)


def same_type(nodes: list[exp.Expr], scope: Scope, *, literals: bool = False) -> str:
    """Translate values and cast them to their common type. With `literals`, text literals may stand for dates."""
    parents = [(n.parent, n.arg_key, n.index) for n in nodes]
    texts = [n.copy() if isinstance(n, exp.Literal) and n.is_string else None for n in nodes]
    kinds = [translated(n, scope) for n in nodes]
    times = {kind for kind in kinds if kind in (DATE, *TIMES)}
    kind = common(*(k for k, t in zip(kinds, texts, strict=True) if not (times and literals and t is not None)))
    for (parent, key, index), was, written in zip(parents, kinds, texts, strict=True):
        assert parent is not None and key is not None
        now = parent.args[key] if index is None else parent.args[key][index]
        if was == STRING and kind != STRING:
            moment = literal_time(written, kind) if written is not None else None
            if moment is None:
                raise unsupported(f"{shown(now)} beside {kind}")
            parent.set(key, moment, index)
        else:
            parent.set(key, converted(now.copy(), was, kind), index)
    return kind


def _logic(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    what = shown(node)
    for part in ("this", "expression"):
        if part in node.args and operand(node, part, scope) not in (BOOLEAN, VOID):
            raise unsupported(f"{what} of what is not boolean")
    return node, BOOLEAN


def _is(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    operand(node, "this", scope)
    if not isinstance(node.expression, exp.Null | exp.Boolean):
        raise unsupported(shown(node))
    return node, BOOLEAN


def _in(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    query = node.args.get("query")
    if query is None:
        same_type([node.this, *node.expressions], scope, literals=True)
        return node, BOOLEAN
    kinds = {operand(node, "this", scope), *scope.subquery(query, scope).values()}
    if len(kinds) > 1 and not kinds <= set(INTEGERS):
        raise unsupported(f"IN with {' and '.join(sorted(kinds))}")
    return node, BOOLEAN


def _exists(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    scope.subquery(node.this, scope)
    return node, BOOLEAN


def _subquery(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    columns = scope.subquery(node, scope)
    if len(columns) != 1:
        raise unsupported(f"a subquery of {len(columns)} columns as a value")
    return node, next(iter(columns.values()))


def _like(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    pattern = node.expression
    if not (isinstance(pattern, exp.Literal) and pattern.is_string) or "\\" in pattern.name:
        raise unsupported(f"{shown(node)}: a pattern must be a literal without a backslash")
    if operand(node, "this", scope) != STRING:
        raise unsupported(shown(node))
    return node, BOOLEAN


def _case(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    branches = node.args["ifs"]
    if node.args.get("this") is not None:
        same_type([node.this, *(branch.this for branch in branches)], scope, literals=True)
    else:
        for branch in branches:
            translated(branch.this, scope)
    results = [branch.args["true"] for branch in branches]
    default = node.args.get("default")
    return node, same_type([*results, *([default] if default is not None else [])], scope)


def _if(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, str]:
    operand(node, "this", scope)
    if node.args.get("false") is None:
        raise unsupported(shown(node))
    kind = same_type([node.args["true"], node.args["false"]], scope)
    return exp.Case(ifs=[exp.If(this=node.this, true=node.args["true"])], default=node.args["false"]), kind


OPERATORS: dict[type[exp.Expr], Handler] = {
    exp.Column: _column,
    exp.Alias: _passed,
    exp.Paren: _passed,
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul), _arithmetic),
    exp.Div: _divided,
    **dict.fromkeys((exp.IntDiv, exp.Mod), _whole),
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ), _comparison),
    exp.Between: _between,
    **dict.fromkeys((exp.And, exp.Or, exp.Not), _logic),
    exp.Is: _is,
    exp.In: _in,
    exp.Exists: _exists,
    exp.Subquery: _subquery,
    exp.Like: _like,
    exp.Case: _case,
    exp.If: _if,
}
