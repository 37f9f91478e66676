"""The trigger form: what can be chosen when a refresh is triggered by hand, and what cannot.

Airflow checks the values of a form's fields when a run is triggered. It takes any other field for one of somebody
else's, so those are refused by the task that begins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.sdk import Param
from airflow.sdk.exceptions import ParamValidationError

from airflow_refresh_provider.core.definition.mode import AS_DEFINED, Mode
from airflow_refresh_provider.core.run.request import IfRunning
from airflow_refresh_provider.core.text.wording import suggestion
from airflow_refresh_provider.errors import Invalid

if TYPE_CHECKING:
    from airflow.sdk import Context

_WITHOUT_FIELD = {"if_running": Param("refuse", type="string", enum=list(IfRunning))}
"""Known, but not offered."""


def trigger_form() -> dict[str, Param]:
    """What can be chosen when a run is triggered by hand."""
    return {
        "mode": Param(
            AS_DEFINED,
            type="string",
            enum=[AS_DEFINED, *Mode],
            description="How changes are found: by looking at everything, or only at what the inputs say has changed.",
        ),
        "on_interrupted": Param(
            "resume",
            type="string",
            enum=["resume", "restart"],
            description="An unfinished run is finished at its own input versions, or given up for a new one.",
        ),
        "force": Param(
            False, type="boolean", description="Run although nothing moved, and accept the deletion of many rows."
        ),
        "compare_only": Param(
            False, type="boolean", description="Only count and show differences between target and query."
        ),
    }


def check_form(context: Context) -> None:
    """Raise Invalid for a field that nobody reads. A DAG without the form may be told what it likes."""
    declared = set(context["dag"].params)
    if not trigger_form().keys() <= declared:
        return
    unknown = sorted(set(context["dag_run"].conf or {}) - declared - _WITHOUT_FIELD.keys())
    if unknown:
        raise Invalid(
            "unknown_parameter",
            f"{', '.join(unknown)}: unknown in the configuration of a DAG run.{suggestion(unknown[0], declared)}",
            next=f"Trigger the DAG with none but {', '.join(sorted(declared))}.",
        )


def check_values(context: Context) -> None:
    """Raise Invalid for a value that a field cannot have: a DAG without the form has nobody else who checks them."""
    params = context["params"]
    for name, field in (trigger_form() | _WITHOUT_FIELD).items():
        if name not in params:
            continue
        try:
            field.resolve(params[name])
        except ParamValidationError as error:
            raise Invalid(
                "bad_parameter",
                f"{name} cannot be {params[name]!r}: {str(error).splitlines()[0]}",
                next=f"Trigger the DAG with another value. {field.description or ''}".strip(),
            ) from None
