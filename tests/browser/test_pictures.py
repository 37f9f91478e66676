"""The pictures of the docs: the same at each run, small, and what they show is right."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.browser.conftest import Site
from tests.browser.scene import DEFINITION, RUNNING, Scene
from tests.browsing import picture

pytestmark = pytest.mark.slow

LARGEST_BYTES, WIDTH = 150_000, 1200


def test_pictures_of_the_overview_a_definition_and_a_run_are_small(serve: Callable[[Refreshes], Site]) -> None:
    scene = Scene()
    site = serve(scene.refreshes)
    shown = {
        "overview": ("/", 440),
        "definition": (f"/definitions/{DEFINITION}", 1080),
        "run": (f"/definitions/{RUNNING}/runs/{scene.run_id}", 760),
    }
    for name, (address, height) in shown.items():
        page = site.open(address, color_scheme="light", viewport={"width": WIDTH, "height": height})
        expect(page.locator("#live")).to_be_visible()
        assert len(picture(page, name)) <= LARGEST_BYTES, name
