"""What a caller sees when storage with the protocol of S3 refuses: real clients, at a server on loopback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_refresh_provider.delta.storage.object_stores import make_store, storage
from airflow_refresh_provider.delta.tables.target_log import DeltaTableLog
from airflow_refresh_provider.errors import Failed
from tests.serving import answering, certified

PLACE = "s3://lake/control"
CODES = {
    "InvalidAccessKeyId": "The key does not exist in our records.",
    "SignatureDoesNotMatch": "The signature that we calculated is another one.",
    "AccessDenied": "Access Denied",
}


def _list() -> None:
    list(make_store(PLACE).list())


def _read() -> None:
    make_store(PLACE).get("state/a").bytes()


def _open() -> None:
    DeltaTableLog().facts(PLACE)


Refused = Callable[[str, Callable[[], None]], Failed]
"""What an act at an endpoint is refused with."""


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> Refused:
    """Acts with wrong keys, which the clients read from the environment, as they do the endpoint."""
    keys = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "wrong")
    given = {**keys, "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true", "NO_PROXY": "127.0.0.1"}

    def meet(endpoint: str, act: Callable[[], None]) -> Failed:
        for name, value in (given | {"AWS_ENDPOINT_URL": endpoint}).items():
            monkeypatch.setenv(name, value)
        with pytest.raises(Failed) as caught, storage("reading the control tables", PLACE):
            act()
        return caught.value

    return meet


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("act", [_list, _read, _open])
def test_wrong_credentials_are_no_reason_to_try_again(refused: Refused, act: Callable[[], None], code: str) -> None:
    answer = f"<Error><Code>{code}</Code><Message>{CODES[code]}</Message><RequestId>1</RequestId></Error>"
    with answering(403, answer) as place:
        error = refused(f"http://{place}", act)
    assert (error.code, PLACE in error.message) == ("storage_denied", True)
    assert f"{code}: {CODES[code]}" in error.message
    assert "credentials" in error.next


@pytest.mark.parametrize("act", [_list, _read, _open])
def test_a_certificate_that_is_not_trusted_is_named(refused: Refused, tmp_path: Path, act: Callable[[], None]) -> None:
    with answering(200, "", certified(tmp_path)) as place:
        error = refused(f"https://{place}", act)
    assert (error.code, PLACE in error.message) == ("storage_tls", True)
    assert "SSL_CERT_FILE" in error.next
