"""A real browser, and the page of this machine over refreshes in memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, Page

from airflow_refresh_provider.page.stand_alone import TokenGate, address, listening, stand_alone
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.browsing import axe as axe
from tests.browsing import chromium as chromium
from tests.unit.page.site import NotedStarter, views_of


@dataclass
class Site:
    """The page at an address, and what browsers have complained about."""

    url: str
    browser: Browser
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str = "/", *, heard: bool = True, **options: Any) -> Page:
        """A browser of its own at a page; `options` are those of a context, such as its theme. `heard`: complaints
        count.
        """
        page = self.browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | options).new_page()
        if heard:
            page.on("console", lambda said: self._note(said.type, said.text))
            page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(self.url)
        if path != "/":
            page.goto(self.url.partition("/?")[0] + path)
        return page

    def _note(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(text)


@pytest.fixture
def serve(chromium: Browser) -> Iterator[Callable[[Refreshes], Site]]:
    """Serves refreshes until the test ends; nothing that a browser complains about is overlooked."""
    servers: list[uvicorn.Server] = []
    sites: list[Site] = []

    def start(refreshes: Refreshes) -> Site:
        gate, at = TokenGate(), listening(0)
        config = uvicorn.Config(stand_alone(views_of(refreshes), gate, NotedStarter()), log_level="warning")
        servers.append(uvicorn.Server(config))
        threading.Thread(target=servers[-1].run, kwargs={"sockets": [at]}, daemon=True).start()
        while not servers[-1].started:
            time.sleep(0.01)
        sites.append(Site(address(at, gate), chromium))
        return sites[-1]

    yield start
    for context in chromium.contexts:
        context.close()
    for server in servers:
        server.should_exit = True
    assert [complaint for site in sites for complaint in site.complaints] == []
