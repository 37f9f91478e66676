"""The page of this machine: who has the address with the token, by a name of this machine."""

from __future__ import annotations

import socket

import pytest
from starlette.testclient import TestClient

from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.page.stand_alone import HOST, TokenGate, address, listening, stand_alone
from tests.unit.page.site import NotedStarter, views_of
from tests.unit.runner.shop import NAME, Shop

GATE = TokenGate("a long secret")


def visitor(base: str = f"http://{HOST}:8790") -> TestClient:
    return TestClient(
        stand_alone(views_of(Shop().refreshes), GATE, NotedStarter()), base_url=base, follow_redirects=False
    )


@pytest.mark.parametrize("path", ["/", f"/definitions/{NAME}", "/static/page.css", "/api/v1/overview", "/?token=x"])
def test_nothing_is_shown_without_the_token(path: str) -> None:
    answer = visitor().get(path)
    assert answer.status_code == 401
    assert "airflow-refresh page" in answer.text
    assert visitor().get(path, cookies={GATE.cookie_name: GATE.token}).status_code == 401


def test_the_address_gives_a_cookie_that_no_script_and_no_other_site_gets() -> None:
    client = visitor()
    answer = client.get(f"/?token={GATE.token}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie and GATE.token not in cookie
    page = client.get("/")
    assert page.status_code == 200 and GATE.token not in page.text and GATE.cookie not in page.text


def test_a_change_needs_the_token_of_the_page_beside_the_cookie() -> None:
    client = visitor()
    client.get(f"/?token={GATE.token}")
    path = f"/definitions/{NAME}/pause"
    assert client.post(path).status_code == 403
    given = client.get(f"/definitions/{NAME}").text.partition('name="token" value="')[2].partition('"')[0]
    assert client.post(path, data={"token": given}).status_code == 303


@pytest.mark.parametrize(("host", "status"), [("evil.example", 400), ("localhost:8790", 401), (f"{HOST}:8790", 401)])
def test_a_name_of_another_machine_is_refused(host: str, status: int) -> None:
    assert visitor(f"http://{host}").get("/").status_code == status
    assert visitor(f"http://{host}").get(f"/?token={GATE.token}").status_code == (status if status == 400 else 303)


def test_every_start_has_a_token_of_its_own() -> None:
    assert len(TokenGate().token) > 30
    assert TokenGate().token != TokenGate().token
    assert TokenGate().cookie_name != TokenGate().cookie_name


def test_the_page_listens_on_this_machine_alone_and_says_where() -> None:
    with listening(0) as at:
        assert at.getsockname()[0] == HOST
        assert address(at, GATE) == f"http://{HOST}:{at.getsockname()[1]}/?token={GATE.token}"


@pytest.mark.parametrize("port", ["taken", "too large"])
def test_a_port_that_cannot_be_had_is_said(port: str) -> None:
    with socket.socket() as other:
        other.bind((HOST, 0))
        other.listen()
        number = other.getsockname()[1] if port == "taken" else 70_000
        with pytest.raises(Invalid) as refused:
            listening(number)
    assert refused.value.code == "port_taken"
