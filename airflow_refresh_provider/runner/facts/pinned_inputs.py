"""Inputs of a run: their pins, and the bound source that the engine reads."""

from __future__ import annotations

from airflow_refresh_provider.core.changes.pins import DeltaPin, Pin, VersionVector
from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.core.plan.plan import Plan
from airflow_refresh_provider.core.run.record import Run
from airflow_refresh_provider.core.text.variables import variables, written_back
from airflow_refresh_provider.errors import Failed, Invalid, Refused
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.tasks import Source
from airflow_refresh_provider.runner.facts import targets
from airflow_refresh_provider.runner.facts.hidden_values import without_values
from airflow_refresh_provider.runner.facts.maintaining import columns_of

_NOT_PUBLISHED = "input_not_published"
_FEW_FILES = 16
"""Up to this many files Spark lists in less time than it needs to compute the state of a table."""


def pin(ports: Ports, definition: Definition) -> VersionVector:
    """What every input is now. Raises Invalid naming the input that is missing or is not what it should be.

    An input that is itself a target of this control root is read at its published version. Raises Refused when it has
    none yet.
    """
    return {name: newest(ports, name, read) for name, read in definition.inputs.items()}


def pin_published(ports: Ports, definition: Definition) -> VersionVector | None:
    """As `pin`; None where another definition has yet to make one of the inputs."""
    found: VersionVector = {}
    for name, read in definition.inputs.items():
        try:
            found[name] = newest(ports, name, read)
        except Refused as error:
            if error.code != _NOT_PUBLISHED:
                raise
    return found if found.keys() == definition.inputs.keys() else None


def newest(ports: Ports, name: str, read: Input) -> Pin:
    """What one input is now; see `pin`."""
    place = read.expanded(ports.environment)
    with without_values(ports.environment, [read]):
        try:
            found = as_it_is(ports, name, read)
        except Invalid as error:
            maker = _maker(ports, place) if error.code == "input_missing" else None
            if maker is None:
                raise
            raise _not_published(name, maker, "is not there") from None
        return _whole(ports, name, found)


def as_it_is(ports: Ports, name: str, read: Input) -> Pin:
    """What one input is now, published or not. Raises Invalid, without values of variables."""
    with without_values(ports.environment, [read]):
        place = read.expanded(ports.environment)
        found: Pin = ports.inputs[place.format].pin(name, place)
    return found.written_as(read.path) if variables(read.path) else found


def as_asked(ports: Ports, pins: VersionVector, asked: VersionVector, applied: VersionVector) -> VersionVector:
    """The pins, those of asked places as they were asked for; `asked` is by place.

    Nothing goes back in time by itself: where a younger state than the one asked for was applied and is still there, it
    stays. One that is gone was restored to an older state, as from a backup, and that is followed.
    Raises Failed when what was asked for cannot be read any more.
    """
    return {
        name: _chosen(ports, name, newest, asked.get(newest.location), applied.get(name))
        for name, newest in pins.items()
    }


def _chosen(ports: Ports, name: str, newest: Pin, wanted: Pin | None, applied: Pin | None) -> Pin:
    if wanted is None or wanted.same_as(newest):
        return newest
    if applied is not None and wanted.older_than(applied) and _unreadable(ports, applied) is None:
        return applied
    if reason := _unreadable(ports, wanted):
        raise Failed(
            "pin_unreadable",
            f"the input {name} cannot be read at the version that its cascade pinned: {reason}",
            left="Nothing was changed.",
            next="Run the cascade again: it pins the current versions.",
        )
    return wanted


def unreadable(ports: Ports, pins: VersionVector) -> str | None:
    """The first input whose pinned state is gone, and why; None when all can still be read."""
    for name, pinned in pins.items():
        if reason := _unreadable(ports, pinned):
            return f"{name}: {reason}"
    return None


def _unreadable(ports: Ports, pinned: Pin) -> str | None:
    if not pinned.located:
        return f"{pinned.location} is another place than at that time: a variable in it has another value, or none"
    reason = ports.inputs[pinned.format].unreadable(pinned)
    written = [pinned.variables.written] if pinned.variables else []
    return reason and written_back(reason, written, ports.environment)


