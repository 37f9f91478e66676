"""The note of a DAG run: what its tasks said of their refreshes, where the list of DAG runs shows it."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from airflow.listeners import hookimpl

if TYPE_CHECKING:
    from airflow.models.dagrun import DagRun

MOST_CHARACTERS = 1000
"""That a note may have."""
_LEAST_OF_LINE = 80
_MORE = " ..."


@hookimpl
def on_dag_run_success(dag_run: DagRun) -> None:
    """Every task has succeeded or was skipped."""
    _leave(dag_run)


@hookimpl
def on_dag_run_failed(dag_run: DagRun) -> None:
    """A task has failed, or a person has marked the DAG run as failed."""
    _leave(dag_run)


def noted(lines: dict[str, str]) -> str:
    """The lines of tasks as one note: equal ones once, behind their tasks where there are others."""
    tasks: dict[str, list[str]] = {}
    for task, line in lines.items():
        tasks.setdefault(line, []).append(task)
    shown = [line if len(tasks) == 1 else f"{', '.join(names)}: {line}" for line, names in tasks.items()]
    text = "\n".join(shown)
    return text if len(text) <= MOST_CHARACTERS else _shortened(shown)


def _shortened(lines: list[str]) -> str:
    """As many lines as a note may have, long ones cut between two words, and how many are left out."""
    length = max(_LEAST_OF_LINE, MOST_CHARACTERS // len(lines) - 1)
    cut = [textwrap.shorten(line, length, placeholder=_MORE) for line in lines]
    count, text = len(cut), "\n".join(cut)
    while len(text) > MOST_CHARACTERS:
        count -= 1
        text = "\n".join([*cut[:count], f"and {len(cut) - count} more"])
    return text


def _leave(dag_run: DagRun) -> None:
    """Add the note in the caller's transaction: it has locked the DAG run, so that another one would wait for ever.

    The note of a person stays. One of an earlier attempt, which no user has written, is replaced.
    """
    from sqlalchemy.orm import object_session

    from airflow_refresh_provider.airflow_plugin.dags import notes

    session = object_session(dag_run)
    if session is None or (dag_run.dag_run_note and dag_run.dag_run_note.user_id):
        return
    if lines := notes(dag_run.dag_id, dag_run.run_id, session):
        dag_run.note = noted(lines)
