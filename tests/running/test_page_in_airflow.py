"""The page inside Airflow, in a real browser: from the navigation to the history, tabs, links, and who may do what."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from examples.local_airflow import CONNECTION
from examples.rest import USER
from tests.browsing import PHONE, keep, serious
from tests.running.conftest import VIEWER, Site
from tests.running.site import until
from tests.running.table import Table
from tests.running.visitor import SLOW_MS, Visitor

pytestmark = pytest.mark.slow

NO_RETRIES = "default_args={'retries': 0}"
CHUNKS, UNITS = 9, 4


@pytest.fixture
def table(site: Site, tmp_path: Path, spark_server: Endpoint) -> Iterator[Table]:
    """A loaded table with a DAG, whose control tables are those that the page reads. Its input has changed since."""
    folder = tmp_path / tmp_path.name.removeprefix("test_")
    folder.mkdir()
    made = Table(site.airflow, site.dags, folder, spark_server.url, CONNECTION)
    made.change()
    made.deploy(NO_RETRIES)
    yield made
    made.release()
    (site.dags / f"{made.name}.py").unlink(missing_ok=True)


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """Closed windows afterwards."""
    yield chromium
    for context in chromium.contexts:
        context.close()


def test_a_refresh_is_started_watched_paused_slowed_resumed_cancelled_and_read_in_the_history(
    table: Table, browser: Browser
) -> None:
    table.hold()
    one = Visitor(browser, table.airflow, USER)
    one.browse_refreshes()
    one.follow(table.name)
    one.follow("Refresh now")
    one.press("Refresh now")
    one.sees(f"{table.name} is refreshed by DAG run")

    one.follow(f"See {table.name}")
    table.held(UNITS)
    one.shown.locator("#to-run").click(timeout=SLOW_MS)
    one.sees_cells("done", UNITS)
    keep(one.page, "airflow-run")
    one.follow(table.name)
    one.press("Pause")
    expect(one.shown.get_by_role("button", name="Resume")).to_be_visible(timeout=SLOW_MS)
    one.shown.get_by_label("rows/s").fill("1000")
    one.press("Throttle")
    one.sees("1,000 rows/s")
    table.release()
    until(lambda: not _running(table), "tasks that have stopped because of the pause")
    table.hold()
    one.press("Resume")
    one.shown.locator("#to-run").click()
    one.sees_cells("done", CHUNKS - 2)

    one.follow("Cancel the run")
    one.press("Cancel the run")
    one.sees_heading(f"Run of {table.name}")
    one.sees(f"by {USER}")
    table.release()
    (first,) = table.acts.runs(table.dag_id)
    assert table.ended(first) == "failed"
    one.follow(table.name)
    one.follow("Refresh now")
    one.press("Refresh now")
    one.follow(f"See {table.name}")
    expect(one.shown.locator("#live .badge").first).to_have_text("fresh", timeout=SLOW_MS)
    expect(one.shown.locator('td[data-label="outcome"]', has_text="succeeded")).to_have_count(2)
    assert table.fresh()


def test_tabs_of_the_dag_and_of_its_run_and_links_of_its_tasks_lead_to_the_page(table: Table, browser: Browser) -> None:
    run_id = table.trigger()
    assert table.ended(run_id) == "success"
    one = Visitor(browser, table.airflow, USER)
    one.page.goto(f"/dags/{table.dag_id}")
    one.page.get_by_role("link", name="Refresh", exact=True).click()
    one.sees_heading(table.name)
    one.page.goto(f"/dags/{table.dag_id}/runs/{run_id}")
    one.page.get_by_role("link", name="Refresh", exact=True).click()
    one.sees_heading(f"Run of {table.name}")
    for link, heading in (("Refresh run", f"Run of {table.name}"), ("Target", table.name)):
        one.page.goto(f"/dags/{table.dag_id}/runs/{run_id}/tasks/load/details")
        address = one.page.get_by_role("link", name=link, exact=True).get_attribute("href", timeout=SLOW_MS)
        one.page.goto(str(address))
        one.sees_heading(heading)


def test_a_viewer_sees_everything_and_steers_nothing(table: Table, browser: Browser, axe: str) -> None:
    for theme, width in product(("light", "dark"), (1280, PHONE["width"])):
        options: dict[str, Any] = {"color_scheme": theme, "viewport": PHONE | {"width": width}}
        page = Visitor(browser, table.airflow, VIEWER, **options).page
        page.goto(f"/refreshes/definitions/{table.name}")
        expect(page.get_by_role("heading", level=1)).to_have_text(table.name)
        expect(page.get_by_text("You may not change this definition")).to_be_visible()
        expect(page.get_by_role("button")).to_have_count(0)
        keep(page, f"airflow-viewer-{theme}-{width}")
        assert serious(page, axe) == []
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        asked = page.request.post(f"/refreshes/definitions/{table.name}/pause", form={"token": "guessed"})
        assert asked.status == 403
    assert not table.refreshes.stored(table.name).paused


def _running(table: Table) -> bool:
    run_id = next(iter(table.acts.runs(table.dag_id)))
    return "running" in table.states(run_id).values()
