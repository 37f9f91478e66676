"""The operator that runs a whole refresh as a Spark application, submitted through the Spark provider.

Thin like the others: it registers the definition, checks whether there is anything to do, submits, and reads the
application's result from the control root. The application owns the run.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowException

from airflow_refresh_provider.core.run.results import ApplicationResult
from airflow_refresh_provider.errors import Retry
from airflow_refresh_provider.hooks.refresh_hook import RefreshHook
from airflow_refresh_provider.operators.refresh_operators import RefreshOperator
from airflow_refresh_provider.operators.submission import DeltaFrom, Submission, arguments
from airflow_refresh_provider.task_context import binding

if TYPE_CHECKING:
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
    from airflow.sdk import Context

    from airflow_refresh_provider.core.run.request import Request
    from airflow_refresh_provider.core.run.results import RunResult
    from airflow_refresh_provider.ports.bundle import Ports


class RefreshSubmitOperator(RefreshOperator):
    """A whole refresh in one task, run as a Spark application on the cluster of a `spark` connection.

    `submit_options` are arguments of SparkSubmitHook, such as `{"executor_memory": "4g"}`. `application` is the path of
    the program on the cluster, `delta` where Delta's jars come from: `jars`, `packages` or `image`.
    """

    def __init__(
        self,
        *,
        spark_conn_id: str = "spark_default",
        application: str | None = None,
        delta: str | None = None,
        submit_options: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.submission = Submission(
            spark_conn_id, application, DeltaFrom(delta) if delta else None, dict(submit_options or {})
        )
        self._hook: SparkSubmitHook | None = None

    def refresh(self, context: Context, ports: Ports) -> RunResult:
        """Refresh, unless there is nothing to do."""
        from airflow_refresh_provider.runner.refreshes import Refreshes

        request = binding.request(context)
        if idle := Refreshes(ports).not_needed(self.definition_name, request):
            raise binding.skip(idle)
        ended = self._run_application(request)
        assert ended.result is not None
        return binding.result_or_skip(ended.result)

    def show_differences(self, context: Context, ports: Ports) -> None:
        """Compare target and query, and log the differences."""
        ended = self._run_application(binding.request(context))
        assert ended.differences is not None
        binding.log_differences(ended.differences, self.log)

    def on_kill(self) -> None:
        """End the application, then fail the task. The run stays resumable."""
        try:
            if self._hook is not None:
                self._hook.on_kill()
        finally:
            super().on_kill()

    def _run_application(self, request: Request) -> ApplicationResult:
        """Submit, wait for the end, and read the result.

        Raises the error that the application ended with, and Retry when it left no result.
        """
        from airflow_refresh_provider import compose

        places, result_id = RefreshHook(self.refresh_conn_id).places(), str(uuid.uuid4())
        words = arguments(self.definition_name, places.control, request, result_id)
        self._hook = self.submission.hook(self.definition_name, words)
        failure, ended = "it ended without one", False
        try:
            self._hook.submit(self.submission.program)
            ended = True
        except AirflowException as error:
            # The result says more than an exit code. Without one the application was killed, or never started.
            failure, ended = str(error), True
        finally:
            if not ended:  # the task timed out or was stopped
                self._hook.on_kill()
            self._hook = None
        text = compose.application_results(places).take(self.definition_name, result_id)
        if text is None:
            raise _no_result(self.definition_name, failure)
        result = ApplicationResult.model_validate_json(text)
        if result.error:
            raise result.error.exception()
        return result


def _no_result(name: str, why: str) -> Retry:
    return Retry(
        "no_application_result",
        f"the Spark application left no result for {name}: {why}",
        left="Everything committed stays, and the run can be resumed.",
        next="Clear the task, or let the next DAG run resume it.",
    )
