"""The form in which a record is stored: places that have variables are as their definition writes them.

A value that is missing where a record is read, or that is another one, leaves the place as it is written: a pin of it
cannot be read there, and is not the same as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from airflow_refresh_provider.core.changes.pins import Pin, VersionVector
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.core.plan.plan import Chunk, Frozen, Split
from airflow_refresh_provider.core.run.record import Record, Run
from airflow_refresh_provider.errors import Invalid


def as_written(record: Record) -> Record:
    """The record without values of variables."""
    return _with_pins(record, lambda pin: pin.as_written())


def as_located(record: Record, environment: Mapping[str, str]) -> Record:
    """The record with places filled in, as far as an environment has the values with which they were pinned."""
    return _with_pins(record, lambda pin: located(pin, environment))


def located(pin: Pin, environment: Mapping[str, str]) -> Pin:
    """One pin with its variables filled in."""

    def place_of(written: str) -> str | None:
        try:
            return Input(path=written).expanded(environment).path
        except Invalid:
            return None

    return pin.as_located(place_of)


def _with_pins(record: Record, change: Callable[[Pin], Pin]) -> Record:
    run, published = record.run, record.published
    if run and _has_variables(run.plan.pins):
        record = record.model_copy(update={"run": _changed_run(run, change)})
    if published and _has_variables(published.pins):
        pins = {name: change(pin) for name, pin in published.pins.items()}
        record = record.model_copy(update={"published": published.model_copy(update={"pins": pins})})
    return record


def _has_variables(pins: VersionVector) -> bool:
    return any(pin.variables for pin in pins.values())


def _changed_run(run: Run, change: Callable[[Pin], Pin]) -> Run:
    moves = [(pin, change(pin)) for pin in run.plan.pins.values()]

    def moved(split: Split) -> Split:
        files = split.files
        for before, after in moves:
            files = tuple(before.moved_path(path, after.location) for path in files)
        return split.model_copy(update={"files": files})

    plan = run.plan.model_copy(
        update={
            "pins": dict(zip(run.plan.pins, (after for _, after in moves), strict=True)),
            "row_splits": tuple(map(moved, run.plan.row_splits)),
        }
    )
    frozen = _changed_frozen(run.frozen, moved) if run.frozen else None
    return run.model_copy(update={"plan": plan, "frozen": frozen})


def _changed_frozen(frozen: Frozen, moved: Callable[[Split], Split]) -> Frozen:
    def changed(chunk: Chunk) -> Chunk:
        return chunk.model_copy(update={"split": moved(chunk.split)}) if chunk.split else chunk

    rounds = tuple(
        some.model_copy(
            update={"units": tuple(u.model_copy(update={"chunks": tuple(map(changed, u.chunks))}) for u in some.units)}
        )
        for some in frozen.rounds
    )
    return frozen.model_copy(update={"rounds": rounds})
