"""The writer of marked commits: what decides whether a commit is in, and how often it is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from airflow_refresh_provider.core.log.marker import Marker, slot_app_id
from airflow_refresh_provider.core.log.note import Note, NoteKind
from airflow_refresh_provider.core.plan.plan import Target
from airflow_refresh_provider.core.run.prepared import prepared
from airflow_refresh_provider.errors import Conflict, Failed, Lost, Retry
from airflow_refresh_provider.ports.tasks import Stamp
from airflow_refresh_provider.runner.hold.marked_commits import MarkedCommit, commit_of, commit_until_marked
from airflow_refresh_provider.runner.hold.tenure import Tenure
from tests.unit.runner.disturbed import LIVE, changed, cut_off
from tests.unit.runner.faults import at, disconnected
from tests.unit.runner.world import NAME, World

SLOT = 3
CONFLICT = Conflict("conflict", "another commit came first", left="Not committed.", next="Run again.")
EXHAUSTED = Retry("exhausted", "no try got through", left="Nothing.", next="Run again.")


class Writer:
    """An owner of an interrupted run that commits markers to a slot of its own."""

    def __init__(self) -> None:
        self.world: World = changed(**LIVE)
        with at(self.world.lake, "begin /gold"):
            assert cut_off(self.world)
        run = self.world.interrupted
        self.target: Target = prepared(run).target
        self.tenure = Tenure(self.world.ports, NAME, run.run_id, run.generation)
        self.session = self.world.ports.engine.open("writer")
        self.app_id = slot_app_id(self.target.table_id, SLOT)
        self.sent = 0

    def stamp(self, generation: int = 0) -> Stamp:
        generation = generation or self.tenure.generation
        note = Note(kind=NoteKind.FENCE, definition=NAME, run=self.tenure.run_id, generation=generation)
        return Stamp(app_id=self.app_id, marker=Marker(generation, 1), note=note)

    def mark(self, stamp: Stamp) -> None:
        self.session.mark(self.target, stamp)

    def commit(self, *answers: Callable[[Stamp], object], **how: Any) -> Stamp:
        """Commit with these outcomes of the tries, one after the other, the last one for all further tries."""

        def send(stamp: Stamp) -> None:
            self.sent += 1
            answers[min(self.sent, len(answers)) - 1](stamp)

        given: dict[str, Any] = {"stamp": self.stamp, "tries": 3, "exhausted": lambda: EXHAUSTED} | how
        return commit_until_marked(self.tenure, MarkedCommit(target=self.target, send=send, **given))


def nothing(_stamp: Stamp) -> None:
    """An empty answer, and no commit."""


def conflict(_stamp: Stamp) -> None:
    raise CONFLICT


def unknown(_stamp: Stamp) -> None:
    raise disconnected()


def test_a_commit_is_sent_until_its_marker_is_in_the_log() -> None:
    writer = Writer()
    before = len(writer.world.commits)
    stamp = writer.commit(nothing, conflict, writer.mark)
    assert writer.sent == 3
    assert commit_of(writer.world.ports, writer.target, stamp, before - 1).version == before


def test_after_the_last_try_the_given_error_is_raised() -> None:
    writer = Writer()
    with pytest.raises(Retry) as caught:
        writer.commit(conflict)
    assert (caught.value.code, writer.sent) == ("exhausted", 3)


def test_an_error_of_unknown_outcome_is_raised_when_the_marker_is_not_in_the_log() -> None:
    writer = Writer()
    with pytest.raises(Retry, match="connection"):
        writer.commit(unknown, writer.mark)
    assert writer.sent == 1


@pytest.mark.parametrize("settled", [True, False])
def test_an_error_of_unknown_outcome_is_dropped_when_the_marker_is_in_the_log(settled: bool) -> None:
    writer = Writer()

    def committed(stamp: Stamp) -> None:
        writer.mark(stamp)
        raise disconnected()

    if settled:
        assert writer.commit(committed) == writer.stamp()
    else:
        with pytest.raises(Retry, match="connection"):
            writer.commit(committed, settled_by_log=False)


@pytest.mark.parametrize("answer", [nothing, conflict, unknown])
def test_a_younger_marker_means_that_the_owner_has_lost(answer: Callable[[Stamp], None]) -> None:
    writer = Writer()
    writer.mark(writer.stamp(writer.tenure.generation + 1))
    with pytest.raises(Lost):
        writer.commit(answer)


def test_the_log_is_read_before_the_first_try_only_on_request() -> None:
    writer = Writer()
    writer.mark(writer.stamp())
    assert writer.commit(nothing, look_first=True) == writer.stamp()
    assert writer.sent == 0
    writer.commit(nothing)
    assert writer.sent == 1


def test_a_stamp_that_moves_is_committed_again() -> None:
    writer = Writer()
    markers = iter((1, 2, 2))

    def moving() -> Stamp:
        return writer.stamp().model_copy(update={"marker": Marker(writer.tenure.generation, next(markers), fence=True)})

    assert writer.commit(writer.mark, stamp=moving).marker.chunk == 2
    assert writer.sent == 2


def test_checks_run_before_each_try_and_between_tries() -> None:
    writer = Writer()
    calls: list[object] = []
    with pytest.raises(Retry):
        writer.commit(
            conflict,
            nothing,
            tries=2,
            before=lambda: calls.append("before"),
            again=lambda error, left: calls.append((error, left)),
        )
    assert calls == ["before", (CONFLICT, 1), "before", (None, 0)]


def test_a_marker_without_its_commit_is_that_of_another_table() -> None:
    writer = Writer()
    writer.mark(writer.stamp())
    with pytest.raises(Failed, match="no longer the table"):
        commit_of(writer.world.ports, writer.target, writer.stamp(), len(writer.world.commits))
