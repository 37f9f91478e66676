"""The page in a real browser: what is seen, that it lives, dark and light, on a phone, and for all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.browser.conftest import Site
from tests.browsing import PHONE, keep, serious
from tests.unit.page.test_pages import HOSTILE, interrupted
from tests.unit.runner.queued import FULL, PLAIN, held, ids, queued
from tests.unit.runner.shop import NAME, ONE, TARGET, Shop, order
from tests.unit.runner.world import NAME as ORDERS
from tests.unit.runner.world import World

pytestmark = pytest.mark.slow

POLLED_MS = 6_000


def shop() -> Shop:
    """Tables of many kinds: fresh, late, running, never refreshed, suspended, and one with a hostile owner."""
    made = Shop(refresh={"on_change": True, "target_lag": "10 seconds"}, tags=["sales"], owner="ada")
    made.begin()
    for name, read in (("best_customers", TARGET), ("report", "/gold/best_customers")):
        made.refreshes.register(
            Definition.build(
                name=name,
                target=f"/gold/{name}",
                query="SELECT k FROM x",
                inputs={"x": {"path": read}},
                keys=["k"],
                owner=HOSTILE,
                description=HOSTILE,
            )
        )
    made.refreshes.run("best_customers", ONE)
    made.refreshes.suspend("report", "its source is wrong")
    return made


def waiting() -> World:
    """A run in progress, and two requests that wait for its end."""
    world = held()
    for request in (FULL, PLAIN):
        queued(world, request)
    return world


def again() -> World:
    """A run that another process has resumed and brought to its end."""
    world = interrupted()
    world.die(world.ports)
    world.another()
    return world


def poll(page: Page) -> None:
    """What the page does when it is seen again, instead of waiting for some seconds."""
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def test_from_all_definitions_to_one_to_a_run(serve: Callable[[Refreshes], Site]) -> None:
    site = serve(shop().refreshes)
    page = site.open()
    expect(page.locator("tbody tr")).to_have_count(3)
    assert "token" not in page.url
    page.get_by_role("link", name=NAME).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(NAME)
    expect(page.locator("rect.full")).to_have_count(2)
    page.get_by_role("link", name="UTC").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Run of {NAME}")
    expect(page.get_by_text("verified")).to_be_visible()


def test_the_page_lives_without_being_loaded_again(serve: Callable[[Refreshes], Site]) -> None:
    made = shop()
    page = serve(made.refreshes).open()
    page.evaluate("window.loadedOnce = true")
    row = page.locator("tr", has=page.get_by_role("link", name=NAME, exact=True))
    expect(row).to_contain_text("fresh")
    made.lake.append("/in/orders", [order(100, 1)])
    made.refreshes.ports.clock.sleep(60)
    poll(page)
    expect(row).to_contain_text("late")
    page.get_by_label("Search").fill("best")
    expect(page.locator("tbody tr")).to_have_count(1)
    assert "search=best" in page.url
    poll(page)
    expect(page.locator("tbody tr")).to_have_count(1)
    assert page.evaluate("window.loadedOnce") is True


def test_a_page_that_is_not_seen_does_not_ask(serve: Callable[[Refreshes], Site]) -> None:
    page = serve(shop().refreshes).open()
    asked: list[str] = []
    page.on("request", lambda request: asked.extend([request.url] * ("/static/" not in request.url)))
    page.wait_for_timeout(POLLED_MS)
    assert len(asked) == 1
    page.evaluate("Object.defineProperty(document, 'hidden', {get: () => true})")
    page.wait_for_timeout(POLLED_MS)
    assert len(asked) == 1


@pytest.mark.parametrize("status", [None, 500, 502])
def test_a_server_that_does_not_answer_is_said_and_what_was_shown_stays(
    serve: Callable[[Refreshes], Site], status: int | None
) -> None:
    page = serve(shop().refreshes).open(heard=False)
    lost = page.get_by_text("The server does not answer")
    expect(lost).not_to_be_visible()

    def fail(route: Route) -> None:
        route.abort() if status is None else route.fulfill(status=status, body="out of order")

    page.route("**/*", fail)
    poll(page)
    expect(lost).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(3)
    page.unroute_all()
    poll(page)
    expect(lost).not_to_be_visible()


def test_a_definition_is_paused_and_resumed_by_its_buttons(serve: Callable[[Refreshes], Site]) -> None:
    made = shop()
    page = serve(made.refreshes).open(f"/definitions/{NAME}")
    page.get_by_role("button", name="Pause").press("Enter")
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    assert made.refreshes.stored(NAME).paused
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.get_by_label("because").fill('it\'s "wrong" <b>')
    poll(page)
    page.get_by_role("button", name="Suspend").click()
    expect(page.get_by_text('it\'s "wrong" <b>').first).to_be_visible()
    assert made.refreshes.stored(NAME).suspended == 'it\'s "wrong" <b>'


@pytest.mark.parametrize("scripts", [True, False])
def test_a_run_is_cancelled_once_that_is_confirmed(serve: Callable[[Refreshes], Site], *, scripts: bool) -> None:
    world = interrupted()
    page = serve(world.refreshes).open(f"/definitions/{ORDERS}", java_script_enabled=scripts)
    page.get_by_role("link", name="Cancel the run").click()
    page.get_by_role("link", name="back").click()
    assert world.interrupted.cancelled is None
    page.get_by_role("link", name="Cancel the run").click()
    page.get_by_label("the next run resumes it").check()
    page.get_by_role("button", name="Cancel the run").click()
    expect(page.get_by_text("the next run resumes it").first).to_be_visible()
    assert world.interrupted.cancelled is not None and not world.interrupted.cancelled.abandon


@pytest.mark.parametrize("scripts", [True, False])
def test_a_refresh_is_requested_with_its_options(serve: Callable[[Refreshes], Site], *, scripts: bool) -> None:
    page = serve(shop().refreshes).open(f"/definitions/{NAME}", java_script_enabled=scripts)
    page.get_by_role("link", name="Refresh now").click()
    page.get_by_label("mode").select_option("full")
    page.get_by_label("force").check()
    page.get_by_role("button", name="Refresh now").click()
    expect(page.get_by_text("a noted run")).to_be_visible()


def test_a_map_of_chunks_fills(serve: Callable[[Refreshes], Site]) -> None:
    world = interrupted()
    run_id = world.interrupted.run_id
    page = serve(world.refreshes).open(f"/definitions/{ORDERS}/runs/{run_id}")
    keep(page, "run")
    expect(page.locator("rect.done")).to_have_count(4)
    expect(page.locator("rect.running")).to_have_count(1)
    world.die(world.ports)
    world.another()
    poll(page)
    expect(page.locator("rect.earlier")).to_have_count(4)
    expect(page.locator("rect.done")).to_have_count(4)
    expect(page.locator("rect.waiting")).to_have_count(0)


def test_airflows_theme_is_followed_and_else_that_of_the_browser(serve: Callable[[Refreshes], Site]) -> None:
    page = serve(shop().refreshes).open(color_scheme="dark")

    def ground() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    assert ground() == "rgb(20, 23, 27)"
    page.evaluate("window.localStorage.setItem('theme', 'light')")
    page.reload()
    assert ground() == "rgb(255, 255, 255)"
    page.evaluate("window.localStorage.setItem('theme', 'system')")
    page.reload()
    assert ground() == "rgb(20, 23, 27)"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, PHONE["width"]])
def test_every_page_fits_and_axe_finds_nothing_serious(
    serve: Callable[[Refreshes], Site], axe: str, theme: str, width: int
) -> None:
    made = shop()
    made.lake.append("/in/orders", [order(100, 1)])
    run_id = made.refreshes.history(NAME)[0].run_id
    site = serve(made.refreshes)
    broken = interrupted()
    running = serve(broken.refreshes)
    waited_for = waiting()
    waits = serve(waited_for.refreshes)
    resumed = again()
    taken = serve(resumed.refreshes)
    # Axe tries styles of its own, which the browser refuses.
    options: dict[str, Any] = {"heard": False, "color_scheme": theme, "viewport": PHONE | {"width": width}}
    pages = {
        "overview": site.open(**options),
        "costs": site.open("/costs", **options),
        "definition": site.open(f"/definitions/{NAME}", **options),
        "hostile": site.open("/definitions/report", **options),
        "ended": site.open(f"/definitions/{NAME}/runs/{run_id}", **options),
        "running": running.open(f"/definitions/{ORDERS}", **options),
        "queue": waits.open(f"/definitions/{ORDERS}", **options),
        "attempts": taken.open(f"/definitions/{ORDERS}/runs/{resumed.refreshes.history(ORDERS)[0].run_id}", **options),
        "refresh": site.open(f"/definitions/{NAME}/refresh", **options),
        "cancel": running.open(f"/definitions/{ORDERS}/runs/{broken.interrupted.run_id}/cancel", **options),
    }
    for name, page in pages.items():
        keep(page, f"{name}-{theme}-{width}")
        assert serious(page, axe) == [], name
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width, name


def tabbed_to(page: Page, selector: str) -> None:
    """Press Tab until something has the focus; what cannot be reached by keyboard is not found."""
    page.locator("body").press("Home")
    for _ in range(100):
        page.keyboard.press("Tab")
        if page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
            return
    raise AssertionError(f"{selector} cannot be reached by keyboard")


@pytest.mark.parametrize("width", [1280, PHONE["width"]])
def test_a_request_is_removed_from_the_queue_by_keyboard(serve: Callable[[Refreshes], Site], width: int) -> None:
    world = waiting()
    first, second = ids(world)
    page = serve(world.refreshes).open(f"/definitions/{ORDERS}", viewport=PHONE | {"width": width})
    expect(page.get_by_role("button", name="Remove request")).to_have_count(2)
    tabbed_to(page, f"#do-remove-{first}")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Remove request")).to_have_count(1)
    assert ids(world) == [second]


@pytest.mark.parametrize("width", [1280, PHONE["width"]])
def test_costs_are_reached_and_read_by_keyboard(serve: Callable[[Refreshes], Site], width: int) -> None:
    page = serve(shop().refreshes).open(viewport=PHONE | {"width": width})
    tabbed_to(page, "#costs")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Costs")
    table = page.get_by_role("table", name="By definition")
    expect(table.get_by_role("rowheader")).to_have_count(2)
    if width == PHONE["width"]:  # each cell has its header before it
        cell = table.get_by_role("cell").nth(2)
        assert cell.evaluate("(cell) => getComputedStyle(cell, '::before').content") == '"worked"'
    else:
        expect(table.get_by_role("columnheader")).to_have_count(8)
    tabbed_to(page, ".scroll")
    tabbed_to(page, f"#cost-of-{NAME}")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(NAME)


def test_on_a_phone_captions_are_lines_and_the_newest_day_is_seen(serve: Callable[[Refreshes], Site]) -> None:
    page = serve(shop().refreshes).open("/costs", viewport=PHONE)
    line = page.get_by_text("By day in UTC").bounding_box()
    assert line is not None and line["height"] < 40
    expect(page.locator("#to-read rect")).to_be_in_viewport()
    left = page.locator("#to-read").evaluate("(box) => box.scrollWidth - box.clientWidth - box.scrollLeft")
    assert left <= 1


def test_boxes_to_tick_stand_beside_their_labels(serve: Callable[[Refreshes], Site]) -> None:
    page = serve(shop().refreshes).open(f"/definitions/{NAME}/refresh")
    box, label = page.locator("#force").bounding_box(), page.locator("label[for=force]").bounding_box()
    assert box is not None and label is not None
    assert abs(box["y"] + box["height"] / 2 - label["y"] - label["height"] / 2) < 4


def test_texts_of_users_do_nothing(serve: Callable[[Refreshes], Site]) -> None:
    page = serve(shop().refreshes).open("/definitions/report")
    assert page.evaluate("document.scripts.length") == 3
    expect(page.get_by_text(HOSTILE).first).to_be_visible()
