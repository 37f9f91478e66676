"""Fields that are added inside structs."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.run.results import Rows
from tests.cases.case import Case


@pytest.mark.slow
def test_fields_added_in_structs_are_added_to_the_target_and_filled(case: Case) -> None:
    case.do(
        "CREATE TABLE {src} (id INT, s STRUCT<a: INT>, arr ARRAY<STRUCT<k: STRING>>) USING delta "
        "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
        "INSERT INTO {src} VALUES (1, named_struct('a', 1), array(named_struct('k', 'x')))",
    )
    case.define("SELECT id, s, arr FROM src", mode="incremental")
    case.run()

    case.do(
        "ALTER TABLE {src} ADD COLUMNS (s.b STRING, arr.element.n INT)",
        "INSERT INTO {src} VALUES (2, named_struct('a', 2, 'b', 'bee'), array(named_struct('k', 'y', 'n', 4)))",
    )
    assert case.refresh().rows == Rows(inserted=1, unchanged=1)
    assert case.found("SELECT id, s.b, arr[0].n FROM target") == {(1, None, None), (2, "bee", 4)}


def test_fields_added_in_structs_are_refused_by_name_where_the_definition_refuses_new_columns(case: Case) -> None:
    case.rows("src", id=[1], s=[{"a": 1}])
    case.define("SELECT id, s FROM src", on_schema_change={"added": "refuse"})
    case.run()

    case.do("ALTER TABLE {src} ADD COLUMNS (s.b STRING)")
    case.refused("schema_change", "s.b")
