"""Explanations: how the inputs of a definition are followed, and what its next refresh does."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import yaml

from airflow_refresh_provider.core.changes.pins import DeltaPin
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.selection import Selection
from airflow_refresh_provider.core.plan.foreseen import NextMode
from airflow_refresh_provider.core.run.explanation import Explanation, Follows
from airflow_refresh_provider.core.run.results import HistoryEntry
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.testing.memory_inputs import MemoryTables
from airflow_refresh_provider.testing.memory_lake import MemoryLake
from airflow_refresh_provider.views.explanation_lines import as_yaml
from airflow_refresh_provider.views.tables import table_of
from tests.unit.runner.faults import Killed, counted
from tests.unit.runner.shop import NAME, ONE, REVENUE, TARGET, Shop, order

ROW_WISE = "SELECT id, customer, total FROM orders"


def explain(shop: Shop) -> Explanation:
    return shop.refreshes.explain(NAME)


def text(found: Explanation) -> str:
    table = table_of([found])
    return "\n".join([*(" ".join(map(str, row)) for row in table.rows), *table.notes])


def test_each_input_says_how_its_changes_are_followed() -> None:
    found = explain(Shop())
    assert (found.follows, found.anchors) == (Follows.EVERY_INPUT, ("k",))
    assert [(one.name, one.by, one.read_whole) for one in found.inputs] == [
        ("customers", "k", False),
        ("orders", "k = customer", False),
    ]
    assert "changes of orders recompute the rows by k = customer" in text(found)


def test_a_changed_row_may_be_joined_with_other_inputs() -> None:
    query = "SELECT o.id, c.name FROM orders o JOIN customers c ON o.customer = c.k"
    found = explain(Shop(query, keys=["id"]))
    ways = {one.name: one.by for one in found.inputs}
    assert ways == {"customers": "id = orders.id, joined with orders (orders.customer = k)", "orders": "id"}


def test_an_input_that_is_not_followed_says_why() -> None:
    shop = Shop("SELECT k, name, (SELECT max(total) FROM orders) AS most FROM customers", mode="auto")
    found = explain(shop)
    assert found.follows is Follows.SOME_INPUTS
    orders = next(one for one in found.inputs if one.name == "orders")
    assert orders.by is None and "line 1, column 25" in (orders.reason or "")
    assert "compute everything: an aggregate of all rows" in text(found)


@pytest.mark.parametrize(
    ("changes", "by"),
    [
        ({}, "row by row"),
        ({"on_duplicate": "latest", "latest_by": "total"}, "row by row while inputs only gain rows"),
    ],
)
def test_a_row_wise_query_needs_no_anchors(changes: dict[str, Any], by: str) -> None:
    shop = Shop(ROW_WISE, keys=["id"], inputs={"orders": {"path": "/in/orders"}}, mode="auto", **changes)
    found = explain(shop)
    assert (found.row_wise, found.anchors, found.follows) == (True, (), Follows.EVERY_INPUT)
    assert (found.inputs[0].by or "").startswith(by)


def test_latest_rows_have_to_be_found_by_their_keys() -> None:
    query = "SELECT o.id, c.k, c.name, o.total FROM orders o JOIN customers c ON o.customer = c.k"
    found = explain(Shop(query, keys=["name"], mode="auto", on_duplicate="latest", latest_by="total"))
    assert found.follows is Follows.NO_INPUT
    assert {one.reason for one in found.inputs} == {"on_duplicate: latest needs rows to be found by their keys"}


def test_a_query_that_reads_the_clock_follows_nothing() -> None:
    query = "SELECT k, count(*) AS n FROM customers WHERE current_date() > DATE'2000-01-01' GROUP BY k"
    found = explain(Shop(query, inputs={"customers": {"path": "/in/customers"}}, mode="auto"))
    assert found.follows is Follows.NO_INPUT and "current_date" in (found.inputs[0].reason or "")


def test_the_next_refresh_is_the_one_that_then_happens() -> None:
    shop = Shop()
    for act in (lambda: None, lambda: shop.lake.append("/in/orders", [order(99, 0)]), _order(shop, 98)):
        act()
        foreseen = explain(shop).next
        assert foreseen is not None
        result = shop.run()
        if result.mode_code == "verification":
            assert (foreseen.mode, foreseen.code) == (NextMode.FULL, result.mode_code)
        else:
            assert (foreseen.mode, foreseen.code, foreseen.reason) == (
                result.mode,
                result.mode_code,
                result.mode_reason,
            )
    nothing = explain(shop).next
    assert nothing is not None and nothing.mode is NextMode.NOTHING
    assert nothing.text is None, "nothing takes no time"


def test_the_next_refresh_says_what_it_reads() -> None:
    shop = Shop()
    shop.begin()
    shop.lake.append("/in/orders", [order(98, 1)])
    found = explain(shop).next
    assert found is not None and set(found.change_bytes) == {"orders"}
    assert found.input_bytes is not None and found.change_bytes["orders"] <= found.input_bytes


def test_the_next_refresh_says_about_how_much_has_changed_and_what_it_touches() -> None:
    shop = Shop()
    shop.begin()
    _order(shop, 97)()
    shop.run()
    shop.lake.append("/in/orders", [order(number, 1) for number in (95, 96)])
    found = explain(shop)
    assert found.touched is not None and found.touched > 0
    assert f"about 2 rows changed, touching about {found.touched}" in text(found)
    assert json.loads(found.model_dump_json())["touched"] == found.touched
    shop.run()
    assert "rows changed," not in text(explain(shop)), "nothing has changed"


def test_changes_that_a_definition_upstream_has_to_apply_first_are_named() -> None:
    shop = Shop()
    totals = {"name": "totals", "target": "/gold/totals", "mode": "auto", "keys": ["orders"]}
    query = "SELECT orders, sum(revenue) AS revenue FROM revenue GROUP BY orders"
    shop.register(query, **totals, inputs={"revenue": {"path": TARGET}})
    assert shop.refreshes.explain("totals").changed_upstream == (NAME,), "it was never refreshed"
    shop.run()
    shop.refreshes.run("totals", ONE)
    assert shop.refreshes.explain("totals").changed_upstream == ()
    shop.lake.append("/in/orders", [order(98, 1)])
    found = shop.refreshes.explain("totals")
    assert found.next is not None and found.next.mode is NextMode.NOTHING, "it reads what was published last"
    assert "upstream revenue has changes to apply first; 'airflow-refresh cascade totals' does both" in text(found)
    assert shop.refreshes.explain_several(Selection(every=True))[1] == found
    shop.run()
    assert "upstream" not in text(shop.refreshes.explain("totals"))
    shop.register(REVENUE.replace("LEFT JOIN", "JOIN"))
    assert shop.refreshes.explain("totals").changed_upstream == (NAME,), "it was changed"


def test_what_an_unfinished_run_has_committed_is_not_taken_for_a_change_by_others() -> None:
    shop = Shop()
    shop.begin()
    shop.lake.append("/in/orders", [order(98, 1)])

    def dies_once_committed(_number: int) -> None:
        if f"answer {TARGET}" in steps:
            raise Killed

    with counted(shop.lake, dies_once_committed) as steps, pytest.raises(Killed):
        shop.refreshes.run(NAME, ONE)
    shop.next_owner()
    found = explain(shop)
    assert shop.record.run is not None and found.unfinished_run == shop.record.run.run_id
    assert found.next is not None and (found.next.mode, found.next.code) == (NextMode.INCREMENTAL, "changes")
    assert f"unfinished run {found.unfinished_run}: it is resumed or ends first" in text(found)
    shop.run()
    assert explain(shop).unfinished_run is None


def test_sums_are_added_up() -> None:
    query = "SELECT customer AS k, count(*) AS n, sum(total) AS total FROM orders GROUP BY customer"
    found = explain(Shop(query, inputs={"orders": {"path": "/in/orders"}}))
    assert found.inputs[0].added_up
    assert "add them to their groups; where that does not do, recompute the rows by" in text(found)
    mean = explain(Shop(query.replace("sum(total)", "avg(total)"), inputs={"orders": {"path": "/in/orders"}}))
    assert not mean.inputs[0].added_up and "add them" not in text(mean)


def test_an_input_that_is_gone_is_in_the_result() -> None:
    shop = Shop()
    del shop.lake.tables["/in/orders"]
    found = explain(shop)
    assert (found.follows, found.assumed, found.next) == (Follows.EVERY_INPUT, True, None)
    assert found.error is not None and found.error.code == "input_missing"
    assert "[input_missing]" in text(found)


def test_a_definition_that_is_not_registered_has_no_next_refresh() -> None:
    shop = Shop()
    definition = Definition.build(
        name="other", target=f"{TARGET}_other", query=ROW_WISE, inputs={"orders": {"path": "/in/none"}}, keys=["id"]
    )
    found = shop.refreshes.explain_definition(definition)
    assert (found.follows, found.next, found.error) == (Follows.EVERY_INPUT, None, None)
    grouped = "SELECT customer AS id, count(*) AS n FROM orders GROUP BY customer"
    unknown = shop.refreshes.explain_definition(definition.model_copy(update={"query": grouped}))
    assert (unknown.follows, unknown.assumed) == (Follows.EVERY_INPUT, True)
    assert unknown.error is not None and unknown.model_copy(update={"strict": True}).broken


def test_columns_are_to_be_qualified_where_the_inputs_cannot_be_read() -> None:
    shop = Shop("SELECT c.k, name, o.id FROM customers c LEFT JOIN orders o ON c.k = customer", mode="auto")
    assert (explain(shop).advice, explain(shop).follows) == ((), Follows.EVERY_INPUT)
    del shop.lake.tables["/in/orders"]
    found = explain(shop)
    assert [(one.name, one.followed) for one in found.inputs] == [("customers", True), ("orders", False)]
    assert "for a column that is not qualified" in (found.inputs[1].reason or "")
    assert "advice: qualify your columns: whether name (line 1, column 13) is of c or o is not in the text" in text(
        found
    )
    assert "by the text of the query: its inputs were not read" in text(found)


def test_a_small_change_that_would_win_is_advised() -> None:
    shop = Shop(
        "SELECT n, count(*) AS customers FROM (SELECT customer, count(*) AS n FROM orders GROUP BY customer) t "
        "GROUP BY n",
        inputs={"orders": {"path": "/in/orders"}},
        keys=["n"],
        mode="auto",
    )
    assert "split t into a definition of its own" in text(explain(shop))
    (advice,) = explain(shop).advice
    for definition in advice.definitions:
        shop.refreshes.register(definition.model_copy(update={"max_delete_ratio": 1.0}))
    for expected in ("first_refresh", "verification", "changes", "changes"):
        for name in (f"{NAME}_t", NAME):
            assert shop.refreshes.run(name, ONE).mode_code in (expected, "definition_changed")
            assert shop.refreshes.compare_only(name, 3).equal
        shop.lake.append("/in/orders", [order(90 + len(expected), 1)])


class CountedColumns(MemoryTables):
    """Counts how often the columns of a table are read: once for each analysis of a query over it."""

    def __init__(self, lake: MemoryLake) -> None:
        super().__init__(lake)
        self.asked: list[str] = []

    def columns(self, pin: DeltaPin) -> dict[str, str]:
        self.asked.append(pin.location)
        return super().columns(pin)


def test_a_column_that_no_input_has_is_named_also_where_every_input_is_followed() -> None:
    query = "SELECT customer AS k, count(*) AS n, sum(o.totl) AS total FROM orders o GROUP BY customer"
    found = explain(Shop(query, inputs={"orders": {"path": "/in/orders"}}))
    assert found.follows is Follows.EVERY_INPUT
    assert "advice: correct the column o.totl (line 1, column 42): no input has it; is it total?" in text(found)
    assert found.model_copy(update={"strict": True}).broken and not found.broken


def test_a_query_is_analysed_once() -> None:
    shop = Shop()
    shop.begin()
    ports, counted = shop.refreshes.ports, CountedColumns(shop.lake)
    found = Refreshes(replace(ports, inputs={**ports.inputs, "delta": counted})).explain(NAME)
    assert found.next is not None and sorted(counted.asked) == ["/in/customers", "/in/orders"]


def _order(shop: Shop, number: int) -> Any:
    return lambda: shop.lake.append("/in/orders", [order(number, 1)])


def test_what_was_foreseen_of_the_last_refresh_is_beside_what_happened() -> None:
    shop = Shop(mode="auto")
    assert explain(shop).last is None
    shop.begin()
    shop.lake.append("/in/orders", [order(98, 1)])
    coming = explain(shop).next
    result = shop.run()
    found = explain(shop).last
    assert coming is not None and found is not None and found.foreseen is not None
    assert dict(found.foreseen) == {name: value for name, value in coming if name in dict(found.foreseen)}
    assert (found.foreseen.mode, found.foreseen.change_rows) == (NextMode.INCREMENTAL, 1)
    assert found.foreseen.text == coming.text == "incremental 0 s, full 0 s", "the verification was both"
    assert (found.run_id, found.mode, found.rows, found.touched) == (result.run_id, "incremental", result.rows, 1)
    shop.lake.append("/in/orders", [order(60 + k, k) for k in range(3)])
    shop.run()
    found = explain(shop).last
    assert found is not None and found.foreseen is not None
    assert (found.foreseen.code, found.code) == ("changes", "too_many_touched")
    shown = text(explain(shop))
    assert "foreseen incremental: changes of orders" in shown and "about 3 rows changed" in shown
    assert "happened full: the changes touch 3 values of k" in shown


def test_the_history_has_what_was_foreseen() -> None:
    shop = Shop()
    shop.begin()
    codes = [entry.result and entry.result.foreseen and entry.result.foreseen.code for entry in history(shop)]
    assert codes == ["verification", "first_refresh"]


def history(shop: Shop) -> list[HistoryEntry]:
    return shop.refreshes.history(NAME)


def test_a_definition_is_written_without_defaults_also_after_it_was_stored() -> None:
    given = {"name": "n", "target": "/t", "query": "SELECT k FROM a", "inputs": {"a": {"path": "/a"}}, "keys": ["k"]}
    written = Definition.build(**given)
    stored = Definition.model_validate_json(written.model_dump_json())
    assert yaml.safe_load(as_yaml(stored)) == yaml.safe_load(as_yaml(written)) == given
