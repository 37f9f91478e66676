"""The connection: what takes precedence over it, its errors when it is missing or broken, and its test button."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_refresh_provider.delta.control.root import make_mark
from airflow_refresh_provider.errors import Failed, Invalid
from airflow_refresh_provider.hooks.refresh_hook import RefreshHook
from tests.airflow.shared import Shared
from tests.unit.runner.world import NAME, TARGET


def test_places_come_from_the_connection(connection: Callable[..., None]) -> None:
    connection(control="/lake/control", spark="sc://spark:15002")
    places = RefreshHook().places()
    assert (places.control, places.spark) == ("/lake/control", "sc://spark:15002")


def test_the_environment_takes_precedence_over_the_connection(connection: Callable[..., None]) -> None:
    connection(control="/lake/control", spark="sc://spark:15002")
    places = RefreshHook().places({"AIRFLOW_REFRESH_CONTROL": "/other"})
    assert (places.control, places.spark) == ("/other", "sc://spark:15002")


@pytest.mark.usefixtures("connection")
def test_without_connection_and_environment_it_says_what_to_create() -> None:
    with pytest.raises(Invalid, match="nor the connection refresh_default says") as caught:
        RefreshHook().places()
    assert "Create the connection refresh_default of type airflow_refresh" in caught.value.next


@pytest.mark.usefixtures("connection")
@pytest.mark.parametrize("extra", ["[1]", "{", '{"control": 7}'])
def test_a_broken_connection_is_named(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_REFRESH_DEFAULT", json.dumps({"conn_type": "airflow_refresh", "extra": extra}))
    with pytest.raises(Invalid, match="refresh_default"):
        RefreshHook().places()


def test_the_test_button_counts_definitions_and_starts_nothing(connection: Callable[..., None], tmp_path: Path) -> None:
    connection(control=str(tmp_path / "control"))
    make_mark(str(tmp_path / "control"))
    fine, message = RefreshHook().test_connection()
    assert fine
    assert message == f"0 definitions in {tmp_path}/control; the embedded Spark server starts when it is needed"


def test_the_test_button_says_where_no_control_root_is_yet(connection: Callable[..., None], tmp_path: Path) -> None:
    connection(control=str(tmp_path / "typo"))
    fine, message = RefreshHook().test_connection()
    assert fine
    assert f"there is no control root at {tmp_path}/typo yet" in message
    assert not (tmp_path / "typo").exists()


def test_a_control_root_that_begins_nowhere_is_refused(connection: Callable[..., None]) -> None:
    connection(control="data/control")
    fine, message = RefreshHook().test_connection()
    assert (fine, "'data/control' is neither an absolute path nor a URI" in message) == (False, True)
    connection(control="s3://lake/control")
    assert RefreshHook().places().control == "s3://lake/control"


def test_the_test_button_finds_a_server_that_does_not_answer(connection: Callable[..., None], tmp_path: Path) -> None:
    connection(control=str(tmp_path / "control"), spark="sc://127.0.0.1:9")
    fine, message = RefreshHook().test_connection()
    assert not fine
    assert "127.0.0.1:9" in message


def test_an_empty_variable_says_nothing(connection: Callable[..., None]) -> None:
    connection(control="/control", spark="sc://cluster:15002")
    places = RefreshHook().places({"AIRFLOW_REFRESH_CONTROL": "", "AIRFLOW_REFRESH_SPARK": ""})
    assert (places.control, places.spark) == ("/control", "sc://cluster:15002")


def test_what_is_published_is_looked_up_where_the_connection_says(
    connection: Callable[..., None], tmp_path: Path
) -> None:
    connection(control=str(tmp_path / "control"))
    with pytest.raises(Invalid, match=f"no definition named 'orders' is registered in {tmp_path}/control"):
        RefreshHook().published("orders")
    with pytest.raises(Invalid, match="nor the connection other says"):
        RefreshHook("other").published("orders")


def test_a_consumer_gets_the_newest_whole_version_and_how_to_read_it(share: Callable[..., Shared]) -> None:
    world = share().world
    with pytest.raises(Failed, match="orders has not been refreshed yet"):
        RefreshHook().published(NAME)
    found, version = (world.run().target_version, RefreshHook().published(NAME))
    assert (version.version, version.target) == (found, TARGET)
    assert version.sql == f"SELECT * FROM delta.`{TARGET}` VERSION AS OF {found}"
