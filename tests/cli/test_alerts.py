"""The command `alerts`: everything that holds, or what is new since the last call with the same file."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from airflow_refresh_provider.testing.memory_lake import BEGINNING
from tests.cli.conftest import DEFINITION, Program, World

LATE = DEFINITION + "refresh: {{interval: 1 h, target_lag: 2 h}}\n"


@pytest.fixture
def late(world: World, here: Program) -> World:
    """A table that is three hours behind, and may be two."""
    here("register", world.write(text=LATE))
    here("run", "people_copy")
    world.lake.append(world.people, [{"id": 3, "name": "Grace"}])
    world.lake.times[world.people, 2] = BEGINNING - timedelta(hours=3)
    return world


@pytest.mark.usefixtures("late")
def test_alerts_say_what_holds_at_every_call(here: Program) -> None:
    for _ in range(2):
        ended = here("alerts", "--output", "json")
        (alert,) = ended.json["alerts"]
        assert (ended.code, alert["code"], alert["news"]) == (0, "late", None)
        assert alert["since"] == "2023-12-31T23:00:00Z"
    shown = here("alerts", "people_copy").out
    assert "lateness" in shown and "Run: airflow-refresh run people_copy" in shown


@pytest.mark.usefixtures("late")
def test_without_an_alert_the_exit_code_is_4(here: Program) -> None:
    here("run", "people_copy")
    assert (here("alerts", "--output", "json").code, here("alerts").code) == (4, 4)
    assert here("alerts", "--output", "json").json == {"alerts": []}


@pytest.mark.usefixtures("late")
def test_with_a_file_an_alert_is_reported_once_and_once_when_it_is_over(here: Program, tmp_path: Path) -> None:
    given = ("alerts", "--reported", str(tmp_path / "reported.json"))
    assert "started" in here(*given).out
    before = (tmp_path / "reported.json").stat()
    lasting = here(*given, "--output", "json")
    assert (lasting.code, lasting.json["alerts"]) == (4, [])
    after = (tmp_path / "reported.json").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns), "nothing is written for it"
    assert here(*given, "--repeat-after", "0 s", "--output", "json").json["alerts"][0]["news"] == "lasts"
    here("run", "people_copy")
    over = here(*given, "--output", "json")
    assert (over.code, over.json["alerts"][0]["news"]) == (0, "over")
    assert here(*given).code == 4


@pytest.mark.usefixtures("late")
def test_a_file_that_is_none_or_cannot_be_written_is_refused(here: Program, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"format": 2}')
    damaged = here("alerts", "--reported", str(other), "--output", "json")
    assert (damaged.code, damaged.json["error"]["code"]) == (2, "reported_file")
    nowhere = here("alerts", "--reported", str(tmp_path / "none" / "f"), "--output", "json")
    assert (nowhere.code, nowhere.json["error"]["code"]) == (1, "reported_file")
    folder = here("alerts", "--reported", str(tmp_path), "--output", "json")
    assert (folder.code, folder.json["error"]["code"]) == (2, "reported_file")


@pytest.mark.usefixtures("late")
def test_times_are_durations(here: Program) -> None:
    for option in ("--repeat-after", "--retention-below"):
        ended = here("alerts", option, "soon", "--output", "json")
        assert (ended.code, ended.json["error"]["code"]) == (2, "usage")
        assert option in ended.json["error"]["message"]


def test_show_and_list_have_when_a_table_becomes_late(late: World, here: Program) -> None:
    late.lake.times[late.people, 2] = BEGINNING
    here("pause", "people_copy")
    assert "01-01 02:00" in here("list").out
    shown = here("show", "people_copy").out
    assert "2024-01-01 02:00:00 UTC, and no refresh is expected to end before" in shown
    ahead = here("show", "people_copy", "--output", "json").json
    assert (ahead["forecast"]["will_be_late"], ahead["freshness"]["state"]) == (True, "fresh")
