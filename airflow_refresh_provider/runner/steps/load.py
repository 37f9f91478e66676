"""Loading: make the target ready, stage what will be merged, and freeze it as a plan of units and chunks.

A crash in here repeats only what has no marker yet: splits of staged rows carry theirs in the staged table.
"""

from __future__ import annotations

from airflow_refresh_provider.core.definition.mode import row_wise
from airflow_refresh_provider.core.plan import chunking, loading
from airflow_refresh_provider.core.plan.checksums import Checksums, are_kept
from airflow_refresh_provider.core.plan.load_seconds import LoadMoments
from airflow_refresh_provider.core.plan.plan import Frozen, Round, StagedTable, Target, counts_by_vnode
from airflow_refresh_provider.core.plan.policy import check_deletes, check_keys, check_strict
from airflow_refresh_provider.core.run.lifecycle import Event
from airflow_refresh_provider.core.run.notices import notices_of
from airflow_refresh_provider.core.run.prepared import prepared
from airflow_refresh_provider.core.run.record import Published, Run
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.ports.engine import EngineSession
from airflow_refresh_provider.ports.tasks import Comparison, KeyReport, Source, StageTask
from airflow_refresh_provider.runner.facts import pinned_inputs, published_checksums, staging_paths, targets
from airflow_refresh_provider.runner.hold.tenure import Tenure
from airflow_refresh_provider.runner.windows import change_windows, comparing, rounds
from airflow_refresh_provider.runner.windows.trusting import verified
from airflow_refresh_provider.runner.windows.window_changes import Loaded


def load(tenure: Tenure, session: EngineSession) -> Run:
    """Fill and freeze staging. Raises Invalid, Refused or Failed when the data or the target forbid a refresh."""
    run = tenure.read_run()
    ports = tenure.ports
    ports.watch.stage("prepare")
    source = pinned_inputs.source(ports, run)
    found = ports.log.facts(run.definition.target)
    if found is not None and not found.small:
        session.expect_commit(found.location)
    result = session.describe(pinned_inputs.with_known_columns(ports, run, source))
    rows = pinned_inputs.expected_rows(ports, run.plan.pins)
    ready = targets.make_ready(ports, session, run, result, found, rows)
    run = tenure.write(Event.PREPARE, plan=run.plan.model_copy(update={"target": ready.target}))
    planned = tenure.write(Event.FREEZE, frozen=_staged(tenure, session, source, ready))
    for notice in notices_of(planned):
        ports.watch.note(notice.line)
    return planned


def _staged(tenure: Tenure, session: EngineSession, source: Source, ready: targets.Ready) -> Frozen:
    """What is merged, from the changes of the inputs where they can be followed; and how long either way took."""
    ports, run = tenure.ports, tenure.read_run()
    began = ports.clock.now()
    loaded = change_windows.load(tenure, session, source, ready) if run.plan.windows else Loaded()
    changes = ports.clock.now()
    if loaded.reason:
        check_strict(loaded.reason, strict=run.plan.strict)
    frozen = loaded.frozen or _loaded_in_full(tenure, session, source, ready)
    computed = ports.clock.now()
    if loaded.unverified:
        frozen = verified(tenure, session, loaded.unverified, frozen)
    pinned_inputs.check_in_place(ports, run)
    moments = LoadMoments(began, changes, computed, ended=ports.clock.now(), touched=loaded.touched_at)
    seconds = moments.seconds(
        followed=loaded.frozen is not None or loaded.unverified is not None, whole=loaded.frozen is None
    )
    known = {"fell_back": loaded.reason, "estimates": loaded.estimates, "seconds": seconds}
    return frozen.model_copy(update=known)


def _loaded_in_full(tenure: Tenure, session: EngineSession, source: Source, ready: targets.Ready) -> Frozen:
    """All rows of the query: straight into an empty target where that can be done, else compared."""
    run = tenure.read_run()
    large = _splittable(tenure.ports, run)
    first = ready.rows == 0 and not run.plan.windows
    return (_first_load if first else _compared)(tenure, session, source, ready, large)


def _first_load(
    tenure: Tenure,
    session: EngineSession,
    source: Source,
    ready: targets.Ready,
    large: loading.Splittable | None,
) -> Frozen:
    """A load into the empty target: straight from the query, or staged first where that does not do."""
    run = tenure.read_run()
    definition, pins = run.definition, run.plan.pins
    tenure.ports.watch.stage("check", rows=pinned_inputs.expected_rows(tenure.ports, pins))
    keys = session.check_keys(pinned_inputs.by_files(tenure.ports, source, definition, pins), ready.target)
    left = "The target is there, without rows."
    check_keys(keys.null_keys, keys.duplicate_keys, keys.null_examples, keys.duplicate_examples, left)
    splits = loading.direct_splits(keys.rows, definition.chunking, definition.visibility, large, keys.partitions)
    if splits is None:
        return _appended_by_chunks(tenure, session, source, ready, keys, large)
    first = Round(base=ready.version, changes=None, units=chunking.direct(splits))
    return Frozen(rounds=(first,), source_rows=keys.rows, unchanged=0)


