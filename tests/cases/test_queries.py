"""Queries as people write them."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.run.results import Rows
from tests.cases.case import Case


def test_with_queries_may_have_the_names_of_the_inputs_that_they_import(case: Case) -> None:
    case.rows("src", id=[1, 2, 2], v=[10, 20, 1])
    case.define(
        "WITH src AS (SELECT * FROM src), final AS (SELECT id, sum(v) AS v FROM src GROUP BY id) SELECT * FROM final"
    )

    assert case.refresh().rows == Rows(inserted=2)
    assert case.found("SELECT * FROM target") == {(1, 10), (2, 21)}


@pytest.mark.slow
def test_functions_of_one_row_over_an_imported_input_are_refreshed_incrementally(case: Case) -> None:
    case.rows("src", id=[1], payload=['{"kind": "a"}'], ms=[1_700_000], tags=["x,y"])
    case.define(
        "WITH raw AS (SELECT * FROM src) SELECT id, get_json_object(payload, '$.kind') AS kind, "
        "timestamp_millis(ms) AS at, xxhash64(payload) AS h, split(tags, ',')[0] AS tag FROM raw",
        mode="incremental",
    )
    case.refresh()

    case.rows("src", id=[2], payload=['{"kind": "b"}'], ms=[1_700_001], tags=["z"])
    result = case.refresh()
    assert (result.mode, result.rows) == ("incremental", Rows(inserted=1, unchanged=1))
    assert case.found("SELECT id, kind, tag FROM target") == {(1, "a", "x"), (2, "b", "z")}


def test_a_group_that_cannot_be_computed_leaves_the_target_as_it_is(case: Case) -> None:
    case.rows("src", id=[1, 1, 2], v=[10, 20, 5])
    case.define("SELECT id, sum(100 / v) AS share FROM src GROUP BY id", mode="incremental")
    case.refresh()
    case.rows("src", id=[1], v=[4])
    assert case.refresh().mode_code == "verification"

    case.rows("src", id=[2, 3], v=[0, 1])
    case.refused("bad_value", "zero")
    assert case.found("SELECT * FROM target") == {(1, 40.0), (2, 20.0)}

    case.update("src", "v = 0", v="2")
    result = case.refresh()
    assert (result.mode, result.rows) == ("incremental", Rows(inserted=1, updated=1, unchanged=1))
