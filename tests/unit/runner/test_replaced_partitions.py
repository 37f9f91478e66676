"""Partitions whose rows nearly all change are replaced without a comparison (ADR 72). Customers are the partitions."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from airflow_refresh_provider.core.definition.selection import Selection
from airflow_refresh_provider.core.log.note import read_note
from airflow_refresh_provider.core.plan.replacing import MOST_PARTITIONS
from airflow_refresh_provider.core.run.results import Rows, RunResult
from airflow_refresh_provider.errors import Failed, Refused
from airflow_refresh_provider.views.tables import table_of
from tests.unit.runner.shop import NAME, ONE, TARGET, Shop, order
from tests.unit.runner.test_keyed import ForgetfulEngine

PLACES = (
    "SELECT o.customer, o.id, o.total, row_number() OVER (PARTITION BY o.customer ORDER BY o.total, o.id) AS place "
    "FROM orders o"
)
BY_PARTITION: dict[str, Any] = {
    "inputs": {"orders": {"path": "/in/orders"}},
    "keys": ["customer", "id"],
    "partition_by": ["customer"],
    "chunking": {"one_commit_up_to": 3, "chunk_rows": 3},
}


class Partitioned(Shop):
    """The orders of each customer, in the order of their totals."""

    def __init__(self, query: str = PLACES, **changes: Any) -> None:
        super().__init__(query, **(BY_PARTITION | changes))

    def deliver_again(self, *customers: int, more: int = 1) -> None:
        """All orders of some customers have another total."""

        def changed(row: dict[str, Any]) -> dict[str, Any]:
            return {**row, "total": row["total"] + more} if row["customer"] in customers else row

        self.lake.rewrite("/in/orders", changed)


def loaded(query: str = PLACES, **changes: Any) -> Partitioned:
    """After a first refresh, and a verified one in which all rows of what was touched had changed."""
    shop = Partitioned(query, **changes)
    shop.run()
    shop.deliver_again(0, 1)
    assert shop.run().mode_code == "verification"
    return shop


def codes(run: RunResult) -> set[str]:
    return {notice.code for notice in run.notices}


def test_partitions_are_replaced_once_a_comparison_has_found_that_their_rows_change() -> None:
    shop = loaded()
    shop.deliver_again(0, 1, 2)
    run = shop.run()
    assert (run.mode, codes(run), run.touched) == ("incremental", {"partitions_replaced"}, 3)
    assert run.rows == Rows(inserted=6, deleted=6, unchanged=2)
    assert ways(shop, run) == {"replace_partitions"}


def test_a_partition_without_rows_is_emptied_and_a_new_one_is_written() -> None:
    shop = loaded()
    shop.lake.rewrite("/in/orders", lambda row: None if row["customer"] == 1 else row | {"total": 5})
    shop.lake.append("/in/orders", [order(30, 7), order(31, 7)])
    run = shop.run()
    assert (ways(shop, run), run.rows.deleted - run.rows.inserted) == ({"replace_partitions"}, 0)
    assert {row["customer"] for row in shop.lake.rows(TARGET)} == {0, 2, 3, 7}


def test_each_chunk_has_whole_partitions() -> None:
    shop = loaded()
    shop.deliver_again(0, 1, 2, 3)
    before = shop.lake.table(TARGET).newest.commit.version
    shop.run()
    for version in shop.lake.table(TARGET).versions[before + 1 :]:
        partitions = [[row for row in version.rows if row["customer"] == customer] for customer in range(4)]
        assert [len(rows) for rows in partitions] == [2, 2, 2, 2]
    assert len(shop.lake.table(TARGET).versions) - before > 2, "more than one commit"


TOTALS = "SELECT o.customer, o.id, max(o.total) AS most FROM orders o GROUP BY o.customer, o.id"


def test_touched_values_of_more_columns_are_reduced_to_partitions() -> None:
    shop = loaded(TOTALS)
    shop.deliver_again(0, 1, 2)
    run = shop.run()
    assert (run.touched, run.rows, ways(shop, run)) == (
        6,
        Rows(inserted=6, deleted=6, unchanged=2),
        {"replace_partitions"},
    )


def test_where_few_rows_of_the_partitions_are_expected_to_change_rows_are_compared() -> None:
    shop = loaded(TOTALS)
    shop.lake.append("/in/orders", [order(100 + number, number % 4) for number in range(60)])
    assert "partitions_replaced" in codes(shop.run())
    shop.lake.rewrite("/in/orders", lambda row: row | {"total": 0} if row["id"] < 4 else row)
    run = shop.run()
    assert (codes(run), run.rows) == (set(), Rows(updated=4, unchanged=64))


def test_a_comparison_that_finds_few_changes_ends_it() -> None:
    shop = loaded(verify_every=2)
    shop.lake.append("/in/orders", [order(100 + number, number % 4) for number in range(60)])
    assert codes(shop.run()) == {"partitions_replaced"}
    shop.lake.rewrite("/in/orders", lambda row: row | {"total": 10_000} if row["id"] == 159 else row)
    assert shop.run().mode_code == "verification"
    shop.deliver_again(0, 1)
    assert codes(shop.run()) == set()


def test_after_few_changes_rows_are_compared_again() -> None:
    """Far fewer bytes of changes than at the last comparison: far fewer rows are expected to change."""
    shop = Partitioned()
    shop.lake.append("/in/orders", [order(100 + number, number % 4) for number in range(400)])
    shop.run()
    for code in ("verification", "changes"):
        shop.deliver_again(0, 1, 2, 3)
        run = shop.run()
        assert run.mode_code == code
    assert codes(run) == {"partitions_replaced"}
    shop.lake.append("/in/orders", [order(900 + number, number, 10_000) for number in range(4)])
    run = shop.run()
    assert (codes(run), run.rows) == (set(), Rows(inserted=4, unchanged=408))


@pytest.mark.parametrize(
    "changes",
    [
        {"partition_by": []},
        {"partition_by": ["total"]},
        {"deletes": "ignore"},
        {"chunking": {"one_commit_up_to": 10_000_000, "chunk_rows": 1_000}},
        {"layout": "vnode", "partition_by": [], "vnodes": 4},
        {"verify_every": 1},
    ],
    ids=["not partitioned", "partitions that are no keys", "rows stay", "few rows", "by vnode", "verified"],
)
def test_rows_are_compared(changes: dict[str, Any]) -> None:
    shop = loaded(**changes)
    shop.deliver_again(0, 1, 2)
    run = shop.run()
    assert (run.rows.updated, run.rows.inserted, codes(run)) == (6, 0, set())


@pytest.mark.parametrize(("partitions", "replaced"), [(MOST_PARTITIONS, True), (MOST_PARTITIONS + 1, False)])
def test_more_partitions_than_a_predicate_names_are_compared(partitions: int, replaced: bool) -> None:
    shop = Partitioned(chunking={"one_commit_up_to": 500, "chunk_rows": 500})
    shop.lake.rewrite("/in/orders", lambda _row: None)
    shop.lake.append("/in/orders", [order(number, number) for number in range(partitions)])
    shop.run()
    for code in ("verification", "changes"):
        shop.deliver_again(*range(partitions))
        run = shop.run()
        assert run.mode_code == code
    assert ("partitions_replaced" in codes(run)) is replaced


def test_a_duplicate_key_is_found_before_anything_is_replaced() -> None:
    shop = loaded(PLACES.replace("o.id, o.total", "o.total AS id") + " WHERE o.id < 4 OR o.id > 50")
    before = shop.lake.rows(TARGET)
    shop.lake.append("/in/orders", [order(60 + number, 0, 7) for number in range(4)])
    with pytest.raises(Failed, match="customer=0, id=7") as raised:
        shop.refreshes.run(NAME, ONE)
    assert (raised.value.code, shop.lake.rows(TARGET)) == ("duplicate_key", before)


def test_partitions_that_lose_too_many_rows_are_not_replaced() -> None:
    shop = loaded(max_delete_ratio=0.2)
    before = shop.lake.rows(TARGET)
    shop.lake.rewrite("/in/orders", lambda row: None if row["customer"] in (1, 2) else row | {"total": 0})
    with pytest.raises(Refused) as raised:
        shop.refreshes.run(NAME, ONE)
    assert (raised.value.code, shop.lake.rows(TARGET)) == ("mass_delete", before)


def test_a_sample_that_agrees_is_made_beside_it() -> None:
    shop = loaded(verify_share=1.0)
    shop.deliver_again(0, 1)
    run = shop.run()
    assert (run.sampled, codes(run)) == (2, {"partitions_replaced"})


def test_a_sample_that_differs_has_everything_compared() -> None:
    shop = loaded(verify_share=1.0)
    shop.use(ForgetfulEngine(shop.lake, kept=1))
    shop.deliver_again(0, 1)
    run = shop.run()
    assert (run.mode_code, run.rows.updated, codes(run)) == ("verification", 4, {"verification_failed"})


@pytest.mark.parametrize("query", [PLACES, TOTALS], ids=["places", "totals"])
@pytest.mark.parametrize("seed", range(8))
def test_after_any_changes_the_target_is_the_query(query: str, seed: int) -> None:
    """`run` compares everything after each refresh."""
    shop, chance, replaced = loaded(query), random.Random(seed), 0
    for number in range(12):
        shop.lake.rewrite("/in/orders", _any_change(chance))
        more = [order(1_000 + 10 * number + n, chance.randrange(6)) for n in range(chance.choice((0, 1, 6)))]
        shop.lake.append("/in/orders", more)
        replaced += "partitions_replaced" in codes(shop.run())
    assert replaced > 3


def _any_change(chance: random.Random) -> Callable[[dict[str, Any]], dict[str, Any] | None]:
    """Some partitions are emptied, some rows move between them, and others are delivered again."""
    gone, moved, changed = (set(chance.sample(range(6), chance.choice((0, 1, 2)))) for _ in range(3))

    def after(row: dict[str, Any]) -> dict[str, Any] | None:
        if row["customer"] in gone:
            return None
        to = chance.randrange(6) if row["customer"] in moved else row["customer"]
        return {**row, "customer": to, "total": row["total"] + (row["customer"] in changed)}

    return after


def ways(shop: Partitioned, run: RunResult) -> set[str]:
    """How the chunks of a run were applied."""
    notes = [read_note(version.commit.note) for version in shop.lake.table(TARGET).versions]
    return {note.way for note in notes if note and note.run == run.run_id and note.way}


def test_a_run_of_several_definitions_says_it_too() -> None:
    shop = loaded()
    shop.deliver_again(0, 1, 2)
    found = shop.refreshes.run_several(Selection((NAME,)), ONE)
    [line] = table_of(found).notes
    assert line.startswith(f"{NAME}: partitions_replaced: 3 partitions of the target")
