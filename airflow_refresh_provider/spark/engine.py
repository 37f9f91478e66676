"""The engine on Spark. A session calls `acts` and translates Spark's errors."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from airflow_refresh_provider.core.definition.columns import Columns
from airflow_refresh_provider.core.definition.evolution import Evolution
from airflow_refresh_provider.core.faults.fault import Doing
from airflow_refresh_provider.core.faults.of_query import TARGET_CHANGED
from airflow_refresh_provider.core.plan.placing import partition_columns
from airflow_refresh_provider.core.plan.plan import StagedTable, Target
from airflow_refresh_provider.errors import Conflict, Failed, Invalid, Retry
from airflow_refresh_provider.ports.staging import StagedValues
from airflow_refresh_provider.ports.tasks import (
    ApplyTask,
    CompareTask,
    Comparison,
    Disagreement,
    KeyReport,
    PartitionsTask,
    Recomputed,
    RecomputeTask,
    Sample,
    SampleTask,
    Source,
    StageTask,
    Stamp,
    TargetSpec,
    Touched,
    TouchedPartitions,
    TouchTask,
    VerifyTask,
    WindowTask,
)
from airflow_refresh_provider.spark.acts import (
    apply,
    compare,
    content,
    date_words,
    ddl,
    doing,
    kernel,
    key_check,
    log_state,
    partitions,
    staged_rows,
    stamped_writes,
    touched_rows,
    touched_values,
    verifying,
    window_rows,
)
from airflow_refresh_provider.spark.connect import sessions
from airflow_refresh_provider.spark.connect.faults import translated
from airflow_refresh_provider.spark.connect.sessions import Endpoint

Explain = Callable[[Retry], Retry]
"""What makes more of an error that another attempt may not meet: where the server was ended, why."""


def _as_it_is(error: Retry) -> Retry:
    return error


class SparkEngine:
    """Sessions at one endpoint. `files` reads small staged folders in this process."""

    def __init__(self, endpoint: Endpoint, files: StagedValues, explain: Explain = _as_it_is) -> None:
        self._endpoint = endpoint
        self._files = files
        self._explain = explain

    def open(self, session_id: str) -> SparkEngineSession:
        """Open a session under a recorded id. Raises Retry within seconds when Spark cannot be reached."""
        return SparkEngineSession(sessions.connect(self._endpoint, session_id), self._files, self._explain)

    def release(self, session_id: str) -> None:
        """End the session of any owner."""
        sessions.release(self._endpoint, session_id)


class ClassicEngine:
    """Sessions of the Spark application of this process, such as one started by spark-submit; ids are local to it."""

    def __init__(self, spark: SparkSession, files: StagedValues) -> None:
        self._spark = spark
        self._files = files
        self._opened: dict[str, SparkEngineSession] = {}

    def open(self, session_id: str) -> SparkEngineSession:
        """Open a session besides the application's own."""
        self._opened[session_id] = SparkEngineSession(sessions.open_classic(self._spark), self._files)
        return self._opened[session_id]

    def release(self, session_id: str) -> None:
        """End the use of a session of this application; statements of another application end with that one."""
        if session := self._opened.get(session_id):
            session.interrupt()


