"""Operators of a phased refresh, and the one that does all phases in a single task.

Thin on purpose: each binds the context of an Airflow task to one act of `runner.phases`. All tasks of a DAG run name
the same origin, so that whichever comes again, on whatever machine, finds its own run and goes on with it.
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
from airflow_refresh_provider.errors import Interrupted, Paused
from airflow_refresh_provider.hooks import configuration
from airflow_refresh_provider.hooks.refresh_hook import RefreshHook
from airflow_refresh_provider.task_context import binding
from airflow_refresh_provider.task_context.bundles import outside
from airflow_refresh_provider.task_context.links import RunLink, TargetLink
from airflow_refresh_provider.task_context.trigger_form import check_form
from airflow_refresh_provider.triggers.refresh_trigger import Wish, waiting

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_refresh_provider.ports.bundle import Ports

_STOPPED = "the task was asked to stop"


class _RefreshTask(BaseOperator):
    """What all operators know: the definition, by itself or by the name it was registered under, and the connection.

    With a broken definition a task fails with what is wrong, before it looks at anything else.
    """

    ui_color = "#e4f0e8"
    template_fields: Sequence[str] = ()
    operator_extra_links = (RunLink(), TargetLink())
    publishes = False
    """Whether what the task returns is the result of a whole refresh."""

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
        self.refresh_conn_id = refresh_conn_id
        self._at_work = False

    @property
    def definition_name(self) -> str:
        """The name under which the definition is registered."""
        return self.definition if isinstance(self.definition, str) else str(self.definition["name"])

    def execute(self, context: Context, event: dict[str, Any] | None = None) -> Any:
        """Do this task's part. Errors that trying again cannot mend fail the task at once.

        While the definition is paused the task waits in the triggerer, and begins again when the event comes: what it
        did before is found where it was left.
        """
        with binding.as_airflow_errors():
            if self._broken:
                raise self._broken.error
            try:
                self._at_work = True
                return self.perform(
                    context, binding.ports(context, self.refresh_conn_id, self.definition_name, self.log)
                )
            except Paused as paused:
                self.log.info("%s; this task goes on when the pause ends", paused.message)
                places = RefreshHook(self.refresh_conn_id).places()
                trigger = waiting(self.definition_name, places, Wish(unpaused=True), configuration.poll_interval())
                raise TaskDeferred(trigger=trigger, method_name="execute") from None
            except binding.NotYet as wait:
                from airflow.providers.standard.triggers.temporal import DateTimeTrigger

                self.log.info("%s; this task goes on at %s", wait, wait.moment)
                raise TaskDeferred(trigger=DateTimeTrigger(moment=wait.moment), method_name="execute") from None
            finally:
                self._at_work = False

    @abstractmethod
    def perform(self, context: Context, ports: Ports) -> Any:
        """The one act of this operator."""

    def on_kill(self) -> None:
        """Stop where the work stands: the statement in Spark is ended, the run stays resumable, the task fails."""
        if self._at_work:
            self._at_work = False
            raise Interrupted(
                "interrupted",
                _STOPPED,
                left="Everything committed stays, and the run can be resumed.",
                next="Clear the task, or let the next DAG run go on.",
            )


class RefreshStartOperator(_RefreshTask):
    """Checks, pins the inputs and begins a run, or goes on with an unfinished one. Skips what is left if nothing moved.

    Returns the run's id, and why an unfinished one was gone on with. `pins` is what a RefreshPinOperator returned:
    inputs at these places are read as they were then.
    """

    template_fields: Sequence[str] = ("pins",)

    def __init__(self, *, pins: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pins = pins

    def perform(self, context: Context, ports: Ports) -> dict[str, Any]:
        """Register the definition if it was given, then begin."""
        from airflow_refresh_provider.runner.steps import one_task

        check_form(context)
        binding.register(ports, self.definition)
        if binding.compare_only(context):
            binding.show_differences(ports, self.definition_name, self.log)
            raise AirflowSkipException("compared only: nothing was written")
        binding.check_due(context, ports, self.definition_name, cascaded=self.pins is not None)
        begun = one_task.start(ports, self.definition_name, binding.request(context, self.pins))
        if isinstance(begun, RunResult):
            raise binding.skip(begun)
        self.log.info("run %s%s", begun.run_id, f", gone on with: {begun.reason}" if begun.reason else " begins")
        return begun.model_dump(mode="json")


class RefreshLoadOperator(_RefreshTask):
    """Makes the target ready, fills and freezes staging. Returns the units to merge, for the next task to map over."""

    def perform(self, context: Context, ports: Ports) -> list[dict[str, int]]:
        """Load; units whose chunks are already in are returned too, and cost their task one look."""
        from airflow_refresh_provider.runner.steps import one_task

        units = one_task.fill(ports, self.definition_name, binding.request(context))
        return [unit.model_dump() for unit in units]


class VnodeMergeOperator(_RefreshTask):
    """Merges one unit of vnodes, chunk by chunk. Map it over the units that the load returned."""

    def __init__(self, *, unit: Mapping[str, int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.unit = unit

    def perform(self, context: Context, ports: Ports) -> dict[str, int]:
        """Merge the chunks of the unit that are not in the target yet."""
        from airflow_refresh_provider.runner.steps import one_task

        skipped = one_task.merge_unit(ports, self.definition_name, binding.request(context), self.unit["unit"])
        chunks = counted(self.unit["chunks"], "chunk")
        self.log.info("unit %s is in: %s, %s of them before", self.unit["unit"], chunks, skipped)
        return {"unit": self.unit["unit"], "chunks": self.unit["chunks"], "skipped": skipped}


class CleanupOperator(_RefreshTask):
    """Ends a run: gate, seal, publish, history, staging. Only then the target's asset is marked as updated."""

    publishes = True

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.outlets = [*self.outlets, *binding.assets(self.definition)]

    def perform(self, context: Context, ports: Ports) -> dict[str, Any]:
        """Publish the run, unless chunks are missing."""
        from airflow_refresh_provider.runner.steps import one_task

        result = one_task.finish(ports, self.definition_name, binding.request(context))
        binding.announce(context, self.outlets, result, self.log)
        return result.model_dump(mode="json")


