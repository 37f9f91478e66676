"""The sources of every SELECT of a query and the names of their columns, as far as the text gives them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from airflow_refresh_provider.core.maintain import nested_joins
from airflow_refresh_provider.core.maintain.merging import HIDING
from airflow_refresh_provider.core.maintain.scopes import inside_subquery

_With = Mapping[str, tuple[exp.CTE, "_With"]]


@dataclass(eq=False)
class Source:
    """Something with columns. `names` are those that it has, `stars` are sources all of whose columns it has.

    An `input` may have more than are known.
    """

    names: dict[str, None] = field(default_factory=dict)
    stars: list[Source] = field(default_factory=list)
    input: bool = False

    def has(self, name: str) -> bool:
        """Whether it certainly has a column."""
        return name in self.names or any(source.has(name) for source in self.stars)

    @property
    def is_open(self) -> bool:
        """Whether it may have other columns than are known."""
        return self.input or any(source.is_open for source in self.stars)

    def take(self, name: str) -> bool:
        """Take it as known that there is a column. False where it is not known of which input it is."""
        if self.has(name):
            return True
        if self.input:
            self.names[name] = None
            return True
        several = [source for source in self.stars if source.is_open]
        return len(several) == 1 and several[0].take(name)


@dataclass(eq=False)
class Names:
    """A SELECT: its sources by alias in lower case, and the columns in it.

    `hidden` are the sources of semi and anti joins, which only ON sees. `merged` are the names in USING, for either
    side with the sources of which one has the column.
    """

    outer: Names | None
    sources: dict[str, Source] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    columns: list[exp.Column] = field(default_factory=list)
    merged: list[tuple[exp.Identifier, tuple[str, ...]]] = field(default_factory=list)
    aliases: set[str] = field(default_factory=set)

    def around(self, node: exp.Expr) -> dict[str, Source]:
        """The sources that a column may be of."""
        in_join = node.find_ancestor(exp.Join, exp.Select)
        hidden = set() if isinstance(in_join, exp.Join) else self.hidden
        return {alias: source for alias, source in self.sources.items() if alias not in hidden}

    def is_alias(self, name: str, node: exp.Expr) -> bool:
        """Whether a name is that of another column of the SELECT."""
        parent = node.find_ancestor(exp.Alias, exp.Select)
        within = isinstance(parent, exp.Alias) and parent.alias.lower() == name
        return name in self.aliases and not within


@dataclass
class NamesReader:
    """Reads a query; collects its SELECTs, and each `*` whose columns would have to be known by position."""

    names: Iterable[str]
    scopes: list[Names] = field(default_factory=list)
    unlisted: list[tuple[exp.Expr, list[str]]] = field(default_factory=list)
    _of_with: dict[int, Source] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.inputs = {name: Source(input=True) for name in self.names}

    def source(self, query: exp.Expr, with_: _With, outer: Names | None) -> Source:
        """What a query gives."""
        clause = query.args.get("with_")
        for cte in clause.expressions if clause else ():
            with_ = {**with_, cte.alias.lower(): (cte, with_)}
        if isinstance(query, exp.Subquery):
            return self.source(query.this, with_, outer)
        if isinstance(query, exp.SetOperation):
            return self._set_operation(query, with_, outer)
        return self._select(query, with_, outer) if isinstance(query, exp.Select) else Source()

    def _set_operation(self, query: exp.SetOperation, with_: _With, outer: Names | None) -> Source:
        left, right = (self.source(side, with_, outer) for side in (query.left, query.right))
        for side, source in ((query.left, left), (query.right, right)):
            if source.is_open:
                self.unlisted.append((side, [n for n, i in self.inputs.items() if _reads(source, i)]))
        return Source(names=left.names)

    def _select(self, select: exp.Select, with_: _With, outer: Names | None) -> Source:
        scope = Names(outer)
        self.scopes.append(scope)
        self._add_sources(scope, select, with_)
        scope.aliases |= {part.alias.lower() for part in select.expressions if isinstance(part, exp.Alias)}
        scope.columns += _columns(select)
        for query in _queries(select):
            self.source(query, with_, scope)
        return _result(select, scope)

    def _add_sources(self, scope: Names, select: exp.Select, with_: _With) -> None:
        from_ = select.args.get("from_")
        if from_ is not None:
            self._add(scope, from_.this, with_)
            self._join_all(scope, select.args.get("joins") or (), with_, set())
        for lateral in select.args.get("laterals") or ():
            names = [name.name.lower() for name in lateral.args["alias"].args.get("columns") or ()]
            scope.sources[lateral.alias.lower() or f"lateral{len(scope.sources)}"] = Source(dict.fromkeys(names))

    def _join_all(self, scope: Names, joins: Iterable[exp.Join], with_: _With, outside: set[str]) -> None:
        for join in joins:
            before = tuple(alias for alias in scope.sources if alias not in scope.hidden | outside)
            added = self._add(scope, join.this, with_)
            if join.kind.upper() in HIDING:
                scope.hidden |= added
            names = join.args.get("using") or ()
            scope.merged += [(name, tuple(side)) for name in names for side in (before, added)]
            if join.method.upper() == "NATURAL":
                self.unlisted.append((join, [*before, *added]))

    def _add(self, scope: Names, node: exp.Expr, with_: _With) -> set[str]:
        if not nested_joins.is_nested(node):
            return self._add_one(scope, node, with_)
        before = set(scope.sources)
        if nested_joins.holds_sources(node):
            self._add(scope, node.this, with_)
        else:
            self._add_one(scope, node, with_)
        self._join_all(scope, node.args.get("joins") or (), with_, before)
        added = set(scope.sources) - before
        if alias := nested_joins.alias_of(node):
            scope.sources[alias] = Source(stars=[scope.sources[name] for name in added])
            return {alias}
        return added

    def _add_one(self, scope: Names, node: exp.Expr, with_: _With) -> set[str]:
        alias = (node.alias_or_name or f"source{len(scope.sources)}").lower()
        source = self._of(scope, node, with_)
        if names := [name.name.lower() for name in _column_aliases(node)]:
            if source.is_open:
                self.unlisted.append((node, [alias]))
            source = Source(dict.fromkeys(names))
        scope.sources[alias] = source
        return {alias}

    def _of(self, scope: Names, node: exp.Expr, with_: _With) -> Source:
        if isinstance(node, exp.Lateral):
            return self.source(node.this, with_, scope) if isinstance(node.this, exp.Subquery) else Source()
        if isinstance(node, exp.Subquery):
            return self.source(node.this, with_, None)
        name = node.name.lower()
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            return Source()
        if name in with_:
            return self._cte(*with_[name])
        return self.inputs.get(name) or Source()

    def _cte(self, cte: exp.CTE, sees: _With) -> Source:
        """Read once, however often it is named."""
        if id(cte) not in self._of_with:
            self._of_with[id(cte)] = Source()
            found = self.source(cte.this, sees, None)
            names = [name.name.lower() for name in _column_aliases(cte)]
            if names and found.is_open:
                self.unlisted.append((cte, [cte.alias]))
            self._of_with[id(cte)] = Source(dict.fromkeys(names)) if names else found
        return self._of_with[id(cte)]


def _reads(source: Source, input: Source) -> bool:
    return source is input or any(_reads(one, input) for one in source.stars)


def _column_aliases(node: exp.Expr) -> list[exp.Identifier]:
    alias = node.args.get("alias")
    return list(alias.args.get("columns") or ()) if alias is not None else []


def _columns(select: exp.Select) -> Iterator[exp.Column]:
    """The columns in the expressions of a SELECT, those of queries inside left out."""
    for node in select.find_all(exp.Column):
        if not isinstance(node.this, exp.Star) and not inside_subquery(node, select):
            yield node


def _queries(select: exp.Select) -> Iterator[exp.Expr]:
    """The queries in expressions of a SELECT, outermost only."""
    for query in select.find_all(exp.Select, exp.SetOperation):
        if query is select or inside_subquery(query, select):
            continue
        above = query.parent
        while isinstance(above, exp.Subquery):
            above = above.parent
        if not isinstance(above, exp.From | exp.CTE | exp.Lateral | exp.SetOperation) and not _is_joined(query, above):
            yield query


def _is_joined(query: exp.Expr, above: exp.Expr | None) -> bool:
    return isinstance(above, exp.Join) and above.this.unnest() is query


def _result(select: exp.Select, scope: Names) -> Source:
    found = Source()
    for part in select.expressions:
        if part.is_star:
            only = part.table.lower() if isinstance(part, exp.Column) else None
            found.stars += [s for a, s in scope.sources.items() if only in (None, a) and a not in scope.hidden]
        elif name := part.alias_or_name.lower():
            found.names[name] = None
    return found
