"""Nested values, odd numbers and awkward names: compared, and carried into the target exactly."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.plan.plan import ChangeCounts
from airflow_refresh_provider.core.plan.ways import Way
from tests.engine.acts import Lake, source

_NESTED = (
    "SELECT id AS k, "
    "if(id = 1, NULL, named_struct('a b', if(id = 2, NULL, id + {v}), 'c`d', array(NULL, id), 'e.f', 'ü')) AS `s t`, "
    "if(id = 3, NULL, array(NULL, named_struct('x', if(id = 4, NULL, {v}), 'm', array(named_struct('y', id))))) AS a, "
    "if(id = 5, NULL, array(timestamp_micros(id + {v}), NULL)) AS t, "
    "array(double('NaN'), -0.0D, NULL, id) AS d, CAST(NULL AS STRUCT<n: INT>) AS n, "
    "CAST(if(id = 6, NULL, id) AS DECIMAL(20, 5)) AS `de``c`, if(id > 6, NULL, unhex(hex(id))) AS `ü`, "
    "id % 2 = 0 AS `{{o}}` "
)


@pytest.mark.parametrize(
    ("way", "by_vnode"),
    [
        pytest.param(Way.MERGE, False, marks=pytest.mark.slow),
        (Way.KEYED_REPLACE, True),
        pytest.param(Way.REPLACE_TABLE, False, marks=pytest.mark.slow),
    ],
)
def test_nested_values_and_awkward_names_arrive_exactly(lake: Lake, way: Way, by_vnode: bool) -> None:
    first = source(_NESTED.format(v=0) + "FROM range(8)", "k")
    target = lake.target(first, by_vnode=by_vnode)
    lake.load(target, first)

    assert lake.refresh(target, first, way) == ChangeCounts()
    changed = source(_NESTED.format(v=1) + "FROM range(2, 10)", "k")
    assert lake.refresh(target, changed, way) == ChangeCounts(inserted=2, updated=6, deleted=2)


def test_maps_are_compared_by_their_entries_and_arrive_exactly(lake: Lake) -> None:
    query = "SELECT id AS k, map_from_arrays({keys}, array(NULL, id)) AS m FROM range(3)"
    first = source(query.format(keys="array('a', 'b')"), "k")
    then = source(query.format(keys="array('a', concat('c', if(id = 1, 'x', '')))"), "k")
    turned = source(f"SELECT k, map_from_entries(reverse(map_entries(m))) AS m FROM ({then.query})", "k")
    target = lake.target(first)
    lake.load(target, first)

    compared = lake.compare(target, then)
    lake.apply(target, then, compared, Way.MERGE)

    assert compared.total == ChangeCounts(updated=3)
    assert lake.compare(target, turned).total == ChangeCounts()
    assert lake.compare(target, first).total == ChangeCounts(updated=3)


_ODD = (
    "SELECT id AS k, if(id = 0, array(timestamp_micros({v})), NULL) AS t, "
    "if(id = 1, named_struct('d', if({v} = 0, double('NaN'), NULL)), NULL) AS d, "
    "if(id = 2, array(if({v} = 0, -0.0D, 0.0D), double('NaN')), NULL) AS z, "
    "if(id = 3, array(if({v} = 0, X'00', X'0000')), NULL) AS b, "
    "if(id = 4, if({v} = 0, array(1, NULL), array(NULL, 1)), NULL) AS n FROM range(5)"
)


def test_the_smallest_difference_in_a_nested_value_is_found_and_only_the_sign_of_zero_is_none(lake: Lake) -> None:
    first, then = (source(_ODD.format(v=v), "k") for v in (0, 1))
    target = lake.target(first)
    lake.load(target, first)

    assert lake.compare(target, then).total == ChangeCounts(updated=4)
