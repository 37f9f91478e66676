"""Operators of a phased refresh, and the one that does a whole refresh in a single task.

Thin on purpose: each binds the context of an Airflow task to one function of `runner.steps.one_task`. All tasks of a
DAG run have the same origin, so that a task that is tried again, on any machine, finds its run and resumes it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset, BaseOperator
from airflow.sdk.exceptions import AirflowSkipException, TaskDeferred

from airflow_refresh_provider.core.definition.broken import Broken
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.results import RunResult
from airflow_refresh_provider.core.text.wording import counted
from airflow_refresh_provider.errors import Cancelled, Interrupted, Paused, RefreshError
from airflow_refresh_provider.hooks import configuration
from airflow_refresh_provider.hooks.refresh_hook import RefreshHook
from airflow_refresh_provider.task_context import binding, lineage
from airflow_refresh_provider.task_context.bundles import outside
from airflow_refresh_provider.task_context.links import RunLink, TargetLink
from airflow_refresh_provider.task_context.trigger_form import check_form
from airflow_refresh_provider.triggers.refresh_trigger import Condition, trigger_for

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage
    from airflow.sdk import Context

    from airflow_refresh_provider.ports.bundle import Ports

_STOPPED = "the task was stopped"


class _RefreshTask(BaseOperator):
    """Common to all operators: the definition, or the name it is registered under, and the connection.

    With a broken definition a task fails with the definition's errors before it does anything else.
    """

    ui_color = "#e4f0e8"
    template_fields: Sequence[str] = ("definition_name", "refresh_conn_id")  # which Airflow stores with the DAG
    operator_extra_links = (RunLink(), TargetLink())
    publishes = False
    """Whether the task returns the result of a whole refresh."""

    def __init__(
        self,
        *,
        definition: Definition | Broken | Mapping[str, Any] | str,
        refresh_conn_id: str = RefreshHook.default_conn_name,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if isinstance(definition, Definition):
            definition = outside(definition)
        self._broken = definition if isinstance(definition, Broken) else None
        self.definition = binding.stored(definition.name if isinstance(definition, Broken) else definition)
        self.definition_name = binding.name_of(self.definition)
        self.refresh_conn_id = refresh_conn_id
        self._running = False
        self._read: lineage.Read | None = None

    def execute(self, context: Context, event: dict[str, Any] | None = None) -> Any:
        """Do this task's part. Errors that a retry cannot fix fail the task at once.

        While the definition is paused the task is deferred. It executes again after the trigger event and resumes
        what it did before.
        """
        with binding.as_airflow_errors():
            if self._broken:
                raise self._broken.error
            try:
                self._running = True
                ports = binding.ports(context, self.refresh_conn_id, self.definition_name, self.log)
                return self.perform(context, ports)
            except AirflowSkipException as skip:
                self.log.info("skipped: %s", skip)
                binding.note(context, f"skipped: {skip}")
                raise
            except Paused as paused:
                self.log.info("%s; deferred until it is resumed", paused.message)
                places = RefreshHook(self.refresh_conn_id).places()
                condition = Condition(unpaused=True, run_id=binding.own_run(context, ports, self.definition_name))
                trigger = trigger_for(self.definition_name, places, condition, configuration.poll_interval())
                raise TaskDeferred(trigger=trigger, method_name="execute") from None
            except RefreshError as error:
                how = "was stopped" if isinstance(error, Cancelled) else "failed"
                binding.note(context, f"{self.task_id} {how}: {error.kept(redact=True).partition(chr(10))[0]}")
                raise
            except binding.DeferUntil as until:
                from airflow.providers.standard.triggers.temporal import DateTimeTrigger

                self.log.info("%s; deferred until %s", until, until.moment)
                raise TaskDeferred(trigger=DateTimeTrigger(moment=until.moment), method_name="execute") from None
            finally:
                self._running = False

    @abstractmethod
    def perform(self, context: Context, ports: Ports) -> Any:
        """What this operator does."""

    def get_openlineage_facets_on_start(self) -> OperatorLineage[Any, Any]:
        """The tables of the definition, for OpenLineage."""
        return lineage.described(self.definition, None)

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> OperatorLineage[Any, Any]:
        """The same; of a task that has published, with versions, columns and rows. Also of a task that failed."""
        return lineage.described(self.definition, self._read)

    def on_kill(self) -> None:
        """Interrupt the statement in Spark and fail the task; the run stays resumable."""
        if self._running:
            self._running = False
            raise Interrupted(
                "interrupted",
                _STOPPED,
                left="Everything committed stays, and the run can be resumed.",
                next="Clear the task, or let the next DAG run resume it.",
            )


class RefreshStartOperator(_RefreshTask):
    """Checks, pins the inputs and starts a run, or resumes an unfinished one. Skips if no input has changed.

    Returns the run's id, and why an unfinished run was resumed. `pins` is what a RefreshPinOperator returned: inputs at
    these locations are read at these versions.
    """

    template_fields: Sequence[str] = (*_RefreshTask.template_fields, "pins")

    def __init__(self, *, pins: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pins = pins

    def perform(self, context: Context, ports: Ports) -> dict[str, Any]:
        """Register the definition if it was given, then start."""
        from airflow_refresh_provider.runner.steps import one_task

        check_form(context)
        binding.register(ports, self.definition)
        if binding.request(context).compare_only:
            binding.show_differences(ports, self.definition_name, self.log)
            raise AirflowSkipException("compared only; nothing was written")
        binding.check_due(context, ports, self.definition_name, cascaded=self.pins is not None)
        started = one_task.start(ports, self.definition_name, binding.request(context, self.pins))
        if isinstance(started, RunResult):
            raise binding.skip(started)
        self.log.info("run %s%s", started.run_id, f" is resumed: {started.reason}" if started.reason else " starts")
        return started.model_dump(mode="json")


class RefreshLoadOperator(_RefreshTask):
    """Prepares the target, fills and freezes staging. Returns the units to merge, for the next task to map over."""

    def perform(self, context: Context, ports: Ports) -> list[dict[str, int]]:
        """Load. Units whose chunks are already in the target are returned too; their tasks end at once."""
        from airflow_refresh_provider.runner.steps import one_task

        units = one_task.fill(ports, self.definition_name, binding.request(context))
        return [unit.model_dump() for unit in units]


class VnodeMergeOperator(_RefreshTask):
    """Merges one unit of vnodes, chunk by chunk. Map it over the units that the load returned."""

    def __init__(self, *, unit: Mapping[str, int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.unit = unit

    def perform(self, context: Context, ports: Ports) -> dict[str, int]:
        """Merge the chunks of the unit that are not in the target yet. Skips once the budget of the run is spent."""
        from airflow_refresh_provider.runner.steps import one_task
        from airflow_refresh_provider.runner.steps.budgets import BudgetSpent

        try:
            skipped = one_task.merge_unit(ports, self.definition_name, binding.request(context), self.unit["unit"])
        except BudgetSpent as spent:
            raise AirflowSkipException(f"the budget of the run is spent ({spent}); the next run continues") from None
        chunks = counted(self.unit["chunks"], "chunk")
        self.log.info(
            "unit %s is in the target: %s, %s committed by earlier attempts", self.unit["unit"], chunks, skipped
        )
        return {"unit": self.unit["unit"], "chunks": self.unit["chunks"], "skipped": skipped}


class CleanupOperator(_RefreshTask):
    """Ends a run: gate, seal, publish, history, staging. Then the target's asset event is emitted."""

    publishes = True

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.outlets = [*self.outlets, *binding.assets(self.definition)]

    def perform(self, context: Context, ports: Ports) -> dict[str, Any]:
        """Publish the run, unless chunks are missing. Skips where its budget is spent."""
        from airflow_refresh_provider.runner.steps import one_task

        result = binding.result_or_skip(one_task.finish(ports, self.definition_name, binding.request(context)))
        binding.announce(context, self.outlets, result, self.log)
        self._read = lineage.read(ports, result, self.log)
        return result.model_dump(mode="json")