class SparkEngineSession:
    """One session; after a statement that is not known to have ended it refuses every further operation."""

    def __init__(self, spark: SparkSession, files: StagedValues, explain: Explain = _as_it_is) -> None:
        self._spark = spark
        self._files = files
        self._explain = explain
        self._lost = False
        self._released = False
        self._seconds = 0.0

    def seconds(self) -> float:
        """How long its operations took so far."""
        return self._seconds

    def interrupt(self) -> None:
        """Interrupt what runs in a classic session, and refuse every further operation. Called from any thread."""
        self._released = True
        sessions.interrupt_classic(self._spark)

    def engine(self) -> str:
        with self._act(Doing(left="Nothing was changed.")):
            return f"Spark {self._spark.version}"

    def describe(self, source: Source) -> Columns:
        with self._act(doing.querying("Nothing was changed.", source)):
            date_words.check(self._spark, source)
            return ddl.columns_of(content.columns(self._spark, source))

    def prepare(self, spec: TargetSpec) -> None:
        left = "The target was not created; an existing one has its old properties."
        with self._act(Doing(left=left, target=spec.location)):
            ddl.prepare(self._spark, spec)

    def evolve(self, location: str, evolution: Evolution) -> None:
        left = "The rows of the target are as they were; some of its columns may have been changed already."
        with self._act(Doing(left=left, target=location)):
            ddl.evolve(self._spark, location, evolution)

    def expect_commit(self, location: str) -> None:
        if not (self._lost or self._released):
            log_state.compute(self._spark, location)

    def mark(self, target: Target, stamp: Stamp) -> None:
        with self._act(Doing(left="The target's rows were not touched.", target=target.location)):
            stamped_writes.mark(self._spark, target, stamp)

    def check_keys(self, source: Source, target: Target) -> KeyReport:
        reading = stamped_writes.setting(self._spark, kernel.settings_for(source.query))
        with self._act(doing.querying("The target was not changed.", source)), reading:
            return key_check.check(content.desired(self._spark, source, target), source.keys, partition_columns(target))

    def stage_rows(self, task: StageTask) -> None:
        left = "The target was not changed; staged splits are kept."
        with self._act(doing.querying(left, task.source, staging=(task.location,))):
            staged_rows.stage(self._spark, task)

    def compare(self, task: CompareTask) -> Comparison:
        with self._act(doing.comparing("The target was not changed.", task)):
            return compare.compare(self._spark, task, self._files)

    def touch(self, task: TouchTask) -> Touched:
        act = doing.querying("The target was not changed.", task.source, None, (task.location,))
        with self._act(act, discarded=True):
            return touched_values.touch(self._spark, task, self._files)

    def count_touched(self, target: Target, base: int, touched: Touched) -> int:
        act = Doing(left="The target was not changed.", target=target.location, staging=(touched.location,))
        with self._act(act), stamped_writes.setting(self._spark, kernel.settings_for("")):
            return touched_rows.count(self._spark, target, base, touched)

    def partitions(self, task: PartitionsTask) -> TouchedPartitions:
        staging = (task.touched.location, task.location)
        act = Doing(left="The target was not changed.", target=task.target.location, staging=staging)
        with self._act(act):
            return partitions.touched(self._spark, task, self._files)

    def recompute(self, task: RecomputeTask) -> Recomputed:
        staging = (task.touched.location, task.location)
        with self._act(doing.querying("The target was not changed.", task.source, None, staging)):
            return partitions.recompute(self._spark, task)

    def sample(self, task: SampleTask) -> Touched:
        act = Doing(left="The target was not changed.", target=task.target.location, staging=(task.location,))
        with self._act(act):
            return touched_values.sample(self._spark, task, self._files)

    def verify(self, task: VerifyTask) -> Disagreement:
        staged = tuple(side.location for side in (task.one, task.other) if side)
        with self._act(Doing(left="The target was not changed.", target=task.target.location, staging=staged)):
            return verifying.disagreement(self._spark, task)

    def read_windows(self, task: WindowTask) -> StagedTable:
        with self._act(doing.reading_windows("The target was not changed.", task), discarded=True):
            return window_rows.read(self._spark, task)

    def apply(self, task: ApplyTask) -> None:
        with self._act(doing.applying(task)):
            apply.apply(self._spark, task, self._files)

    def samples(
        self, changes: StagedTable, target: Target, keys: tuple[str, ...], base: int, limit: int
    ) -> tuple[Sample, ...]:
        act = Doing(left="Nothing was changed.", target=target.location, staging=(changes.location,))
        with self._act(act):
            return compare.samples(self._spark, changes, target, keys, base, limit)

    def show_version(self, view: str, location: str, version: int, columns: Columns) -> None:
        left = "The target holds the whole refresh; the view shows the one before."
        with self._act(Doing(left=left)):
            ddl.show_version(self._spark, view, location, version, columns)

    def close(self) -> None:
        sessions.close(self._spark)

    @contextmanager
    def _act(self, act: Doing, *, discarded: bool = False) -> Iterator[None]:
        """One operation. `discarded`: after an error its output is not used, so the session stays usable."""
        if self._lost or self._released:
            raise Retry(
                "session_lost",
                "the Spark session cannot be used any more: its last statement is not known to have ended",
                left=act.left,
                next="Run again: the refresh resumes from its last commit.",
            )
        known, began = False, time.monotonic()
        try:
            with translated(act):
                yield
            known = True
        except (Conflict, Invalid):
            known = True
            raise
        except Retry as error:
            raise self._explain(error) from None
        except Failed as error:
            known = discarded or error.code == TARGET_CHANGED
            raise
        finally:
            self._lost = not known
            self._seconds += time.monotonic() - began
