"""The steps that scenarios are written in. Each gives directions to be followed in order."""

from __future__ import annotations

import shutil
import signal
import time
from enum import StrEnum
from typing import Any

from pyspark.errors import PySparkException

from airflow_refresh_provider.core.run.results import Outcome
from tests.crash import points
from tests.crash.holds import Point
from tests.crash.lake import NAME
from tests.crash.stage import Direction, Ended, Stage

CONFLICTS = 30
"""How often another writer tries a statement that loses against another commit."""

FIRST = "first"
SECOND = "second"

CUT_OFF = ("spark_unreachable", "session_lost", "statement_cancelled", "spark_no_message")
"""The error codes of a server that died, by how much of its end the client still saw."""

Directions = tuple[Direction, ...]


class Victim(StrEnum):
    """Who is killed."""

    CLIENT = "client"
    SERVER = "server"
    BOTH = "both"


def hold(name: str, point: Point) -> Direction:
    """The first process that reaches the point is stopped there."""
    return lambda stage: stage.hold(name).arm(point)


def start(client: str, *words: str, instead_of: str | None = None) -> Direction:
    """Start a client; `instead_of` another, which counts as gone."""

    def act(stage: Stage) -> None:
        gone = (stage.clients[instead_of].pid,) if instead_of else ()
        stage.start(client, gone, words)

    return act


def reached(name: str) -> Direction:
    """Wait until a process is stopped by the hold."""
    return lambda stage: stage.hold(name).wait_until_held()


def release(name: str) -> Direction:
    """Let the stopped process continue."""
    return lambda stage: stage.hold(name).release()


def no_room(place: str) -> Direction:
    """From now on there is no room on the disk for files of Spark's whose paths have this part."""
    return lambda stage: stage.hold("room").arm(points.written(place))


def room_again() -> Direction:
    """There is room on the disk again."""
    return lambda stage: stage.hold("room").release()


def over(name: str) -> Direction:
    """Wait until the statement that was stopped by the hold has ended."""
    return lambda stage: stage.hold(name).wait_until_over()


def withdraw() -> Direction:
    """Release and delete all holds."""
    return lambda stage: stage.clear_holds()


def kill(client: str) -> Direction:
    """SIGKILL a client."""
    return lambda stage: stage.clients.pop(client).kill()


def asked_to_stop(client: str) -> Direction:
    """Ctrl-C for a client."""
    return lambda stage: stage.clients[client].send(signal.SIGINT)


def freeze(client: str) -> Direction:
    """SIGSTOP a client."""
    return lambda stage: stage.clients[client].send(signal.SIGSTOP)


def quiet(seconds: float) -> Direction:
    """No process does anything for so long."""
    return lambda _stage: time.sleep(seconds)


def thaw(client: str) -> Direction:
    """SIGCONT a client."""
    return lambda stage: stage.clients[client].send(signal.SIGCONT)


def kill_server() -> Direction:
    """SIGKILL the Spark server. The next client finds a new one."""
    return lambda stage: stage.server.kill()


def ended(client: str, code: int = 0, *errors: str) -> Direction:
    """Wait until a client has ended as said: with this exit code, and one of the errors if any are named."""

    def act(stage: Stage) -> None:
        found = stage.clients.pop(client).ended()
        assert found.code == code, f"{client} ended with {found.code}: {found.out}{found.err}"
        if errors:
            check_reported(found, *errors)
        if code == 0:
            _remember(stage, found)

    return act


def cut_off(client: str) -> Direction:
    """Wait until a client has ended whose server was killed, too early or just too late to keep it from finishing."""

    def act(stage: Stage) -> None:
        found = stage.clients.pop(client).ended()
        if found.code == 0:
            _remember(stage, found)
        else:
            check_cut_off(found)

    return act


def check_cut_off(ended: Ended, *more: str) -> None:
    """A client that could not finish because its server died reports that, or one of `more`, and nothing else."""
    assert ended.code == 1, ended
    check_reported(ended, *CUT_OFF, *more)


def check_reported(ended: Ended, *errors: str) -> None:
    """A client has ended with one of these errors, reported in all its parts and without a stack trace."""
    assert ended.error in errors, ended
    assert all(ended.result["error"][part].strip() for part in ("message", "left", "next")), ended
    assert not any(sign in ended.out + ended.err for sign in ("Traceback", "\tat ", "SQLSTATE")), ended


def _remember(stage: Stage, ended: Ended) -> None:
    if ended.result["outcome"] == Outcome.SUCCEEDED:
        stage.last = ended


def by_others(*statements: str) -> Direction:
    """Another writer runs SQL; `{target}` stands for the target, `{published}` for its published version."""

    def act(stage: Stage) -> None:
        published = stage.refreshes().show(NAME).published_version
        for statement in statements:
            _until_it_wins(stage, statement.format(target=f"delta.`{stage.lake.target}`", published=published))

    return act


def _until_it_wins(stage: Stage, statement: str) -> None:
    """The statement of a killed client may still be running and win first."""
    for left in reversed(range(CONFLICTS)):
        try:
            stage.sql(statement)
            return
        except PySparkException as error:
            if "CONCURRENT" not in (error.getCondition() or str(error)) or not left:
                raise
            time.sleep(1)


def changed_input(files: int = 1) -> Direction:
    """The input changes."""
    return lambda stage: stage.lake.change(files)


def registered(**changes: Any) -> Direction:
    """The definition is registered once more, with some fields changed."""

    def act(stage: Stage) -> None:
        stage.refreshes().register(stage.lake.definition(**changes))

    return act


def recovered() -> Direction:
    """Interrupted runs are recovered."""

    def act(stage: Stage) -> None:
        stage.refreshes().recover(NAME)

    return act


def dropped() -> Direction:
    """The definition is dropped, and its run is stopped."""

    def act(stage: Stage) -> None:
        stage.refreshes().drop(NAME, stop=True)

    return act


def lost_control() -> Direction:
    """The control root is gone, staging and all."""
    return lambda stage: shutil.rmtree(stage.control)


def dies(victim: Victim, at: Point) -> Directions:
    """A client comes to the point, and there the victim is killed."""
    coming = (hold("point", at), start(FIRST), reached("point"))
    match victim:
        case Victim.CLIENT:
            return (*coming, kill(FIRST), withdraw())
        case Victim.SERVER:
            return (*coming, kill_server(), withdraw(), cut_off(FIRST))
        case Victim.BOTH:
            return (*coming, kill(FIRST), kill_server(), withdraw())


def another_finishes(*words: str) -> Directions:
    """A second client runs to the end."""
    return (start(SECOND, *words), ended(SECOND))


def stopped_and_replaced(at: Point) -> Directions:
    """A client is stopped at the point, another takes over and finishes, then the first wakes up and has lost."""
    return (
        *(hold("point", at), start(FIRST), reached("point"), freeze(FIRST)),
        *(start(SECOND, instead_of=FIRST), ended(SECOND)),
        *((release("point"), over("point")) if at.in_spark else (release("point"),)),
        *(thaw(FIRST), ended(FIRST, 1, "lost_lease")),
    )


def left_behind(at: Point) -> Directions:
    """A client is killed while its statement is held in Spark; another finishes before the statement may go on."""
    return (
        *(hold("point", at), start(FIRST), reached("point"), kill(FIRST)),
        *another_finishes(),
        *(release("point"), over("point")),
    )
