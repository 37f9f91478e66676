"""Refreshes from Python, at the control root and the Spark that are given."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_refresh_provider import cancel, refresh, refresh_several
from airflow_refresh_provider.core.run.results import Outcome, Rows
from airflow_refresh_provider.errors import Invalid, Refused
from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from tests.cases.case import NAME, Case


def test_refreshes_are_run_and_cancelled_from_python(case: Case, spark_server: Endpoint) -> None:
    places: dict[str, Any] = {"control": str(case.folder / "control"), "spark": spark_server.url}
    case.rows("src", id=[1, 2], v=[10, 20])
    case.define("SELECT id, v FROM src", tags=["nightly"], mode="auto")
    case.refresh()

    case.rows("src", id=[3], v=[30])
    result = refresh(NAME, mode="full", **places)
    assert (result.mode, result.rows) == ("full", Rows(inserted=1, unchanged=2))
    case.check()

    case.rows("src", id=[4], v=[40])
    several = refresh_several("k*", tags=["nightly"], workers=2, **places)
    assert [(step.name, step.outcome) for step in several.refreshes] == [(NAME, Outcome.SUCCEEDED)]
    assert refresh_several(**places).outcome is Outcome.NOTHING_TO_DO
    case.check()

    case.rows("src", id=[None], v=[50])
    failed = refresh_several(NAME, **places)
    [step] = failed.refreshes
    assert (failed.outcome, step.error.code if step.error else None) == (Outcome.FAILED, "null_key")
    with pytest.raises(Refused):
        cancel(NAME, abandon=True, **places)
    with pytest.raises(Invalid, match="moed"):
        refresh(NAME, moed="full", **places)
