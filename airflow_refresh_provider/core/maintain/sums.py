"""Queries of counts, sums, averages, least and greatest values of groups, which follow from the changed rows alone.

Such a query is linear in an input that it reads once, in an inner join or on the preserved side of an outer one: its
result over the rows that came, less that over the rows that went, is what the groups change by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from airflow_refresh_provider.core.maintain import columns
from airflow_refresh_provider.core.maintain.blocks import Block
from airflow_refresh_provider.core.maintain.plan import Sums
from airflow_refresh_provider.core.maintain.queries import Reader
from airflow_refresh_provider.core.maintain.scopes import is_known
from airflow_refresh_provider.core.maintain.values import canonical
from airflow_refresh_provider.core.query.parse import Parsed
from airflow_refresh_provider.core.query.row_wise import is_of_one_row, other_functions

_CLAUSES = frozenset({"expressions", "from_", "joins", "where", "group"})
_SIDES = frozenset({"", "LEFT"})
_KINDS = frozenset({"", "INNER", "CROSS", "OUTER"})
_FUNCTIONS = frozenset(f"the aggregate function {name}" for name in ("count", "count_if", "sum", "avg", "min", "max"))


def sums(reader: Reader, keys: Iterable[str]) -> Sums | None:
    """How the result of a query is added up that was read; None where it is not."""
    tree, block = reader.parsed.tree, reader.top
    if not isinstance(tree, exp.Select) or block is None or not _is_plain(reader.parsed, tree, block):
        return None
    found = _Groups.of(tree, block)
    if found is None or not (found.rows and found.keys) or set(found.keys) != {key.lower() for key in keys}:
        return None
    inputs = tuple(_linear(block))
    averages = {name: _summed_by(argument, found) for name, argument in found.averages.items()}
    if not inputs or None in averages.values():
        return None
    return Sums(
        inputs=inputs,
        rows=found.rows[0],
        counts=(*found.rows[1:], *found.counts),
        sums={name: _counted_by(argument, found) for name, argument in found.sums.items()},
        averages={name: of for name, of in averages.items() if of},
        least=tuple(found.least),
        greatest=tuple(found.greatest),
        whole=tree.args.get("group") is None,
    )


@dataclass
class _Groups:
    """The columns of a grouped result by what they are. `counted`: what is counted -> the column with the number."""

    keys: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    counts: list[str] = field(default_factory=list)
    counted: dict[str, str] = field(default_factory=dict)
    sums: dict[str, exp.Expr] = field(default_factory=dict)
    averages: dict[str, exp.Expr] = field(default_factory=dict)
    least: list[str] = field(default_factory=list)
    greatest: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, select: exp.Select, block: Block) -> _Groups | None:
        """None where a column is something else, or where a key of the groups is not selected.

        Without GROUP BY there is one row, which is named by constants.
        """
        found, scope, whole = cls(), block.scope, select.args.get("group") is None
        grouped = {canonical(part) for part in columns.group_keys(select, scope)}
        selected: set[str] = set()
        for name, expression in columns.outputs(select, scope):
            node = expression.unnest()
            if not is_known(node):
                return None
            if canonical(node) in grouped:
                selected.add(canonical(node))
                found.keys.append(name)
            elif whole and isinstance(node, exp.Literal):
                found.keys.append(name)
            elif not found._aggregate(name, node):
                return None
        aggregates = (found.rows, found.counts, found.sums, found.averages, found.least, found.greatest)
        names = [*found.keys, *(name for names in aggregates for name in names)]
        return found if selected == grouped and len(names) == len(set(names)) else None

    def _aggregate(self, name: str, node: exp.Expr) -> bool:
        argument = node.this if isinstance(node, exp.AggFunc) else None
        if not isinstance(argument, exp.Expr) or node.args.get("expressions"):
            return False
        match node:
            case exp.Count() if isinstance(argument, exp.Star | exp.Literal):
                self.rows.append(name)
            case exp.Count():
                self.counts.append(name)
                self.counted[canonical(argument)] = name
            case exp.CountIf():
                self.counts.append(name)
            case exp.Sum():
                self.sums[name] = argument
            case exp.Avg():
                self.averages[name] = argument
            case exp.Min():
                self.least.append(name)
            case exp.Max():
                self.greatest.append(name)
            case _:
                return False
        return True


def _is_plain(parsed: Parsed, select: exp.Select, block: Block) -> bool:
    """Whether only whole inputs are joined and grouped, by expressions over one row of each."""
    group, joins = select.args.get("group"), select.args.get("joins") or ()
    given = {part for part, value in select.args.items() if value}
    return (
        given <= _CLAUSES
        and (group is None or {part for part, value in group.args.items() if value} <= {"expressions", "all"})
        and all(_is_input(source) for source in (select.args["from_"].this, *(join.this for join in joins)))
        and all(relation.leaf is not None for relation in block.scope.sources.values())
        and all(_is_plain_join(join) for join in joins)
        and all(is_of_one_row(node) for part in _expressions(select) for node in part.walk())
        and all(found.what in _FUNCTIONS for found in other_functions(parsed))
    )


def _is_input(source: exp.Expr) -> bool:
    given = {part for part, value in source.args.items() if value}
    alias = source.args.get("alias")
    return isinstance(source, exp.Table) and given <= {"this", "alias"} and not (alias and alias.args.get("columns"))


def _is_plain_join(join: exp.Join) -> bool:
    return not join.method and join.side.upper() in _SIDES and join.kind.upper() in _KINDS


def _expressions(select: exp.Select) -> Iterator[exp.Expr]:
    where, joins, group = select.args.get("where"), select.args.get("joins") or (), select.args.get("group")
    yield from select.expressions
    yield from group.expressions if group else ()
    yield from (part for part in (where, *(join.args.get("on") for join in joins)) if part is not None)


def _linear(block: Block) -> Iterator[str]:
    """The inputs that are read once, and of whose rows each one is joined for itself."""
    leaves = {alias: relation.leaf for alias, relation in block.scope.sources.items()}
    times = Counter(leaves.values())
    yield from (
        leaf
        for alias, leaf in leaves.items()
        if leaf is not None and times[leaf] == 1 and alias not in block.joined.nullable
    )


def _counted_by(argument: exp.Expr, found: _Groups) -> str | None:
    """The column that is 0 exactly where the sum is NULL; None where there is none."""
    if _has_value(argument.unnest()):
        return found.rows[0]
    return found.counted.get(canonical(argument))


def _summed_by(argument: exp.Expr, found: _Groups) -> str | None:
    """The sum of the same values, of which is known how many there are; None where there is none."""
    same = (name for name, summed in found.sums.items() if canonical(summed) == canonical(argument))
    return next((name for name in same if _counted_by(found.sums[name], found)), None)


def _has_value(node: exp.Expr) -> bool:
    """Whether an expression is never NULL: under ANSI rules it fails instead."""
    match node:
        case exp.Literal():
            return True
        case exp.Cast():  # the parser has TRY_CAST as a safe one
            return not node.args.get("safe") and _has_value(node.this.unnest())
        case exp.Coalesce():
            return any(_has_value(part.unnest()) for part in (node.this, *node.expressions))
        case exp.Add() | exp.Sub() | exp.Mul():
            return _has_value(node.left.unnest()) and _has_value(node.right.unnest())
        case exp.Case() | exp.If():
            return _has_branches(node)
    return False


def _has_branches(node: exp.Case | exp.If) -> bool:
    if isinstance(node, exp.If):
        branches: list[exp.Expr | None] = [node.args.get("true"), node.args.get("false")]
    else:
        branches = [node.args.get("default"), *(branch.args.get("true") for branch in node.args["ifs"])]
    return all(branch is not None and _has_value(branch.unnest()) for branch in branches)


def spelled(found: Sums | None, names: Mapping[str, str]) -> Sums | None:
    """With the inputs as the definition names them."""
    return found and found.model_copy(update={"inputs": tuple(names[name] for name in found.inputs)})