class RefreshReleaseOperator(_RefreshTask):
    """The teardown: releases an unfinished run, so that any caller may resume it at once. Publishes nothing."""

    def perform(self, context: Context, ports: Ports) -> None:
        """Fence what is left of the run's tasks; fails if there was a run to release, or if a task failed."""
        from airflow_refresh_provider.runner.steps import one_task

        if one_task.interrupt(ports, self.definition_name, binding.request(context)):
            kept = binding.own_run(context, ports, self.definition_name) is not None
            raise binding.unfinished(context, self.definition_name, kept=kept)
        binding.check_succeeded(context, self.upstream_task_ids, self.definition_name)


class RefreshOperator(_RefreshTask):
    """A whole refresh in one task, for many small tables; as resumable as the phased one."""

    publishes = True

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.outlets = [*self.outlets, *binding.assets(self.definition)]

    def perform(self, context: Context, ports: Ports) -> dict[str, Any]:
        """Register the definition if it was given, then refresh, or only log the differences.

        A retry with nothing to do returns again what its DAG run has published.
        """
        check_form(context)
        binding.register(ports, self.definition)
        if binding.request(context).compare_only:
            self.show_differences(context, ports)
            raise AirflowSkipException("compared only; nothing was written")
        try:
            binding.check_due(context, ports, self.definition_name)
            result = self.refresh(context, ports)
        except AirflowSkipException:
            before = binding.published_before(context, ports, self.definition_name)
            if before is None:
                raise
            result = before
        binding.announce(context, self.outlets, result, self.log)
        self._read = lineage.read(ports, result, self.log)
        return result.model_dump(mode="json")

    def refresh(self, context: Context, ports: Ports) -> RunResult:
        """Refresh. Raises AirflowSkipException when there is nothing to do, or its budget is spent."""
        from airflow_refresh_provider.runner.refreshes import Refreshes

        return binding.result_or_skip(Refreshes(ports).run(self.definition_name, binding.request(context)))

    def show_differences(self, context: Context, ports: Ports) -> None:
        """Log the differences between target and query."""
        binding.show_differences(ports, self.definition_name, self.log)


def target_asset(definition: Definition | Broken) -> Asset:
    """The asset of a definition's target: its name is the definition's, its URI the target's.

    The asset of a broken definition has a name only, and no events.
    """
    if isinstance(definition, Broken):
        return Asset(name=definition.name)
    return binding.assets(binding.stored(definition))[0]
