"""The submitter of an application gets its result or its error unchanged."""

from __future__ import annotations

import pytest

from airflow_refresh_provider import errors
from airflow_refresh_provider.core.run.results import ApplicationResult, Outcome, RunResult

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.RefreshError) and kind is not errors.RefreshError
]


def test_a_result_comes_back_whole() -> None:
    result = RunResult(run_id="r", name="orders", outcome=Outcome.SUCCEEDED, generation=3, input_versions={"x": 1})
    assert ApplicationResult.model_validate_json(ApplicationResult.of(result).model_dump_json()).result == result


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_comes_back_as_its_own_class(kind: type[errors.RefreshError]) -> None:
    text = ApplicationResult.of(kind("code", "what failed", left="as it was", next="do this")).model_dump_json()
    report = ApplicationResult.model_validate_json(text).error
    assert report is not None
    error = report.exception()
    assert type(error) is kind
    assert (error.code, error.message, error.left, error.next) == ("code", "what failed", "as it was", "do this")


def test_nothing_else_is_a_result() -> None:
    assert len(KINDS) > 5
    with pytest.raises(TypeError):
        ApplicationResult.of("done")
