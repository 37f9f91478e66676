"""The answers to recorded errors of real Spark; how they are recorded is said in `spark_errors.py`."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.faults.answers import ANSWERS, explained
from airflow_refresh_provider.core.faults.kinds import FaultKind, kind_of
from tests.unit.spark.spark_errors import EXPECTED, check, recorded

_UNPROVOKED = {
    FaultKind.NO_FOLDER,  # a folder that an executor of another machine cannot make; see `target.partition_too_long`
    FaultKind.NO_MESSAGE,  # an error that is fatal in the JVM of the server
    FaultKind.OTHER,
}


def test_every_expected_error_was_recorded() -> None:
    assert sorted(recorded()) == sorted(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_recorded_error_is_answered_in_three_parts_that_blame_what_is_to_blame(name: str) -> None:
    fault, doing = recorded()[name]

    check(name, explained(fault, doing), doing)


def test_every_kind_has_an_answer_and_a_real_error() -> None:
    found = {kind_of(fault) for fault, _ in recorded().values()}

    assert set(ANSWERS) == set(FaultKind)
    assert set(FaultKind) - found == _UNPROVOKED


@pytest.mark.parametrize(
    ("name", "value"),
    [("target.check", "5000"), ("target.generated", "twice : 5"), ("target.check_keyed_replace", "5000")],
)
def test_values_of_rows_are_shown_and_can_be_redacted(name: str, value: str) -> None:
    error = explained(*recorded()[name])
    assert value in error.message
    assert value not in error.kept(redact=True) and value in error.kept(redact=False)
