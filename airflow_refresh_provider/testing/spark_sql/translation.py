"""A query in Spark's SQL as one for DuckDB that gives the same rows and types.

Only what is known to mean the same in both is translated; everything else is refused. Every expression is typed as
Spark types it, and cast to that type wherever DuckDB would give it another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify

from airflow_refresh_provider.core.definition.columns import Column, Columns
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.testing.spark_sql.aggregates import AGGREGATES
from airflow_refresh_provider.testing.spark_sql.casts import CASTS, converted
from airflow_refresh_provider.testing.spark_sql.expressions import Scope, Types, shown, translated
from airflow_refresh_provider.testing.spark_sql.functions import FUNCTIONS
from airflow_refresh_provider.testing.spark_sql.operators import OPERATORS
from airflow_refresh_provider.testing.spark_sql.types import common, unsupported

Inputs = tuple[tuple[str, Columns], ...]

_CLAUSES = frozenset(
    {
        "expressions", "from_", "joins", "where", "group", "having", "distinct", "order", "limit", "offset", "windows",
        "with_", "hint",
    }
)  # fmt: skip
_HANDLERS = CASTS | OPERATORS | FUNCTIONS | AGGREGATES
_SET_CLAUSES = frozenset({"this", "expression", "distinct", "with_"})
_JOIN_PARTS = frozenset({"this", "on", "side", "kind"})
_JOINS = frozenset({"", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "SEMI", "ANTI"})


@dataclass(frozen=True)
class Translation:
    """A query for DuckDB, with the columns of its result. Tables and columns are named in lower case."""

    sql: str
    columns: Columns


@lru_cache(maxsize=1024)
def translate(query: str, inputs: Inputs) -> Translation:
    """Translate a query over inputs of these columns. Raises Invalid for what is wrong or not supported."""
    schema: dict[str, object] = {name: {c.name: "string" for c in columns} for name, columns in inputs}
    try:
        written = parse_one(query, read="spark")
        names = _names_as_written(written)
        aliases = {a.alias.lower(): a.alias for a in written.find_all(exp.Alias)}
        tree = qualify(written, dialect="spark", schema=schema)
    except SqlglotError as error:
        raise _wrong(str(error).splitlines()[0]) from error
    tables = {name.lower(): {c.name.lower(): c.type for c in columns} for name, columns in inputs}
    types = _Translator().query(tree, tables, None)
    spelled = {c.name.lower(): c.name for _, columns in inputs for c in columns} | aliases | names
    if unnamed := [name for name in types if name.startswith("_col_")]:
        raise unsupported(f"columns without a name ({len(unnamed)} of the result): give each one with AS")
    columns = tuple(Column(name=spelled.get(n, n), type=kind) for n, kind in types.items())
    return Translation(tree.sql("duckdb", comments=False), columns)


class _Translator:
    """Translates the parts of one query in place. `tables` are those that can be seen, WITH queries among them."""

    def query(self, node: exp.Expr, tables: Mapping[str, Types], outer: Scope | None) -> Types:
        """Translate a query; its columns and their types."""
        seen = {**tables, **self._with(node, tables, outer)}
        match node:
            case exp.Select():
                return self._select(node, seen, outer)
            case exp.SetOperation():
                return self._set_operation(node, seen, outer)
            case exp.Subquery() if not _extra(node, {"this", "alias"}):
                return self.query(node.this, seen, outer)
            case _:
                raise unsupported(shown(node))

    def _with(self, node: exp.Expr, tables: Mapping[str, Types], outer: Scope | None) -> dict[str, Types]:
        found: dict[str, Types] = {}
        with_ = node.args.get("with_")
        if with_ is not None and with_.args.get("recursive"):
            raise unsupported("WITH RECURSIVE")
        for cte in with_.expressions if with_ is not None else ():
            found[cte.alias] = self.query(cte.this, {**tables, **found}, outer)
        return found

    def _select(self, node: exp.Select, tables: Mapping[str, Types], outer: Scope | None) -> Types:
        if extra := _extra(node, _CLAUSES):
            raise unsupported(extra)
        node.set("hint", None)
        scope = Scope(_HANDLERS, lambda inner, at: self.query(inner, tables, at), outer)
        from_ = node.args.get("from_")
        if from_ is not None:
            self._source(from_.this, scope, tables)
        for join in node.args.get("joins") or ():
            self._join(join, scope, tables)
        outputs: Types = {}
        for projection in node.expressions:
            if projection.alias_or_name in outputs:
                raise _wrong(f"more than one column of a SELECT is named {projection.alias_or_name}")
            outputs[projection.alias_or_name] = translated(projection, scope)
        for part in ("where", "having"):
            if node.args.get(part) is not None:
                translated(node.args[part].this, scope)
        self._grouped(node, scope)
        self._ordered(node, scope, outputs)
        return outputs

    def _grouped(self, node: exp.Select, scope: Scope) -> None:
        group = node.args.get("group")
        if group is not None:
            if extra := _extra(group, {"expressions"}):
                raise unsupported(f"GROUP BY {extra}")
            for key in list(group.expressions):
                translated(key, scope)
        distinct = node.args.get("distinct")
        if distinct is not None and distinct.args.get("on"):
            raise unsupported("DISTINCT ON")
        for window in node.args.get("windows") or ():
            translated(window, scope)

    def _ordered(self, node: exp.Select, scope: Scope, outputs: Types) -> None:
        inside = replace(scope, outputs=outputs)
        for key in list(node.args["order"].expressions) if node.args.get("order") else ():
            translated(key, inside)
        for part in ("limit", "offset"):
            if node.args.get(part) is not None and not isinstance(node.args[part].expression, exp.Literal):
                raise unsupported(shown(node.args[part]))

    def _source(self, node: exp.Expr, scope: Scope, tables: Mapping[str, Types]) -> None:
        match node:
            case exp.Table(this=exp.Identifier()) if not _extra(node, {"this", "alias"}):
                scope.sources[node.alias_or_name] = tables[node.name]
            case exp.Subquery() if not _extra(node, {"this", "alias"}):
                scope.sources[node.alias_or_name] = self.query(node, tables, scope.outer)
            case _:
                raise unsupported(shown(node))

    def _join(self, node: exp.Join, scope: Scope, tables: Mapping[str, Types]) -> None:
        if extra := _extra(node, _JOIN_PARTS):
            raise unsupported(f"a join with {extra}")
        if not {node.side, node.kind} - {"OUTER"} <= _JOINS:
            raise unsupported(f"{node.side} {node.kind} JOIN")
        if node.kind in ("SEMI", "ANTI"):
            node.set("side", None)  # always a left one; DuckDB has no word for that
        self._source(node.this, scope, tables)
        if node.args.get("on") is not None:
            translated(node.args["on"], scope)

    def _set_operation(self, node: exp.SetOperation, tables: Mapping[str, Types], outer: Scope | None) -> Types:
        if extra := _extra(node, _SET_CLAUSES):
            raise unsupported(f"{node.key.upper()} with {extra}")
        left = self.query(node.left, tables, outer)
        right = self.query(node.right, tables, outer)
        if len(left) != len(right):
            raise _wrong(f"the sides of {node.key.upper()} have {len(left)} and {len(right)} columns")
        kinds = [common(*pair) for pair in zip(left.values(), right.values(), strict=True)]
        for side, types in (("this", left), ("expression", right)):
            if list(types.values()) != kinds:
                node.set(side, _widened(node.args[side], types, kinds))
        return dict(zip(left, kinds, strict=True))


def _widened(side: exp.Expr, types: Types, kinds: list[str]) -> exp.Select:
    """A side of a set operation with its columns cast."""
    inner = side if isinstance(side, exp.Subquery) else exp.Subquery(this=side)
    inner.set("alias", exp.TableAlias(this=exp.to_identifier("side", quoted=True)))
    columns = [
        exp.alias_(converted(exp.column(name, quoted=True), was, kind), name, quoted=True)
        for (name, was), kind in zip(types.items(), kinds, strict=True)
    ]
    return exp.select(*columns).from_(inner)


def _extra(node: exp.Expr, known: frozenset[str] | set[str]) -> str | None:
    """A part of a node that is not among the known ones, as a word."""
    given = (name for name, value in node.args.items() if value and name not in known)
    return next((name.strip("_").replace("_", " ").upper() for name in given), None)


def _names_as_written(tree: exp.Expr) -> dict[str, str]:
    """How the query itself spells the columns of its result, by their names in lower case."""
    selects = tree.selects if isinstance(tree, exp.Query) else []
    return {s.alias_or_name.lower(): s.alias_or_name for s in selects if not s.is_star}


def _wrong(reason: str) -> Invalid:
    return Invalid("query_invalid", f"the query is refused: {reason}", next="Correct the query.")
