"""Results as tables: what a list has in a line, what one definition has in full."""

import pytest

from airflow_refresh_provider.core.run.health import Health
from airflow_refresh_provider.core.run.reports import RunStatus
from airflow_refresh_provider.testing.memory_lake import BEGINNING
from airflow_refresh_provider.views.tables import table_of
from tests.cli.conftest import Program, World


def test_tables_are_never_cut_when_another_program_reads_them(world: World, here: Program) -> None:
    names = [f"a_rather_long_name_of_a_definition_number_{number}" for number in range(3)]
    for name in names:
        here("register", world.write(name))
    header, *lines = here("list").out.splitlines()
    assert header.split() == ["name", "status", "data", "as", "of", "behind", "last", "run", "next", "due", "target"]
    assert [line.split()[0] for line in lines] == names
    assert [line.split()[-1] for line in lines] == names


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "people_copy"), ("people_copy", "2 inserted, 0 updated, 0 deleted, 0 unchanged", "1 done")),
        (("show", "people_copy"), ("IDLE", "sha256:", "people")),
        (("history", "people_copy"), ("nothing to show",)),
        (("progress", "people_copy"), ("people_copy", "0")),
        (("recover",), ("clean", "no run is in progress")),
        (("drop", "people_copy"), ("(kept)",)),
    ],
    ids=lambda value: value[0],
)
def test_results_are_tables_by_default(words: tuple[str, ...], said: tuple[str, ...], here: Program) -> None:
    ended = here(*words)
    assert ended.code == 0
    for text in said:
        assert text in ended.out


@pytest.mark.parametrize("owner", [None, "dag refresh.people_copy, " + 200 * "x"])
def test_a_run_is_shown_in_short_in_a_list_and_in_full_by_itself(owner: str | None, registered: World) -> None:
    """Without an owner, tasks of its units may be running."""
    run = RunStatus(
        run_id="id-of-the-run",
        stage="merge",
        owner=owner,
        live=True,
        started_at=BEGINNING,
        generation=1,
        attempts=2,
        chunks_done=3,
        chunks_total=9,
        percent=33.3,
        rows_per_second=20.0,
        seconds_left=65.0,
    )
    shown = registered.refreshes().show("people_copy")
    found = shown.model_copy(update={"run": run, "health": Health.RUNNING})
    assert "running, 33 %, 0:01:05 left" in table_of([found]).rows[0]
    progress = "merge, 3 of 9 chunks (33 %), 20 rows/s, 0:01:05 left"
    whole = f"id-of-the-run, {progress}, attempt 2, held by {owner or 'tasks of the same run'}"
    assert ("run", whole) in table_of(found).rows


@pytest.mark.usefixtures("registered")
def test_history_shows_the_mode_and_why(here: Program) -> None:
    here("run", "people_copy")
    assert "full: it is the first refresh" in here("history", "people_copy").out
