"""The operator that has a whole refresh done by a Spark application, submitted for it through the Spark provider.

Thin like the others: it registers, asks whether there is anything to do, submits, and takes the application's answer
out of the control root. The application holds the run; what becomes of it does not depend on who started it.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowException, AirflowSkipException

from airflow_refresh_provider.core.answer import Answer
from airflow_refresh_provider.core.results import Outcome, RunResult
from airflow_refresh_provider.errors import Retry
from airflow_refresh_provider.hooks.refresh import RefreshHook
from airflow_refresh_provider.operators import binding
from airflow_refresh_provider.operators.form import check_form
from airflow_refresh_provider.operators.refresh import RefreshOperator
from airflow_refresh_provider.operators.submission import DeltaFrom, Submission, arguments

if TYPE_CHECKING:
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
    from airflow.sdk import Context

    from airflow_refresh_provider.ports.bundle import Ports


class RefreshSubmitOperator(RefreshOperator):
    """A whole refresh in one task, done by a Spark application of its own on the cluster of a `spark` connection.

    `submit_options` are arguments of SparkSubmitHook, such as `{"executor_memory": "4g"}`. `application` names the
    program where the cluster has it, `delta` where Delta's jars come from: `jars`, `packages` or `image`.
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

    def perform(self, context: Context, ports: Ports) -> dict[str, Any]:
        """Register the definition if it was given, then have it refreshed, unless there is nothing to do."""
        from airflow_refresh_provider.runner.refreshes import Refreshes

        check_form(context)
        binding.register(ports, self.definition)
        wanted, compare_only = binding.request(context), binding.compare_only(context)
        if not compare_only:
            binding.check_due(context, ports, self.definition_name)
        if not compare_only and (idle := Refreshes(ports).not_needed(self.definition_name, wanted)):
            raise binding.skip(idle)
        control = RefreshHook(self.refresh_conn_id).places().control
        answer_id = str(uuid.uuid4())
        answer = self._answer(
            answer_id, arguments(self.definition_name, control, wanted, answer_id, compare_only=compare_only)
        )
        if answer.complaint:
            raise answer.complaint.error()
        if answer.differences:
            binding.log_differences(answer.differences, self.log)
            raise AirflowSkipException("compared only: nothing was written")
        assert answer.result is not None
        return self._ended(context, answer.result)

    def on_kill(self) -> None:
        """End the application, then fail the task. The run stays resumable."""
        try:
            if self._hook is not None:
                self._hook.on_kill()
        finally:
            super().on_kill()

    def _answer(self, answer_id: str, words: list[str]) -> Answer:
        """Submit, wait for the end, and take the answer. Raises Retry when the application left none."""
        from airflow_refresh_provider import compose

        self._hook = self.submission.hook(self.definition_name, words)
        failure = "it ended without one"
        try:
            self._hook.submit(self.submission.program)
        except AirflowException as error:
            # The answer says more than an exit code. Without one the application was killed, or never began.
            failure = str(error)
        finally:
            self._hook = None
        text = compose.answers(RefreshHook(self.refresh_conn_id).places()).take(self.definition_name, answer_id)
        if text is None:
            raise _no_answer(self.definition_name, failure)
        return Answer.model_validate_json(text)

    def _ended(self, context: Context, result: RunResult) -> dict[str, Any]:
        if result.state is Outcome.NOTHING_TO_DO:
            raise binding.skip(result)
        binding.announce(context, self.outlets, result, self.log)
        return result.model_dump(mode="json")


def _no_answer(name: str, why: str) -> Retry:
    return Retry(
        "no_answer",
        f"the Spark application left no answer about {name}: {why}",
        left="Everything committed stays, and the run can be resumed.",
        next="Clear the task, or let the next DAG run go on.",
    )
