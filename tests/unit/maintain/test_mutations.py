"""Each rule of the analysis matters: without it some view of the catalogue is refreshed wrongly."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from typing import Any

import duckdb
import pytest

from airflow_refresh_provider.core.maintain import (
    analysis,
    binding,
    blocks,
    columns,
    joins,
    merging,
    nested_joins,
    queries,
    subqueries,
    used,
)
from tests.unit.maintain import keyed
from tests.unit.maintain.catalogue import FOLLOWED, INPUTS, OF_NULLABLE_SIDE, UNFOLLOWED
from tests.unit.maintain.keyed import Inputs, Row
from tests.unit.maintain.test_catalogue import inputs_of

ROUNDS = 80
Mutate = Callable[[pytest.MonkeyPatch], None]


def is_found(query: str) -> bool:
    """Whether a view is refreshed wrongly after some changes, or a statement is none."""
    tables = {name: INPUTS[name] for name in inputs_of(query)}
    plan = analysis.maintenance(query, tables, [])
    try:
        return bool(plan.anchors) and not all(
            keyed.is_right(plan, query, *keyed.random_changes(seed, tables)) for seed in range(ROUNDS)
        )
    except duckdb.Error:
        return True


def only_new_images(patch: pytest.MonkeyPatch) -> None:
    real = keyed.touched
    patch.setattr(keyed, "touched", lambda plan, old, new, *_: real(plan, _common(old, new), new))


def _common(old: Inputs, new: Inputs) -> Inputs:
    return {name: list((Counter(old[name]) & Counter(new[name])).elements()) for name in old}


def only_old_images(patch: pytest.MonkeyPatch) -> None:
    real = keyed.touched
    patch.setattr(keyed, "touched", lambda plan, old, new, *_: real(plan, old, _common(old, new)))


def joined_rows_as_they_are_now(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(binding, "wide_name", lambda name: name)


def null_differs_from_null(patch: pytest.MonkeyPatch) -> None:
    real = analysis._text
    patch.setattr(analysis, "_text", lambda sql: real(sql).replace("IS NOT DISTINCT FROM", "="))


def outer_joins_turned_round(patch: pytest.MonkeyPatch) -> None:
    real = joins.Edge

    def turned(source: Any, target: Any, null_safe: bool = False, matching: bool = False) -> joins.Edge:
        sides = (target, source) if matching else (source, target)
        return real(*sides, null_safe=null_safe, matching=matching)

    patch.setattr(joins, "Edge", turned)


def nullable_sides_are_as_good(patch: pytest.MonkeyPatch) -> None:
    real = joins.add_join

    def without(joined: joins.Joined, *rest: Any) -> None:
        real(joined, *rest)
        joined.nullable.clear()

    patch.setattr(queries, "add_join", without)


def only_one_of_nested_sources_is_nullable(patch: pytest.MonkeyPatch) -> None:
    real = joins.add_join

    def first(joined: joins.Joined, scope: Any, join: Any, added: set[str], before: set[str]) -> None:
        real(joined, scope, join, {min(added)}, before)

    patch.setattr(queries, "add_join", first)


def full_joins_have_one_value_whatever_is_null(patch: pytest.MonkeyPatch) -> None:
    def coalesced(joined: joins.Joined, pairs: Any, sources: set[str]) -> None:
        joined.pad(sources)
        joined.coalesced += pairs

    patch.setattr(joins, "_add_full", coalesced)


def null_safe_edges_are_plain(patch: pytest.MonkeyPatch) -> None:
    real = blocks.Block._at
    patch.setattr(
        blocks.Block, "_at", lambda self, edge, *rest: real(self, dataclasses.replace(edge, null_safe=False), *rest)
    )


def groups_and_windows_do_not_limit(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(columns, "_limits", lambda _select, _scope: [])


def only_the_first_window_counts(patch: pytest.MonkeyPatch) -> None:
    real = columns._windows
    patch.setattr(columns, "_windows", lambda select: list(real(select))[:1])


def any_in_is_positive(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(subqueries, "conjuncts", lambda condition: [] if condition is None else [*condition.walk()])


def several_readers_need_what_the_first_needs(patch: pytest.MonkeyPatch) -> None:
    real = keyed._restricted

    def first(use: Any, keys: set[Row]) -> str:
        restrictions = use.restrictions[:1] if use.restrictions else None
        return real(use.model_copy(update={"restrictions": restrictions}), keys)

    patch.setattr(keyed, "_restricted", first)


def rows_that_were_not_touched_are_kept(patch: pytest.MonkeyPatch) -> None:
    class Everything(set[Row]):
        def __contains__(self, _row: object) -> bool:
            return True

    real = keyed.part
    patch.setattr(keyed, "part", lambda plan, inputs, query, keys: real(plan, inputs, query, Everything(keys)))


def columns_in_subqueries_are_not_read(patch: pytest.MonkeyPatch) -> None:
    real = used._record_column
    patch.setattr(used, "_record_column", lambda node, scope: None if scope.outer else real(node, scope))


def merged_columns_are_not_read(patch: pytest.MonkeyPatch) -> None:
    real = used._mark
    patch.setattr(
        used, "_mark", lambda scope, aliases, name: None if name in scope.merged else real(scope, aliases, name)
    )


def a_value_for_null_is_equal_to_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(joins, "null_with_any", lambda _expression: True)


def full_joins_have_one_value_whatever_stands_for_null(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(joins, "null_with_all", lambda _expression: True)


def using_names_the_column_of_the_left_side(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(merging, "_merged", lambda _join, one, _other: one)


def joins_in_parentheses_read_what_is_named(patch: pytest.MonkeyPatch) -> None:
    real = nested_joins.as_one

    def as_one(block: blocks.Block) -> Any:
        before = {occurrence: occurrence.used for occurrence in block.known}
        found = real(block)
        for occurrence, columns_ in before.items():
            occurrence.used = columns_
        return found

    patch.setattr(nested_joins, "as_one", as_one)


def every_in_compares_with_the_first_column(patch: pytest.MonkeyPatch) -> None:
    real = subqueries._compared
    patch.setattr(subqueries, "_compared", lambda *args: real(*args)[-1:])


MUTATIONS: dict[Mutate, tuple[str, ...]] = {
    full_joins_have_one_value_whatever_is_null: (OF_NULLABLE_SIDE,),
    only_new_images: ("SELECT k, count(*) n, sum(v) s FROM a GROUP BY k",),
    only_old_images: ("SELECT k, count(*) n, sum(v) s FROM a GROUP BY k",),
    joined_rows_as_they_are_now: ("SELECT a.g + b.g AS x, count(*) n FROM a JOIN b ON a.k = b.k GROUP BY a.g + b.g",),
    null_differs_from_null: ("SELECT a.h, count(*) n FROM a JOIN b ON a.k <=> b.k GROUP BY a.h",),
    outer_joins_turned_round: ("SELECT b.k, count(*) n FROM a LEFT JOIN b ON a.k = b.k GROUP BY b.k",),
    nullable_sides_are_as_good: ("SELECT b.k, count(*) n FROM a LEFT JOIN b ON a.k = b.k GROUP BY b.k",),
    only_one_of_nested_sources_is_nullable: (
        "SELECT c.g, count(*) n FROM a LEFT JOIN (b JOIN c ON b.g = c.g) ON a.k = b.k GROUP BY c.g",
    ),
    null_safe_edges_are_plain: ("SELECT a.k, b.w, c.u FROM a LEFT JOIN b ON a.k = b.k JOIN c ON b.g <=> c.g",),
    groups_and_windows_do_not_limit: ("SELECT v, k, row_number() OVER (PARTITION BY k ORDER BY v, g, h, s) r FROM a",),
    only_the_first_window_counts: (
        "SELECT k, v, sum(v) OVER (PARTITION BY k, g) r, count(*) OVER (PARTITION BY g) q FROM a",
    ),
    any_in_is_positive: ("SELECT k, v FROM a WHERE k NOT IN (SELECT k FROM b)",),
    several_readers_need_what_the_first_needs: (
        "WITH t AS (SELECT k, g, sum(v) m FROM a GROUP BY k, g) SELECT x.k, x.m, y.m z FROM t x JOIN t y ON x.k = y.g",
    ),
    columns_in_subqueries_are_not_read: ("SELECT k, v FROM a WHERE v = (SELECT max(x.h) FROM a x WHERE x.g = a.g)",),
    merged_columns_are_not_read: ("SELECT k, a.v, b.w FROM a JOIN b USING (k)",),
    a_value_for_null_is_equal_to_nothing: (
        "SELECT a.v, count(*) n FROM a LEFT JOIN b ON a.k = b.k WHERE coalesce(b.w, 0) = a.v GROUP BY a.v",
    ),
    full_joins_have_one_value_whatever_stands_for_null: (
        "SELECT coalesce(b.k, coalesce(a.v, 0)) x, count(*) n FROM a FULL JOIN b ON coalesce(a.v, 0) = b.k "
        "GROUP BY coalesce(b.k, coalesce(a.v, 0))",
    ),
    using_names_the_column_of_the_left_side: (
        "SELECT a.k, c.u FROM a RIGHT JOIN b USING (k) LEFT JOIN c USING (k)",
        "SELECT a.k, count(*) n FROM a FULL JOIN b USING (k) JOIN c USING (k) GROUP BY a.k",
    ),
    joins_in_parentheses_read_what_is_named: (
        "SELECT x.k, z.u FROM b x LEFT JOIN (b JOIN c USING (g)) z ON x.k = z.h",
    ),
    every_in_compares_with_the_first_column: ("SELECT k, v FROM a WHERE (g, k) IN (SELECT h, g FROM b)",),
    rows_that_were_not_touched_are_kept: (
        "WITH t AS (SELECT k, g, sum(v) m FROM a GROUP BY k, g) SELECT x.k, x.m, y.m z FROM t x JOIN t y ON x.k = y.g",
    ),
}
"""Mutation -> views that are wrong with it."""


@pytest.mark.parametrize("mutate", MUTATIONS, ids=lambda mutate: mutate.__name__)
def test_the_catalogue_finds_a_rule_that_is_broken(monkeypatch: pytest.MonkeyPatch, mutate: Mutate) -> None:
    mutate(monkeypatch)
    assert any(map(is_found, MUTATIONS[mutate]))


@pytest.mark.parametrize("query", sorted({query for views in MUTATIONS.values() for query in views}))
def test_with_all_rules_these_views_are_right(query: str) -> None:
    assert query in FOLLOWED or query in UNFOLLOWED
    assert not is_found(query)
