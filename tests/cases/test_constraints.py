"""Adopted targets that do not accept every row: the refresh says which and why, and goes on once the rows are right."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.run.results import Rows
from tests.cases.case import Case


def test_a_value_that_a_check_of_the_target_forbids_is_named_with_the_constraint(case: Case) -> None:
    case.rows("src", id=[1, 2], amount=[10, 5000])
    case.do(
        "CREATE TABLE {target} (id INT NOT NULL, amount INT) USING delta",
        "INSERT INTO {target} VALUES (1, 9)",
        "ALTER TABLE {target} ADD CONSTRAINT amount_sane CHECK (amount BETWEEN 0 AND 1000)",
    )
    case.define("SELECT id, amount FROM src", adopt=True)
    error = case.refused("constraint_violated", "amount_sane", "amount : 5000")
    assert error.exit_code == 1

    case.update("src", "id = 2", amount="20")
    assert case.refresh().rows == Rows(inserted=1, updated=1)


@pytest.mark.slow
def test_a_column_of_the_target_that_may_not_be_null_is_named(case: Case) -> None:
    case.rows("src", id=[1, 2], note=["a", None])
    case.do("CREATE TABLE {target} (id INT NOT NULL, note STRING NOT NULL) USING delta")
    case.define("SELECT id, note FROM src", adopt=True)

    case.refused("constraint_violated", "NOT NULL", "note")

    case.update("src", "id = 2", note="''")
    assert case.refresh().rows == Rows(inserted=2)