def _appended_by_chunks(
    tenure: Tenure,
    session: EngineSession,
    source: Source,
    ready: targets.Ready,
    keys: KeyReport,
    large: loading.Splittable | None,
) -> Frozen:
    """All rows, staged once: there is nothing to compare them with, and their keys are checked."""
    run = _plan_splits(tenure, tenure.read_run(), large)
    target = ready.target.model_copy(update={"partitions": keys.partitions})
    _stage_rows(tenure, session, source, run, target, keys.rows)
    location = comparing.rows_location(run)
    changes = StagedTable(location=location, version=tenure.ports.log.newest(location))
    counts = counts_by_vnode(tenure.ports.staging.changes(changes))
    found = Comparison(changes=changes, counts=counts, source_rows=keys.rows, target_rows=0, keys=keys)
    first = rounds.round_of(prepared(run), ready.version, found)
    return Frozen(rounds=(first,), source_rows=keys.rows, unchanged=0)


def _compared(
    tenure: Tenure,
    session: EngineSession,
    source: Source,
    ready: targets.Ready,
    large: loading.Splittable | None,
) -> Frozen:
    record, run = tenure.read()
    definition = run.definition
    run = _plan_splits(tenure, run, large)
    rows = pinned_inputs.expected_rows(tenure.ports, run.plan.pins)
    if run.plan.row_splits:
        _stage_rows(tenure, session, source, run, ready.target, rows)
    tenure.ports.watch.stage("compare", rows=max(rows, ready.rows or 0))
    believed = _as_left(tenure.ports, record.published, run, ready)
    checksums = published_checksums.task_for(tenure.ports, record, run, believed=believed, rows=ready.rows)
    known = comparing.Known(hashes=believed, rows=ready.rows, checksums=checksums)
    compared = comparing.compare(tenure, session, ready.version, known=known)
    total = compared.total
    check_deletes(total.deleted, compared.target_rows, definition.max_delete_ratio, force=run.plan.force)
    first = rounds.round_of(prepared(run), ready.version, compared)
    unchanged = compared.source_rows - total.inserted - total.updated
    return Frozen(
        rounds=(first,),
        source_rows=compared.source_rows,
        unchanged=unchanged,
        within_tolerance=compared.within_tolerance,
        checksums=_kept(tenure.ports, compared),
        compared=compared.compared,
    )


def _kept(ports: Ports, compared: Comparison) -> Checksums | None:
    """The checksums of the rows that will be published; dropped where the next comparison had little use of them."""
    made = compared.checksums
    if made is None or are_kept(compared.total.total, compared.source_rows):
        return made
    ports.staging.drop(made.location)
    return None


def _as_left(ports: Ports, published: Published | None, run: Run, ready: targets.Ready) -> bool:
    """Whether the target's rows are those of a refresh by this very definition: another may have had other keys."""
    same = published is not None and published.definition_hash == run.definition.hash
    return same and not targets.written_by_others(ports, published, ready)


def _plan_splits(tenure: Tenure, run: Run, large: loading.Splittable | None) -> Run:
    """Store the splits before the first of them is staged; those of an interrupted load are kept."""
    definition = run.definition
    allowed = loading.limits(definition)
    splits = loading.row_splits(allowed, large)
    if run.plan.row_splits or not splits:
        return run
    return tenure.write(Event.PREPARE, plan=run.plan.model_copy(update={"row_splits": splits}))


def _stage_rows(tenure: Tenure, session: EngineSession, source: Source, run: Run, target: Target, rows: int) -> None:
    """Stage every split that has no marker yet, or all rows at once; there are about so many."""
    location = comparing.rows_location(run)
    planned = run.plan.row_splits or (None,)
    tenure.ports.watch.stage("load", chunks=len(planned))
    done = tenure.ports.log.markers(location) if tenure.ports.log.facts(location) else {}
    splits = {f"{run.run_id}/rows-{split.number if split else 0}": split for split in planned}
    if before := len(splits.keys() & done.keys()):
        tenure.ports.watch.skip(0, before)
    for app_id, split in splits.items():
        if app_id not in done:
            tenure.read_run()
            stamp = staging_paths.stamp(run, tenure.generation, app_id)
            task = StageTask(
                source=source, target=target, split=split, location=location, stamp=stamp, rows=rows // len(planned)
            )
            session.stage_rows(task)
            tenure.ports.watch.advance(0)


def _splittable(ports: Ports, run: Run) -> loading.Splittable | None:
    """The one input of a row-wise query as a list of files, None when it cannot be read file by file."""
    if not row_wise(run.plan.facts, run.definition.latest_by):
        return None
    (pinned,) = run.plan.pins.values()
    kind = ports.inputs[pinned.format]
    files, rows = kind.files(pinned), kind.rows(pinned)
    if files is None or rows is None:
        return None
    return loading.Splittable(files=files, rows=rows)
