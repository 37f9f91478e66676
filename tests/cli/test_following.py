"""Following a run that continues only while its follower sleeps, to its next commit each time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from greenlet import GreenletExit, getcurrent, greenlet

from airflow_refresh_provider.cli.call import Call, Composition
from airflow_refresh_provider.cli.run_commands import progress
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.definition_files import read_definitions
from airflow_refresh_provider.ports.watch import Committed
from tests.cli.conftest import DEFINITION, Program, World
from tests.napping import Nap

NAME = "people_copy"
ROW_BY_ROW = """
visibility: live
chunking: {{one_commit_up_to: 1, chunk_rows: 1}}
"""


class Recorder:
    """A watch that records its calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    def stage(self, name: str, rows: int | None = None, chunks: int | None = None, *, part: str = "chunk") -> None:
        self.calls.append((name, rows, chunks))

    def advance(self, rows: int, chunks: int = 1) -> None:
        self.calls.append((rows, chunks))

    def skip(self, rows: int, chunks: int) -> None:
        raise AssertionError("a follower skips nothing")

    def committed(self, chunk: Committed) -> None:
        raise AssertionError("a follower commits nothing")

    def note(self, message: str) -> None:
        self.calls.append((message,))


@pytest.fixture
def run(world: World) -> Iterator[greenlet]:
    """A run of two chunks that is about to commit the first."""
    (definition,) = read_definitions(world.write(text=DEFINITION + ROW_BY_ROW))
    world.refreshes().register(definition)
    world.lake.append(world.people, [{"id": 3, "name": "Grace"}])
    world.refreshes().run(NAME, Request())
    world.lake.rewrite(world.people, lambda row: {**row, "name": "Mary"})
    follower, commit = getcurrent(), f"commit {world.folder / 'gold' / NAME}"
    run = greenlet(lambda: world.refreshes().run(NAME, Request(workers=1)))

    def step(what: str) -> None:
        if getcurrent() is run and what == commit:
            follower.switch()

    world.lake.step = step
    run.switch()
    yield run
    if not run.dead:
        run.throw(GreenletExit)


@pytest.fixture
def composition(world: World, run: greenlet) -> Composition:
    return partial(world.refreshes, clock=Nap(run.switch))


def test_following_a_run_ends_with_the_run(run: greenlet, here: Program) -> None:
    ended = here("progress", NAME, "--follow", "--output", "json")
    assert run.dead
    assert (ended.code, ended.json["stage"], ended.json["chunks_done"]) == (0, None, 2)
    assert ended.err == "merge: 3 rows, 2 chunks\n"


def test_following_starts_with_the_progress_so_far(
    run: greenlet, composition: Composition, environment: dict[str, str]
) -> None:
    run.switch()
    watch = Recorder()
    progress(Call(None, None, watch, composition, environment), NAME, follow=True)
    assert watch.calls == [("merge", 3, 2), (2, 1), (1, 1)]
