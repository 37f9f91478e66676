"""The page inside Airflow, in a real browser: the ways that lead to it, who may do what, dark and on a phone."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from playwright.sync_api import expect

from examples.rest import USER
from tests.browsing import PHONE, keep, serious
from tests.running.conftest import VIEWER
from tests.running.table import Table
from tests.running.visitor import SLOW_MS, Visitor

pytestmark = pytest.mark.slow


def test_a_dag_run_has_a_note_and_tabs_and_links_that_lead_to_the_page(
    paged: Table, visit: Callable[..., Visitor]
) -> None:
    run_id = paged.trigger()
    assert paged.ended(run_id) == "success"
    one = visit(USER)
    one.page.goto(f"/dags/{paged.dag_id}")
    one.page.get_by_role("link", name="Refresh", exact=True).click()
    one.sees_heading(paged.name)
    keep(one.page, "airflow-tab-dag")
    one.page.goto(f"/dags/{paged.dag_id}/runs/{run_id}")
    expect(one.page.get_by_text(f"refreshed {paged.name}: +0 ~9 -0 rows, 3 unchanged; full")).to_be_visible(
        timeout=SLOW_MS
    )
    one.page.get_by_role("link", name="Refresh", exact=True).click()
    one.sees_heading(f"Run of {paged.name}")
    keep(one.page, "airflow-tab-run")
    for link, heading in (("Refresh run", f"Run of {paged.name}"), ("Target", paged.name)):
        one.page.goto(f"/dags/{paged.dag_id}/runs/{run_id}/tasks/load/details")
        address = one.page.get_by_role("link", name=link, exact=True).get_attribute("href", timeout=SLOW_MS)
        one.page.goto(str(address))
        one.sees_heading(heading)

    skipped = paged.trigger()
    assert paged.ended(skipped) == "success"
    one.page.goto(f"/dags/{paged.dag_id}/runs/{skipped}")
    expect(one.page.get_by_text("skipped: no input has changed since the last refresh")).to_be_visible(timeout=SLOW_MS)
    keep(one.page, "airflow-skipped")


def test_a_viewer_sees_everything_and_steers_nothing(paged: Table, visit: Callable[..., Visitor], axe: str) -> None:
    for theme, width in product(("light", "dark"), (1280, PHONE["width"])):
        options: dict[str, Any] = {"color_scheme": theme, "viewport": PHONE | {"width": width}}
        page = visit(VIEWER, **options).page
        page.goto(f"/refreshes/definitions/{paged.name}")
        expect(page.get_by_role("heading", level=1)).to_have_text(paged.name)
        expect(page.get_by_text("You may not change this definition")).to_be_visible()
        expect(page.get_by_role("button")).to_have_count(0)
        keep(page, f"airflow-viewer-{theme}-{width}")
        assert serious(page, axe) == []
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        asked = page.request.post(f"/refreshes/definitions/{paged.name}/pause", form={"token": "guessed"})
        assert asked.status == 403
    assert not paged.refreshes.stored(paged.name).paused
