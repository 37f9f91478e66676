"""Messages on the page: commands and names in them are code, and nothing in them is HTML."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.page.messages import with_code
from tests.unit.page.site import browser
from tests.unit.page.test_pages import interrupted
from tests.unit.runner.shop import NAME, Shop
from tests.unit.runner.world import NAME as ORDERS


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("plain", "plain"),
        ("ends with `lost_lease`, and", "ends with <code>lost_lease</code>, and"),
        ("`a` or `b`", "<code>a</code> or <code>b</code>"),
        ("one ` alone", "one ` alone"),
        ("``", "``"),
        ("<b> & `<i>`", "&lt;b&gt; &amp; <code>&lt;i&gt;</code>"),
        ("`RESTORE TABLE delta.`/a b` TO 3` in Spark", "<code>RESTORE TABLE delta.`/a b` TO 3</code> in Spark"),
    ],
)
def test_what_stands_between_backticks_is_code_and_everything_is_text(message: str, shown: str) -> None:
    assert with_code(message) == shown


def test_no_page_shows_backticks_of_its_own_messages() -> None:
    world = interrupted()
    run_id = world.interrupted.run_id
    pages = (f"/definitions/{ORDERS}", f"/definitions/{ORDERS}/runs/{run_id}", "/definitions/nothing", "/?health=late")
    client = browser(world.refreshes)
    for path in (*pages, f"/definitions/{ORDERS}/runs/{run_id}/recover"):
        assert "`" not in client.get(path).text, path
    assert "<code>airflow-refresh list</code>" in client.get("/definitions/nothing").text


def test_an_unknown_address_is_not_found_and_what_cannot_be_done_is_not_possible() -> None:
    client = browser(Shop().refreshes)
    assert "<h1>Not found</h1>" in client.get("/definitions/nothing").text
    shop = Shop()
    shop.refreshes.suspend(NAME, "wrong source")
    assert "<h1>This is not possible</h1>" in browser(shop.refreshes).get(f"/definitions/{NAME}/refresh").text


def test_before_the_first_refresh_nothing_is_known_of_one_input_or_of_several() -> None:
    shop = Shop()
    shop.register(
        "SELECT k FROM customers",
        name="one",
        target="/gold/one",
        inputs={"customers": {"path": "/in/customers"}},
        keys=["k"],
        mode="full",
    )
    client = browser(shop.refreshes)
    assert "customers: nothing is known of it before" in client.get("/definitions/one").text
    assert "customers, orders: nothing is known of them before" in client.get(f"/definitions/{NAME}").text


def test_a_run_says_of_an_input_which_version_is_read_whole() -> None:
    world = interrupted()
    page = browser(world.refreshes).get(f"/definitions/{ORDERS}/runs/{world.interrupted.run_id}").text
    assert "all of version " in page
