"""The trigger form: what can be chosen when a refresh is triggered by hand."""

from __future__ import annotations

from airflow.sdk import Param

from airflow_refresh_provider.core.mode import AS_DEFINED, Mode


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
