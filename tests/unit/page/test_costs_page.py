"""What refreshes cost, on the page and in the API."""

from __future__ import annotations

from datetime import datetime

import pytest

from airflow_refresh_provider.core.run.costs import CostsReport
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import HistoryEntry, Outcome
from airflow_refresh_provider.page.pages import SHOWN
from airflow_refresh_provider.runner.hold.run_ends import end_of
from airflow_refresh_provider.testing.memory_engine import MemoryEngine
from tests.unit.page.site import browser
from tests.unit.runner.shop import NAME, Shop
from tests.unit.runner.world import World, row

DAY = 86_400.0


def test_costs_are_shown_by_day_definition_and_tag_and_the_api_has_the_same() -> None:
    shop = Shop(tags=["sales"])
    shop.begin()
    client = browser(shop.refreshes)
    page = client.get("/costs").text
    found = CostsReport.model_validate(client.get("/api/v1/costs").json())
    assert found.days == 30 and found.in_all is not None
    (of_name,), (of_tag,), (of_day,) = found.by_definition, found.by_tag, found.by_day
    assert (of_name.of, of_tag.of) == (NAME, "sales")
    assert of_name.runs == of_tag.runs == of_day.runs == found.in_all.runs > 0
    for text in (f'href="/definitions/{NAME}"', "By definition", "sales", of_day.of, "worked", "to read", "written"):
        assert text in page, text


def test_tables_have_headers_and_drawings_say_what_they_show() -> None:
    shop = Shop()
    shop.begin()
    page = browser(shop.refreshes).get("/costs").text
    assert page.count("<caption>") == 3 and page.count('scope="col"') == 3 * 8
    assert page.count('scope="row"') == 3
    assert page.count("<svg") == page.count('role="img" aria-label="')
    assert "Time worked by day; the table of days has the numbers" in page


def test_the_header_of_every_page_leads_to_costs() -> None:
    shop = Shop()
    shop.begin()
    for path in ("/", "/costs", f"/definitions/{NAME}"):
        assert 'href="/costs"' in browser(shop.refreshes).get(path).text


def test_only_runs_of_the_last_days_count() -> None:
    world = World(row(1))
    world.run()
    world.ports.clock.sleep(3 * DAY)
    client = browser(world.refreshes)
    assert client.get("/api/v1/costs?days=4").json()["in_all"]["runs"] == 1
    assert client.get("/api/v1/costs?days=2").json()["in_all"] is None
    assert "No run has ended in that time." in client.get("/costs?days=2").text


@pytest.mark.parametrize("days", ["0", "91", "x"])
def test_days_beyond_the_history_are_refused(days: str) -> None:
    client = browser(Shop().refreshes)
    assert client.get(f"/api/v1/costs?days={days}").status_code == 422
    assert client.get(f"/costs?days={days}").status_code == 422


def test_a_run_and_its_definition_show_what_it_has_cost() -> None:
    world = World(row(1))
    assert isinstance(world.ports.engine, MemoryEngine)
    world.ports.engine.act_seconds = 60
    run_id = world.run(Request(workers=1)).run_id
    client = browser(world.refreshes)
    spent = client.get(f"/api/v1/definitions/orders/runs/{run_id}").json()["spent"]
    assert spent["spark_seconds"] >= 180
    shown = client.get(f"/definitions/orders/runs/{run_id}").text
    assert "of it in Spark" in shown and "written" in shown and "to read" in shown
    assert 'data-label="to read"' in client.get("/definitions/orders").text


def test_a_dropped_definition_is_not_in_the_costs() -> None:
    shop = Shop()
    shop.begin()
    shop.refreshes.drop(NAME)
    assert browser(shop.refreshes).get("/api/v1/costs").json()["in_all"] is None


def test_of_many_definitions_the_most_expensive_are_shown_first_and_the_others_on_further_pages() -> None:
    shop = Shop()
    shop.begin()
    store, at = shop.refreshes.ports.store, shop.refreshes.ports.clock.now()
    record = store.read(NAME).record
    assert record is not None
    for number in range(SHOWN + 5):
        name = f"table_{number:03}"
        store.commit(store.read(name), record.model_copy(update={"name": name}), Event.REGISTER, at)
        store.add_event(end_of(ended(name, at, seconds=1000.0 + number)))
    first, second = (browser(shop.refreshes).get(f"/costs?days=7&skip={skip}").text for skip in (0, SHOWN))
    assert "table_204" in first and "table_005" in first and "table_004" not in first
    assert "table_004" in second and f'href="/definitions/{NAME}"' in second and "table_005" not in second
    assert "1 to 200 of 206" in first and 'href="/costs?days=7&amp;skip=200"' in first
    assert "201 to 206 of 206" in second and 'href="/costs?days=7&amp;skip=0"' in second


def ended(name: str, at: datetime, seconds: float) -> HistoryEntry:
    return HistoryEntry(name=name, run_id=name, outcome=Outcome.FAILED, at=at, generation=1, elapsed_seconds=seconds)
