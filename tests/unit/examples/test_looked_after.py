"""`make up` watches what it has started, keeps its password, and is ended by `make down` and nothing else is."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.runner.steps import one_task
from examples import parked, recorded
from examples.lake import Lake
from examples.local_airflow import LocalAirflow
from examples.recorded import UP, Recorded
from examples.take_down import down
from tests.unit.runner.phased import BY_VNODE, MINE, changed, loaded, merged, started
from tests.unit.runner.world import NAME

WAITS = "import signal, sys, time; signal.signal(signal.SIGINT, lambda *_: sys.exit(0)); print('up', flush=True)"
WAITS += "; time.sleep(60)"


class Pretended(LocalAirflow):
    """An Airflow whose components are other programs, by name; the migration ends at once."""

    programs: dict[str, str]

    def _popen(self, name: str, *words: str) -> subprocess.Popen[bytes]:
        with self._log(name).open("ab") as log:
            return subprocess.Popen([sys.executable, "-c", self.programs.get(name, "")], stdout=log, stderr=log)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path / ".demo")
    lake.root.mkdir()
    return lake


def pretended(lake: Lake, **programs: str) -> Pretended:
    found = Pretended(lake, lake.root, 0, {})
    found.programs = programs
    return found


def looked_after(airflow: LocalAirflow) -> None:
    for _ in range(400):
        time.sleep(0.05)
        airflow.look_after()


@contextmanager
def process(program: str = WAITS) -> Iterator[subprocess.Popen[bytes]]:
    """A program that has started to wait for SIGINT."""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert child.stdout
    child.stdout.readline()
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def test_a_component_that_ends_is_started_again_three_times_and_then_everything_stops(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    airflow = pretended(lake, triggerer="print('database is locked')")
    airflow.start(["triggerer"])
    with pytest.raises(SystemExit) as ended:
        looked_after(airflow)
    assert "database is locked" in str(ended.value)
    assert "started again 3 times before" in str(ended.value)
    said = capsys.readouterr().out
    assert [f"({n} of 3 times)" in said for n in (1, 2, 3, 4)] == [True, True, True, False]
    assert "database is locked\nAirflow's triggerer has ended. Its log is" in said


def test_the_password_is_that_of_the_last_time(lake: Lake) -> None:
    first, other = pretended(lake), Lake(lake.root / "other")
    first.start([])
    assert pretended(lake).password == first.password
    assert pretended(other).password != first.password
    assert first.passwords.stat().st_mode & 0o077 == 0


def test_down_interrupts_the_program_that_is_recorded_and_no_other(lake: Lake) -> None:
    with process() as program, process() as bystander:
        recorded.save(lake.root, [Recorded.of(UP, program.pid)])
        assert down(lake) is None
        assert program.wait(10) == 0
        assert bystander.poll() is None


def test_down_ends_the_components_that_a_killed_program_has_left(lake: Lake) -> None:
    with process() as component, process() as reused:
        old = Recorded("scheduler", reused.pid, Recorded.of("", reused.pid).started - 3600)
        recorded.save(lake.root, [Recorded.of("triggerer", component.pid), old])
        assert down(lake) is None
        component.wait(10)
        assert reused.poll() is None, "its id is recorded, but it is another process"
    assert recorded.load(lake.root) == []


def test_down_without_a_record_does_nothing(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    assert down(lake) is None
    assert "No `make up` is running here." in capsys.readouterr().out


def test_a_run_that_is_parked_for_an_airflow_that_was_stopped_is_released(capsys: pytest.CaptureFixture[str]) -> None:
    world = changed(**BY_VNODE)
    started(world)
    merged(world, loaded(world)[0])
    parked.release_all(world.process())
    assert f"The refresh of {NAME} is unfinished" in capsys.readouterr().out
    parked.release_all(world.process())
    assert capsys.readouterr().out == ""
    result = world.another()
    assert (result.resumed, world.fresh()) == (True, True)
    assert result.chunks.skipped > 0


def test_a_run_of_the_command_line_is_left_alone() -> None:
    world = changed(**BY_VNODE)
    started(world)
    one_task.interrupt(world.process(), NAME, MINE)
    before = world.record
    parked.release_all(world.process())
    assert world.record == before
    assert world.another(Request()).resumed
