"""Refreshes from Python, started and cancelled, without Airflow."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from airflow_refresh_provider.core.run.admin_results import Recovery
from airflow_refresh_provider.core.run.results import RefreshesResult, RunResult


def refresh(name: str, *, control: str | None = None, spark: str | None = None, **options: Any) -> RunResult:
    """Refresh the target of a registered definition once, or resume its unfinished run.

    `control` and `spark` default to those of the environment. `options` are those of the command `run`, such as
    `mode="full"`, `force=True`, `workers=4`. Raises errors.*, each with what failed, how the data was left, what to do.
    """
    from airflow_refresh_provider.compose import refreshes
    from airflow_refresh_provider.core.run.options import validated
    from airflow_refresh_provider.core.run.request import Request
    from airflow_refresh_provider.places import current_folder, resolve

    places = resolve(os.environ, current_folder, control, spark)
    return refreshes(places).run(name, validated(Request, options))


def refresh_several(
    *names: str,
    tags: Sequence[str] = (),
    due: bool = False,
    control: str | None = None,
    spark: str | None = None,
    **options: Any,
) -> RefreshesResult:
    """Refresh several targets in this process, `workers` at a time (an option, by default 2).

    `names` may be patterns such as `sales_*`; without names and tags all registered definitions are meant. `due`: only
    those whose refresh is due now. Raises Invalid where nothing is selected; the error of a single refresh is in its
    step, and `outcome` is the worst one.
    """
    from airflow_refresh_provider.compose import refreshes
    from airflow_refresh_provider.core.definition.selection import Selection
    from airflow_refresh_provider.core.run.options import validated
    from airflow_refresh_provider.core.run.request import Request
    from airflow_refresh_provider.places import current_folder, resolve

    selection = Selection(names, tuple(tags), every=not (names or tags))
    places = resolve(os.environ, current_folder, control, spark)
    return refreshes(places).run_several(selection, validated(Request, options), due=due)


def cancel(
    name: str,
    *,
    run_id: str | None = None,
    abandon: bool = False,
    control: str | None = None,
    spark: str | None = None,
) -> Recovery:
    """End the run in progress, or only the run of an id: its owner interrupts its statement in Spark within seconds.

    The next refresh resumes it; with `abandon` it starts a new one. Raises errors.Refused where it has ended meanwhile.
    """
    from airflow_refresh_provider.compose import refreshes
    from airflow_refresh_provider.places import current_folder, resolve

    places = resolve(os.environ, current_folder, control, spark)
    return refreshes(places).cancel(name, run_id=run_id, abandon=abandon)
