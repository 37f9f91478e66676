"""A person with a browser in a real Airflow."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import Browser, FrameLocator, Page, expect

from examples.local_airflow import LocalAirflow

SLOW_MS = 150_000
"""Tasks of a DAG run start and end while a person waits."""
_SHOWN = 'iframe[title^="Refresh"]'
"""Where Airflow shows the page, beside its own navigation."""


class Visitor:
    """A signed-in user. `options` are those of the browser, such as its theme or its size."""

    def __init__(self, browser: Browser, airflow: LocalAirflow, user: str, **options: Any) -> None:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, "base_url": airflow.url} | options)
        context.set_default_timeout(SLOW_MS)
        self.page: Page = context.new_page()
        self._sign_in(user, json.loads(airflow.passwords.read_text())[user])

    @property
    def shown(self) -> FrameLocator:
        """The page, as a part of Airflow's."""
        return self.page.frame_locator(_SHOWN)

    def browse_refreshes(self) -> None:
        """From Airflow's navigation to all definitions."""
        self.page.get_by_role("button", name="Browse").click()
        self.page.get_by_role("menuitem", name="Refreshes").click()

    def sees(self, text: str) -> None:
        """Wait until the page shows a text."""
        expect(self.shown.get_by_text(text).first).to_be_visible(timeout=SLOW_MS)

    def sees_heading(self, text: str) -> None:
        """Wait for a page."""
        expect(self.shown.get_by_role("heading", level=1)).to_have_text(text, timeout=SLOW_MS)

    def follow(self, link: str) -> None:
        """Follow a link of the page."""
        self.shown.get_by_role("link", name=link, exact=True).first.click()

    def press(self, button: str) -> None:
        """Press a button of the page."""
        self.shown.get_by_role("button", name=button, exact=True).click()

    def sees_cells(self, kind: str, count: int) -> None:
        """Wait until the map has so many chunks of a kind, or more."""
        expect(self.shown.locator(f"rect.{kind}").nth(count - 1)).to_be_visible(timeout=SLOW_MS)

    def sees_health(self, text: str) -> None:
        """Wait until a definition is like that."""
        expect(self.shown.locator("#live .badge").first).to_contain_text(text, timeout=SLOW_MS)

    def sees_fact(self, name: str, value: str) -> None:
        """Wait until a fact has a value."""
        fact = self.shown.locator("dl.facts div", has=self.page.get_by_role("term").get_by_text(name, exact=True))
        expect(fact.get_by_role("definition")).to_have_text(value, timeout=SLOW_MS)

    def _sign_in(self, user: str, password: str) -> None:
        self.page.goto("/")
        self.page.locator("input[name=username]").fill(user)
        self.page.locator("input[name=password]").fill(password)
        self.page.locator("button[type=submit]").click()
        expect(self.page.get_by_role("button", name="Browse")).to_be_visible(timeout=SLOW_MS)
