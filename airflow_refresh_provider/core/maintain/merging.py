"""USING and NATURAL JOIN: one column stands for those of both sides, and comes before the others in `*`.

Which side it is of depends on the join: see Spark's `ResolveNaturalAndUsingJoin`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from airflow_refresh_provider.core.maintain.scopes import Output, Scope, sources_of

HIDING = ("SEMI", "ANTI")
"""Joins of which only the left side has columns."""


def merge(scope: Scope, join: exp.Join, added: set[str]) -> list[tuple[exp.Expr, exp.Expr]]:
    """Give the joined rows their columns, in Spark's order; the pairs of columns that have to be equal."""
    left = [one for one in scope.output if not sources_of(one[1]) <= added]
    right = [one for one in scope.output if sources_of(one[1]) <= added]
    sides = [(_first(left, name), _first(right, name)) for name in _names(join, left, right)]
    pairs = [(one, other) for one, other in sides if one is not None and other is not None]
    hiding = join.kind.upper() in HIDING
    scope.merged |= {name for (name, _), _ in pairs}
    scope.output = [
        *(_merged(join, one, other) for one, other in pairs),
        *_without(left, [one for one, _ in pairs]),
        *([] if hiding else _without(right, [other for _, other in pairs])),
    ]
    if hiding:
        scope.concealed = [one for one in scope.concealed if not sources_of(one[1]) <= added]
    else:
        scope.concealed = [*_concealed(join, pairs), *scope.concealed]
    return [(one[1], other[1]) for one, other in pairs]


def _names(join: exp.Join, left: Iterable[Output], right: Iterable[Output]) -> list[str]:
    """The names in USING, or those that both sides of a NATURAL JOIN have, in the order of the left one."""
    if join.method.upper() == "NATURAL":
        names = {name for name, _ in right}
        return list(dict.fromkeys(name for name, _ in left if name in names))
    return [identifier.name.lower() for identifier in join.args.get("using") or ()]


def _first(side: Iterable[Output], name: str) -> Output | None:
    return next((one for one in side if one[0] == name), None)


def _merged(join: exp.Join, one: Output, other: Output) -> Output:
    if join.side.upper() == "FULL":
        return one[0], exp.Coalesce(this=one[1].copy(), expressions=[other[1].copy()])
    return other if join.side.upper() == "RIGHT" else one


def _without(side: Iterable[Output], left_out: Sequence[Output]) -> list[Output]:
    return [one for one in side if not any(one is other for other in left_out)]


def _concealed(join: exp.Join, pairs: Sequence[tuple[Output, Output]]) -> list[Output]:
    """The columns that the merged ones stand for, and are not."""
    left, right = [one for one, _ in pairs], [other for _, other in pairs]
    return {"FULL": [*left, *right], "RIGHT": left}.get(join.side.upper(), right)
