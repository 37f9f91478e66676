"""Queries: SELECTs, set operations and WITH queries, from the inputs up to the columns of the result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from airflow_refresh_provider.core.maintain import columns, nested_joins, subqueries, temporal, used
from airflow_refresh_provider.core.maintain.blocks import Block
from airflow_refresh_provider.core.maintain.joins import Joined, add_join, of_where
from airflow_refresh_provider.core.maintain.relations import InputColumns, Occurrence, Relation
from airflow_refresh_provider.core.maintain.scopes import Scope
from airflow_refresh_provider.core.maintain.values import CHANGED, Value, column
from airflow_refresh_provider.core.query.facts import Obstacle
from airflow_refresh_provider.core.query.parse import Parsed, start_of
from airflow_refresh_provider.core.query.row_wise import obstacle_at

_KNOWN_CLAUSES = frozenset({
    "expressions", "from_", "joins", "where", "group", "having", "qualify", "windows", "with_", "distinct", "order",
    "laterals", "hint", "sort",
})  # fmt: skip
_ENDING = {"limit": "LIMIT", "offset": "OFFSET", "pivots": "PIVOT", "cluster": "CLUSTER BY"}

_With = Mapping[str, tuple[exp.CTE, "_With"]]


@dataclass
class Reader:
    """Reads a query; collects every occurrence of an input, every temporal filter, and columns that nothing has.

    `incomparable`: input -> a comparison of values of two types, as text.
    """

    parsed: Parsed
    inputs: InputColumns
    occurrences: list[Occurrence] = field(default_factory=list)
    missing: list[exp.Column] = field(default_factory=list)
    incomparable: dict[str, str] = field(default_factory=dict)
    temporal: list[temporal.Found] = field(default_factory=list)
    top: Block | None = None
    """The rows of FROM and WHERE of the query itself, once it is read; None where it is not one SELECT."""

    def relation(self, query: exp.Expr, with_: _With, outer: Scope | None = None) -> Relation:
        """What a query gives."""
        query = query.unnest() if isinstance(query, exp.Subquery) and not query.args.get("with_") else query
        with_ = self._with(query, with_)
        if isinstance(query, exp.SetOperation):
            return self._set_operation(query, with_, outer)
        if isinstance(query, exp.Subquery):
            return self.relation(query.this, with_, outer)
        if isinstance(query, exp.Select):
            return self.select(query, with_, outer)[1]
        return Relation({}, {})

    def select(self, select: exp.Select, with_: _With, outer: Scope | None) -> tuple[Block, Relation]:
        """The rows of FROM and WHERE of a SELECT, and its result."""
        block = self._rows(select, with_, outer)
        self.top = block if select is self.parsed.tree else self.top
        block.scope.aliases |= columns.aliases(select, block.scope)
        self.missing += used.record(select, block.scope)
        block.follow(subqueries.started(self, select, block.scope, with_))
        self.incomparable = block.incomparable() | self.incomparable
        result = columns.result(self, select, block)
        for clause in sorted(name for name, value in select.args.items() if value and name not in _KNOWN_CLAUSES):
            result = result.without_routes(self.at(select.args[clause], _ENDING.get(clause, clause.upper())))
        return block, result

    def at(self, node: object, what: str) -> Obstacle:
        """A construct at its place."""
        part = node[0] if isinstance(node, list) else node
        return obstacle_at(self.parsed, start_of(part) if isinstance(part, exp.Expr) else 0, what)

    def _rows(self, select: exp.Select, with_: _With, outer: Scope | None) -> Block:
        scope, joined = Scope(outer), Joined()
        from_ = select.args.get("from_")
        if from_ is not None:
            self._add(scope, from_.this, with_)
            self._join_all(scope, joined, select.args.get("joins") or (), with_)
        for lateral in select.args.get("laterals") or ():
            names = [name.name.lower() for name in lateral.args["alias"].args.get("columns") or ()]
            scope.add(lateral.alias.lower() or f"lateral{id(lateral)}", Relation(dict.fromkeys(names), {}))
        where = select.args.get("where")
        joined.edges += of_where(scope, where.this if where else None)
        self.temporal += temporal.filters(select, scope, joined)
        return Block(scope, joined)

    def _join_all(self, scope: Scope, joined: Joined, joins: Iterable[exp.Join], with_: _With) -> None:
        for join in joins:
            before = set(scope.sources)
            added = self._add(scope, join.this, with_)
            if join.method.upper() not in ("", "NATURAL"):
                what = self.at(join, f"{join.method} JOIN")
                scope.sources.update({alias: scope.sources[alias].without_routes(what) for alias in added})
            elif join.method and any(map(columns.has_unnamed, scope.sources.values())):
                what = self.at(join, "NATURAL JOIN of columns without a name")
                scope.sources.update({alias: source.without_routes(what) for alias, source in scope.sources.items()})
            add_join(joined, scope, join, added, before)

    def _add(self, scope: Scope, source: exp.Expr, with_: _With) -> set[str]:
        """A source of a FROM clause, or several in parentheses; their aliases."""
        if nested_joins.is_nested(source):
            return self._add_nested(scope, source, with_)
        alias, relation = self._one(scope, source, with_)
        scope.add(alias, relation)
        return {alias}

    def _add_nested(self, scope: Scope, source: exp.Expr, with_: _With) -> set[str]:
        """Sources that are joined first. After an outer join they are there together, or NULL together."""
        inner, joined = Scope(scope.outer), Joined()
        if nested_joins.holds_sources(source):
            self._add(inner, source.this, with_)
        else:
            inner.add(*self._one(inner, source, with_))
        self._join_all(inner, joined, source.args.get("joins") or (), with_)
        block = Block(inner, joined)
        block.follow({})
        if alias := nested_joins.alias_of(source):
            scope.add(alias, nested_joins.as_one(block))
            return {alias}
        scope.hidden |= inner.hidden
        scope.merged |= inner.merged
        scope.add_all(inner, block.relations())
        return set(inner.sources)

    def _one(self, scope: Scope, source: exp.Expr, with_: _With) -> tuple[str, Relation]:
        """One table or query, with its alias."""
        relation = self._source(source, with_)
        alias = source.args.get("alias")
        if names := [name.name.lower() for name in alias.args.get("columns") or ()] if alias else []:
            for occurrence in relation.routes:
                occurrence.used = None
            relation = relation.renamed(tuple(names))
        for part, what in (("pivots", "PIVOT"), ("sample", "TABLESAMPLE")):
            if source.args.get(part):
                relation = relation.without_routes(self.at(source, what))
        return (source.alias_or_name or f"source{len(scope.sources)}").lower(), relation

    def _source(self, source: exp.Expr, with_: _With) -> Relation:
        if isinstance(source, exp.Subquery):
            return self.relation(source.this, with_)
        if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
            return Relation({}, {})
        name = source.name.lower()
        if name in with_:
            cte, sees = with_[name]
            found = self.relation(cte.this, sees)
            if isinstance(cte.parent, exp.With) and cte.parent.args.get("recursive"):
                found = found.without_routes(self.at(cte, "WITH RECURSIVE"))
            names = tuple(c.name.lower() for c in cte.args["alias"].args.get("columns") or ())
            return found.renamed(names) if names else found
        return self._input(source, name) if name in self.inputs else Relation({}, {})  # of a recursive query

    def _input(self, table: exp.Table, name: str) -> Relation:
        occurrence = Occurrence(table, name)
        self.occurrences.append(occurrence)
        types = self.inputs[name]
        return Relation(dict(types), {occurrence: {c: Value(column(CHANGED, c)) for c in types}}, leaf=name)

    def _with(self, query: exp.Expr, with_: _With) -> _With:
        clause = query.args.get("with_")
        for cte in clause.expressions if clause else ():
            with_ = {**with_, cte.alias.lower(): (cte, with_)}
        return with_

    def _set_operation(self, query: exp.SetOperation, with_: _With, outer: Scope | None) -> Relation:
        """A row of a branch affects rows that are equal to it in every column: those at the same positions."""
        left, right = (self.relation(side, with_, outer) for side in (query.left, query.right))
        right = right.renamed(left.names)
        types = {name: type_ if right.types.get(name) == type_ else None for name, type_ in left.types.items()}
        result = Relation(types, {**left.routes, **right.routes})
        for clause in ("by_name", "limit", "offset"):
            if query.args.get(clause):
                result = result.without_routes(self.at(query.args[clause], clause.upper().replace("_", " ")))
        return result