class RefreshReleaseOperator(_RefreshTask):
    """The teardown: leaves a run that did not get to its end for anyone to go on with, at once. Publishes nothing."""

    def perform(self, context: Context, ports: Ports) -> None:
        """Shut out whoever is left of the run's tasks; fails if there was something to release, or if they failed."""
        from airflow_refresh_provider.runner.steps import one_task

        if one_task.interrupt(ports, self.definition_name, binding.request(context)):
            raise binding.unfinished(self.definition_name)
        binding.check_succeeded(context, self.upstream_task_ids, self.definition_name)


class RefreshOperator(_RefreshTask):
    """A whole refresh in one task, for the many small tables; as resumable as the phased one."""

    publishes = True

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.outlets = [*self.outlets, *binding.assets(self.definition)]

    def perform(self, context: Context, ports: Ports) -> dict[str, Any]:
        """Register the definition if it was given, then refresh, or only show what differs.

        Repeated with nothing new, it tells again what its DAG run has published.
        """
        check_form(context)
        binding.register(ports, self.definition)
        if binding.compare_only(context):
            self.show_differences(context, ports)
            raise AirflowSkipException("compared only: nothing was written")
        try:
            binding.check_due(context, ports, self.definition_name)
            result = self.refresh(context, ports)
        except AirflowSkipException:
            before = binding.published_before(context, ports, self.definition_name)
            if before is None:
                raise
            result = before
        binding.announce(context, self.outlets, result, self.log)
        return result.model_dump(mode="json")

    def refresh(self, context: Context, ports: Ports) -> RunResult:
        """Do the refresh. Raises AirflowSkipException when there is nothing to do."""
        from airflow_refresh_provider.runner.refreshes import Refreshes

        return binding.needed(Refreshes(ports).run(self.definition_name, binding.request(context)))

    def show_differences(self, context: Context, ports: Ports) -> None:
        """Log what differs between target and query."""
        binding.show_differences(ports, self.definition_name, self.log)


def target_asset(definition: Definition | Broken) -> Asset:
    """The asset that stands for a definition's target: named as the definition, found at the target.

    That of a broken one has its name alone, and no events.
    """
    if isinstance(definition, Broken):
        return Asset(name=definition.name)
    return binding.assets(binding.stored(definition))[0]
