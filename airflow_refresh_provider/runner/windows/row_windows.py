"""The windows of a row-wise query: its change set follows from the changes of its input, row by row."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_refresh_provider.core.definition.choices import Deletes
from airflow_refresh_provider.core.definition.columns import DOUBTFUL
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.maintain.plan import Sums
from airflow_refresh_provider.core.plan.plan import StagedTable, counts_by_vnode
from airflow_refresh_provider.core.plan.reasons import Reason, ReasonCode, because
from airflow_refresh_provider.core.run.record import Run
from airflow_refresh_provider.core.text.wording import listed
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.engine import EngineSession
from airflow_refresh_provider.ports.tasks import Comparison, KeyReport, Source, WindowTask
from airflow_refresh_provider.runner.facts import staging_paths
from airflow_refresh_provider.runner.facts.targets import Ready
from airflow_refresh_provider.runner.hold.tenure import Tenure
from airflow_refresh_provider.runner.windows import rounds, trusting
from airflow_refresh_provider.runner.windows.window_changes import (
    CLEANED_UP,
    Changes,
    Loaded,
    frozen_of,
    known_histories,
    read_of,
    unless_unreadable,
)

_MISFIT = "the changes of the inputs do not fit the rows of the target: a key is there twice, or others have changed it"


def load_rows(
    tenure: Tenure, session: EngineSession, source: Source, ready: Ready, changed: dict[str, Changes]
) -> Loaded:
    """The changes of a row-wise query: those of its input, row by row."""
    task = _task(tenure, tenure.read_run(), source, ready, changed)
    found = _read(tenure, session, task, ready)
    return Loaded(reason=found) if isinstance(found, Reason) else Loaded(frozen_of(tenure.read_run(), ready, found))


def load_sums(
    tenure: Tenure,
    session: EngineSession,
    source: Source,
    ready: Ready,
    changed: dict[str, Changes],
    sums: Sums,
) -> Loaded:
    """The changes of a result that is added up."""
    task = _task(tenure, tenure.read_run(), source, ready, changed).model_copy(update={"sums": sums})
    found = _read(tenure, session, task, ready)
    return Loaded(reason=found) if isinstance(found, Reason) else trusting.loaded(tenure, session, ready, found)


def _read(tenure: Tenure, session: EngineSession, task: WindowTask, ready: Ready) -> Comparison | Reason:
    """The staged changes, counted; or why everything has to be compared."""
    record, run = tenure.read()
    staged_table = unless_unreadable(tenure.ports, run.definition, lambda: session.read_windows(task))
    if isinstance(staged_table, Reason):
        return staged_table
    # Spark skips a first commit that is cleaned up while it reads.
    if record.published is None or known_histories(tenure.ports, run, record.published) is None:
        return CLEANED_UP
    rows = tenure.ports.staging.changes(staged_table)
    if any(op == DOUBTFUL for _, op in rows):
        return _doubt(run.definition, task.sums)
    if rows and not _fits(tenure.ports, task, staged_table):
        return because(ReasonCode.DOUBTFUL_KEYS, _MISFIT)
    return as_comparison(staged_table, rows, ready.rows or 0)


def _fits(ports: Ports, task: WindowTask, changes: StagedTable) -> bool:
    """Whether the changes fit the rows of a small target. Of a large one its growth shows that, once they are in."""
    if not task.target.small or changes.version is not None:
        return True
    return ports.small_tables.fits(task.target, task.source.keys, changes, task.base)


def _doubt(definition: Definition, sums: Sums | None) -> Reason:
    """Why all rows have to be compared although the changes could be read."""
    text = "a key would be NULL or occur twice after the changes of the inputs"
    if sums:
        text = f"the changed rows of a group do not say what it becomes: {_in_doubt(sums)}"
    if definition.latest_by is not None:
        text = (
            "rows were removed from the inputs, or a key would be NULL, and then only all rows of a key say which is "
            "the newest (on_duplicate: latest)"
        )
    return because(ReasonCode.DOUBTFUL_KEYS, text)


def _in_doubt(sums: Sums) -> str:
    """What of a group may not follow from the rows that went."""
    ends, uncounted = (*sums.least, *sums.greatest), [name for name, by in sums.sums.items() if by is None]
    parts = [f"the row with the value of {listed(ends, 'or')} may be one of those that went"] if ends else []
    parts += [f"no count says how many values are left in {listed(uncounted, 'or')}"] if uncounted else []
    return ", or ".join(parts) or "more rows went than it had, or an average is of too many to be exact"


def as_comparison(changes: StagedTable, rows: Mapping[tuple[int, str], int], target_rows: int) -> Comparison:
    """The comparison that follows from the changes of the inputs."""
    counts = counts_by_vnode(rows)
    grown = sum(c.net for c in counts.values())
    source_rows = target_rows + grown
    return Comparison(
        changes=changes,
        counts=counts,
        source_rows=source_rows,
        target_rows=target_rows,
        keys=KeyReport(rows=source_rows),
        exact=False,
    )


def _task(tenure: Tenure, run: Run, source: Source, ready: Ready, changed: dict[str, Changes]) -> WindowTask:
    location, stamp = staging_paths.changes_of(run, tenure.generation, "window")
    ports, definition = tenure.ports, run.definition
    return WindowTask(
        source=source,
        changes={name: read_of(ports, definition, name, c, location) for name, c in changed.items()},
        target=ready.target,
        base=ready.version,
        location=location,
        stamp=stamp,
        deletes=definition.deletes is Deletes.APPLY,
        partitioned=sum(c.rows for c in changed.values()) > rounds.one_chunk(run),
        bytes=sum(c.source.bytes for c in changed.values()),
        target_rows=ready.rows or 0,
    )
