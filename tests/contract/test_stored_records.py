"""Records come back from JSON, and from the control tables, exactly as they went in."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from airflow_refresh_provider.core.changes.pins import DeltaPin, FilesPin, FileStamp, IgnoredFiles
from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.plan.foreseen import Estimates
from airflow_refresh_provider.core.plan.load_seconds import LoadSeconds
from airflow_refresh_provider.core.plan.plan import (
    ChangeCounts,
    Chunk,
    Frozen,
    HashRange,
    Plan,
    Round,
    Split,
    StagedTable,
    Target,
    Unit,
)
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.core.query.facts import ClockSpan, Obstacle, QueryFacts
from airflow_refresh_provider.core.run.attempt import Attempt
from airflow_refresh_provider.core.run.budget import RunBudget
from airflow_refresh_provider.core.run.cancellation import Cancellation
from airflow_refresh_provider.core.run.lifecycle import Event, State
from airflow_refresh_provider.core.run.measured import ChangesSeconds, Measured, WholeSeconds
from airflow_refresh_provider.core.run.owner import Owner
from airflow_refresh_provider.core.run.queue import QueuedOptions, QueuedRequest
from airflow_refresh_provider.core.run.record import Claim, Lease, Published, Record, Run
from airflow_refresh_provider.delta.control.store import DeltaControlStore
from tests.contract.samples import record


def _made(model: type[BaseModel], **fields: st.SearchStrategy) -> st.SearchStrategy:
    """Values of a model with just these fields drawn, its own defaults for the others."""
    return st.fixed_dictionaries(fields).map(lambda drawn: model(**drawn))


TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
COUNT = st.integers(0, 2**62)
DEFINITION = st.just(record("orders").definition)
FACTS = _made(
    QueryFacts,
    tables=st.lists(TEXT, max_size=2).map(tuple),
    clock_spans=st.lists(_made(ClockSpan, function=TEXT, start=COUNT, end=COUNT), max_size=2).map(tuple),
    row_wise=st.booleans(),
    obstacle=st.none() | _made(Obstacle, what=TEXT, line=COUNT, column=COUNT),
    columns=st.none() | st.lists(TEXT, max_size=2).map(tuple),
)
HASH = st.integers(-(2**63), 2**63 - 1)
MOMENT = st.datetimes(datetime(2000, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - bounds
COUNTS = _made(ChangeCounts, inserted=COUNT, updated=COUNT, deleted=COUNT)
STAMPS = st.lists(_made(FileStamp, path=TEXT, size=COUNT, modified=COUNT), max_size=3).map(tuple)
PINS = st.dictionaries(
    TEXT,
    st.one_of(
        _made(
            DeltaPin,
            location=TEXT,
            table_id=TEXT,
            version=COUNT,
            rows=st.none() | COUNT,
            hidden=st.lists(TEXT, max_size=2).map(tuple),
        ),
        _made(
            FilesPin,
            format=TEXT,
            location=TEXT,
            files=STAMPS,
            rows=st.none() | COUNT,
            ignored=st.none() | _made(IgnoredFiles, count=COUNT, example=TEXT),
        ),
    ),
    max_size=2,
)
OWNER = _made(
    Owner,
    host=TEXT,
    boot_id=TEXT,
    pid=COUNT,
    started=st.floats(0, 2e9),
    label=TEXT,
    pid_space=st.none() | TEXT,
    user=st.none() | COUNT,
)
SPLIT = _made(Split, number=COUNT, files=st.lists(TEXT, max_size=2).map(tuple))
CHUNK = _made(
    Chunk,
    number=COUNT,
    way=st.sampled_from(Way),
    by_vnode=st.dictionaries(st.integers(0, 1023), COUNTS, max_size=3),
    keys=st.none() | _made(HashRange, low=HASH, high=HASH),
    split=st.none() | SPLIT,
)
UNIT = _made(Unit, slot=st.integers(0, 31), chunks=st.lists(CHUNK, max_size=2).map(tuple))
STAGED = _made(StagedTable, location=TEXT, version=COUNT)
ROUND = _made(Round, base=COUNT, changes=st.none() | STAGED, units=st.lists(UNIT, max_size=2).map(tuple))
SECONDS = st.floats(0, 1e6)
FROZEN = _made(
    Frozen,
    rounds=st.lists(ROUND, min_size=1, max_size=2).map(tuple),
    source_rows=COUNT,
    unchanged=COUNT,
    estimates=st.none() | _made(Estimates, incremental_seconds=st.none() | SECONDS, full_seconds=st.none() | SECONDS),
    seconds=st.none() | _made(LoadSeconds, finding=st.none() | SECONDS, whole=st.none() | SECONDS, other=SECONDS),
)
WHOLE = _made(WholeSeconds, seconds=SECONDS, input_bytes=st.none() | COUNT)
CHANGES = _made(
    ChangesSeconds,
    finding=SECONDS,
    following=SECONDS,
    change_bytes=st.none() | COUNT,
    share=st.none() | st.floats(0, 1),
)
MEASURED = _made(
    Measured,
    incremental=st.lists(CHANGES, max_size=2).map(tuple),
    full=st.lists(WHOLE, max_size=2).map(tuple),
    rest=st.lists(SECONDS, max_size=2).map(tuple),
    first=st.none() | WHOLE,
    turned=st.lists(COUNT, max_size=2).map(tuple),
    since_tried=COUNT,
)
COLUMNS = st.lists(_made(Column, name=TEXT, type=TEXT), max_size=2).map(tuple)
TARGET = _made(Target, location=TEXT, table_id=TEXT, columns=COLUMNS, vnodes=COUNT, deletion_vectors=st.booleans())
PLAN = _made(
    Plan,
    pins=PINS,
    moment=MOMENT,
    query=TEXT,
    facts=FACTS,
    staging=TEXT,
    force=st.booleans(),
    target=st.none() | TARGET,
    row_splits=st.lists(SPLIT, max_size=2).map(tuple),
)
LEASE = _made(
    Lease,
    generation=COUNT,
    owner=st.none() | OWNER,
    session=st.none() | TEXT,
    taken_at=MOMENT,
    parked_until=st.none() | MOMENT,
)
RUN = _made(
    Run,
    run_id=TEXT,
    definition=DEFINITION,
    started_at=MOMENT,
    lease=LEASE,
    generations=st.lists(COUNT, max_size=3).map(tuple),
    plan=PLAN,
    budget=st.none()
    | _made(
        RunBudget,
        since=MOMENT,
        generation=COUNT,
        until=st.none() | MOMENT,
        seconds=st.none() | COUNT,
        bytes=st.none() | COUNT,
        spent=st.none() | TEXT,
        spent_at=st.none() | MOMENT,
    ),
    attempts=COUNT,
    owners=st.lists(_made(Attempt, at=MOMENT, by=TEXT, host=TEXT, origin=st.none() | TEXT), max_size=2).map(tuple),
    attempt_generation=COUNT,
    claims=st.dictionaries(st.integers(0, 31), _made(Claim, generation=COUNT, owner=OWNER, session=TEXT), max_size=2),
    frozen=st.none() | FROZEN,
    counts=COUNTS,
    published=st.booleans(),
    cancelled=st.none() | _made(Cancellation, by=TEXT, at=MOMENT, abandon=st.booleans()),
    requests=st.lists(TEXT, max_size=2).map(tuple),
)
OPTIONS = _made(
    QueuedOptions, mode=st.none() | st.sampled_from(Mode), force=st.booleans(), budget_bytes=st.none() | TEXT
)
QUEUED = _made(
    QueuedRequest,
    id=TEXT,
    options=OPTIONS,
    priority=st.integers(1, 100),
    by=TEXT,
    at=MOMENT,
    origin=st.none() | TEXT,
    scheduled=st.booleans(),
)
PUBLISHED = _made(
    Published,
    run_id=TEXT,
    target_id=TEXT,
    version=COUNT,
    seal_version=COUNT,
    pins=PINS,
    definition_hash=TEXT,
    clocked=st.booleans(),
    at=MOMENT,
)
RECORDS = _made(
    Record,
    name=st.just("orders"),
    definition=DEFINITION,
    facts=FACTS,
    state=st.sampled_from(State),
    throttle=st.none() | COUNT,
    generation=COUNT,
    suspended=st.none() | TEXT,
    paused=st.booleans(),
    dropped=st.booleans(),
    run=st.none() | RUN,
    published=st.none() | PUBLISHED,
    queue=st.lists(QUEUED, max_size=2).map(tuple),
    measured=MEASURED,
)


@settings(max_examples=60)
@given(RECORDS)
def test_a_record_survives_json(written: Record) -> None:
    assert Record.model_validate_json(written.model_dump_json()) == written


@settings(max_examples=15)
@given(written=RECORDS, event=st.sampled_from(Event), at=MOMENT)
def test_a_record_survives_the_control_tables(
    tmp_path_factory: pytest.TempPathFactory, written: Record, event: Event, at: datetime
) -> None:
    folder = tmp_path_factory.mktemp("control")
    store = DeltaControlStore(str(folder))
    store.commit(store.read("orders"), written, event, at)
    assert store.read("orders").record == written


def test_a_record_from_before_refreshes_were_measured_is_read() -> None:
    before = record("orders").model_dump(mode="json", exclude={"measured"}) | {"format": 7}
    assert Record.model_validate(before).measured == Measured()


@settings(max_examples=20)
@given(RECORDS)
def test_a_record_of_the_version_before_attempts_had_owners_is_read(written: Record) -> None:
    older = written.model_dump(mode="json") | {"format": 7}
    if older["run"]:
        del older["run"]["owners"]
    read = Record.model_validate(older)
    assert read.run is None or (read.run.owners, read.run.attempts) == ((), written.run and written.run.attempts)