def check_in_place(ports: Ports, run: Run) -> None:
    """Raise Failed when an input is no longer what was pinned, so that two reads of it may have seen two states.

    Spark would not notice: a table that was replaced soon has a version of the same number, a file the same name.
    """
    if reason := unreadable(ports, run.plan.pins):
        raise _changed(reason)


def source(ports: Ports, run: Run) -> Source:
    """The desired content of the target at the run's pins.

    Raises Failed where chunks are about to read inputs again that are not in place any more.
    """
    if run.frozen is not None and run.frozen.current.reads_inputs:
        check_in_place(ports, run)
    return bound_source(ports, run.definition, run.plan)


def bound_source(ports: Ports, definition: Definition, plan: Plan) -> Source:
    """What a query gives at a plan's pins. Raises Failed where one of them has no place in this environment."""
    if not all(pinned.located for pinned in plan.pins.values()):
        raise _changed(unreadable(ports, plan.pins))
    return Source(
        query=plan.query,
        written=definition.query_text,
        clock_spans=plan.facts.clock_spans,
        moment=plan.moment,
        date_words=plan.facts.date_words,
        reads={name: pinned.read(options(ports, definition, name)) for name, pinned in plan.pins.items()},
        keys=definition.keys,
        latest_by=definition.latest_by,
    )


def with_known_columns(ports: Ports, run: Run, source: Source) -> Source:
    """The same, with the columns of Delta tables where changes are followed: an earlier refresh has read the tables."""
    tables: VersionVector = {
        name: pin for name, pin in run.plan.pins.items() if run.plan.windows and isinstance(pin, DeltaPin)
    }
    known = {
        name: tuple(Column(name=column, type=kind) for column, kind in types.items())
        for name, types in columns_of(ports, tables).items()
    }
    return source.model_copy(update={"columns": known})


def by_files(ports: Ports, source: Source, definition: Definition, pins: VersionVector) -> Source:
    """The same, with tables of few plain files read by these.

    Spark then lists files instead of computing the state of a table from its log, in jobs of their own. Input options
    are for the reader of tables, and an input that has any is read as one.
    """
    reads = dict(source.reads)
    for name, pinned in pins.items():
        if pinned.table_id is not None and not options(ports, definition, name):
            files = ports.inputs[pinned.format].files(pinned) or ()
            if 0 < len(files) <= _FEW_FILES:
                reads[name] = reads[name].of_files(tuple(path for path, _ in files))
    return source.model_copy(update={"reads": reads})


def options(ports: Ports, definition: Definition, name: str) -> dict[str, str]:
    """The reader options of an input, with their variables filled in."""
    return definition.inputs[name].expanded(ports.environment).options


def expected_rows(ports: Ports, pins: VersionVector) -> int:
    """About how many rows the result may have: as many as the largest input."""
    return max((ports.inputs[p.format].rows(p) or 0 for p in pins.values()), default=0)


def _whole(ports: Ports, name: str, pinned: Pin) -> Pin:
    """The pin, moved to the published version where the input is a target: its newest may be half a refresh."""
    facts = ports.log.identity(pinned.location) if pinned.table_id else None
    record = targets.owner(ports, facts) if facts else None
    if facts is None or record is None:
        return pinned
    if record.published is None or record.published.target_id != facts.table_id:
        raise _not_published(name, record.name, "has not been refreshed yet")
    return pinned.model_copy(update={"version": record.published.version})


def _maker(ports: Ports, place: Input) -> str | None:
    """The definition whose target belongs there."""
    return next((r.name for r in ports.store.records() if r.definition.target == place.path), None)


def _changed(reason: str | None) -> Failed:
    return Failed(
        "input_missing",
        f"an input has changed since the run pinned it: {reason}",
        left="Nothing was published. Chunks that were applied, if any, stay in the target.",
        next="Run again: this run is abandoned, and a new one reads what is there then.",
    )


def _not_published(name: str, maker: str, why: str) -> Refused:
    return Refused(
        _NOT_PUBLISHED,
        f"the input {name}, which is the target of {maker}, {why}",
        next=f"Refresh it first: `airflow-refresh run {maker}`, or all that feeds this definition with `cascade`.",
    )
