"""The operator that pins the inputs of a whole cascade for one DAG run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.hooks.refresh_hook import RefreshHook
from airflow_refresh_provider.task_context import binding

if TYPE_CHECKING:
    from airflow.sdk import Context


class RefreshPinOperator(BaseOperator):
    """Returns the pins of inputs by path: the `pins` of the `start` tasks. `reads`: name -> input.

    Paths with variables are returned as they are written.
    """

    ui_color = "#e4f0e8"

    def __init__(
        self,
        *,
        reads: Mapping[str, Mapping[str, Any]],
        refresh_conn_id: str = RefreshHook.default_conn_name,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.reads = {name: dict(read) for name, read in reads.items()}
        self.refresh_conn_id = refresh_conn_id

    def execute(self, context: Context) -> dict[str, Any]:
        """Pin each of them once. A retry pins them again."""
        from airflow_refresh_provider.runner.admin.cascades import pinned

        reads = [(name, Input.model_validate(read)) for name, read in self.reads.items()]
        with binding.as_airflow_errors():
            found = pinned(binding.ports(context, self.refresh_conn_id, "", self.log), reads)
            written = [pin.as_written() for pin in found.values()]
            return {pin.location: pin.model_dump(mode="json") for pin in written}
