"""A random sample of the target, computed again beside an incremental refresh.

Rows that the refresh leaves alone have to be what the query gives. Nothing of the sample is applied: a difference has
everything compared, as a verification.
"""

from __future__ import annotations

from airflow_refresh_provider.core.definition.columns import floating_columns
from airflow_refresh_provider.core.maintain.plan import Maintenance
from airflow_refresh_provider.core.plan.inexact import inexact_columns
from airflow_refresh_provider.core.plan.plan import StagedTable
from airflow_refresh_provider.core.run.record import Run
from airflow_refresh_provider.ports.engine import EngineSession
from airflow_refresh_provider.ports.tasks import Disagreement, SampleTask, Touched, VerifyTask
from airflow_refresh_provider.runner.facts import staging_paths
from airflow_refresh_provider.runner.facts.targets import Ready
from airflow_refresh_provider.runner.hold.tenure import Tenure
from airflow_refresh_provider.runner.windows import comparing
from airflow_refresh_provider.runner.windows.window_changes import Sampled


def sampled(
    tenure: Tenure, session: EngineSession, ready: Ready, expected: StagedTable | None, touched: Touched | None
) -> Sampled | None:
    """What a sample has found; None where none is asked for, or no columns say which rows to compute again.

    Of touched values none is drawn, so that any difference is a fault. Without them, where changes were added up,
    groups that change are drawn too, and `expected` are their staged changes.
    """
    run = tenure.read_run()
    maintenance = run.plan.maintenance
    if not run.definition.verify_share or maintenance is None or not maintenance.anchors:
        return None
    drawn = session.sample(_task(run, tenure.generation, ready, maintenance, touched))
    values = drawn.model_copy(update={"share": run.definition.verify_share})
    found = Disagreement()
    if values.rows:
        found = _difference(tenure, session, ready, values, None if touched else expected)
    return Sampled(values.rows, found)


def _task(run: Run, generation: int, ready: Ready, maintenance: Maintenance, touched: Touched | None) -> SampleTask:
    location, _ = staging_paths.changes_of(run, generation, "sample")
    return SampleTask(
        target=ready.target,
        base=ready.version,
        maintenance=maintenance,
        location=location,
        share=run.definition.verify_share,
        seed=run.run_id,
        without=touched,
    )


def _difference(
    tenure: Tenure, session: EngineSession, ready: Ready, values: Touched, expected: StagedTable | None
) -> Disagreement:
    """How the query's rows for the values differ from what they are expected to become."""
    compared = comparing.compare(tenure, session, ready.version, touched=values, kind="of-sample")
    changes = compared.changes if compared.total.total else None
    if expected is None and changes is None:
        return Disagreement()
    run = tenure.read_run()
    floating = floating_columns(ready.target.columns)
    return session.verify(
        VerifyTask(
            one=expected,
            other=changes,
            target=ready.target,
            keys=run.definition.keys,
            inexact=inexact_columns(run.definition, run.plan.facts, floating),
            among=values,
        )
    )
