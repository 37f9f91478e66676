"""The page on real control tables: whatever is there, and whatever is asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from airflow_refresh_provider import compose
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.contract.samples import REGISTER, moment, record
from tests.unit.page.site import TOKEN, WITH_TOKEN, browser


@pytest.fixture
def stored(tmp_path: Path) -> Refreshes:
    """Refreshes of one definition in real control tables."""
    found = compose.refreshes(Places(str(tmp_path / "control"), "local", str(tmp_path / "spark")))
    store = found.ports.store
    store.commit(store.read("orders"), record("orders"), REGISTER, moment(0))
    return found


@pytest.mark.parametrize("odd", ["\x00'", "'; DROP TABLE state --", "%", "é\u202e", "a" * 3000, "\\", "\n", '"'])
def test_real_control_tables_are_asked_for_any_name(odd: str, stored: Refreshes) -> None:
    client = browser(stored)
    odd = quote(odd, safe="")
    for api in ("", "/api/v1"):
        assert client.get(f"{api}/definitions/{odd}").status_code == 404
        assert client.get(f"{api}/definitions/orders/runs/{odd}").status_code == 404
        changed = client.post(f"{api}/definitions/{odd}/pause", data={"token": TOKEN}, headers=WITH_TOKEN)
        assert changed.status_code == 404
    assert [record.name for record in stored.ports.store.records()] == ["orders"]


@pytest.mark.parametrize(
    ("damage", "code", "status"),
    [
        (lambda _root: None, None, 200),
        (lambda root: _write(root, '{"format": 99, "control_id": "x"}'), "newer_control_format", 503),
        (lambda root: _write(root, "no JSON"), "control_damaged", 503),
        (lambda root: root.write_text("a file"), "control_not_empty", 503),
    ],
    ids=["missing", "newer", "damaged", "a file"],
)
def test_a_page_opens_whatever_the_control_root_is(
    damage: Callable[[Path], None], code: str | None, status: int, tmp_path: Path
) -> None:
    root = tmp_path / "control"
    damage(root)
    client = browser(compose.refreshes(Places(str(root), "local", str(tmp_path / "spark"))))
    page = client.get("/")
    assert page.status_code == status
    assert (code or "there are no control tables in") in page.text
    answer = client.get("/api/v1/definitions")
    assert answer.status_code == status
    assert answer.json() == [] if code is None else answer.json()["error"]["code"] == code
    assert root.exists() is (code is not None)


def _write(root: Path, text: str) -> None:
    root.mkdir()
    (root / "control.json").write_text(text)
