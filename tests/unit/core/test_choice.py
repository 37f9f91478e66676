"""The rule that picks the way to apply a chunk."""

from typing import Any

import pytest

from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.plan.choice import (
    FEW_KEYS,
    LITERAL_KEYS,
    UPSERT_ROWS,
    ChunkFacts,
    choose,
    fits_literals,
    key_types,
)
from airflow_refresh_provider.core.plan.plan import ChangeCounts
from airflow_refresh_provider.core.plan.ways import Way

FEW = ChangeCounts(inserted=5, updated=5, deleted=5)


def facts(**changes: Any) -> ChunkFacts:
    given: dict[str, Any] = {
        "counts": FEW,
        "empty": False,
        "rows": 10**7,
        "alone": True,
        "exact": True,
        "keeps_others": False,
        "vnode_layout": False,
        "whole_vnodes": True,
        "deletion_vectors": True,
        "keeps_columns": False,
        "small": False,
        "key_types": ("bigint",),
    }
    return ChunkFacts(**(given | changes))


@pytest.mark.parametrize(
    ("changes", "way"),
    [
        ({"empty": True}, Way.APPEND),
        ({"small": True}, Way.SMALL_TABLE),
        ({"small": True, "exact": False, "keeps_others": True, "deletion_vectors": False}, Way.SMALL_TABLE),
        ({"small": True, "empty": True}, Way.APPEND),
        ({"small": True, "keeps_columns": True}, Way.MERGE),
        ({"small": True, "alone": False}, Way.KEYED_REPLACE),
        ({"small": True, "key_types": ("double",)}, Way.MERGE),
        ({}, Way.KEYED_REPLACE),
        ({"counts": ChangeCounts(updated=FEW_KEYS)}, Way.KEYED_REPLACE),
        ({"counts": ChangeCounts(updated=FEW_KEYS + 1)}, Way.REPLACE_ON),
        ({"counts": ChangeCounts(deleted=LITERAL_KEYS)}, Way.KEYED_REPLACE),
        ({"rows": 10**9, "counts": ChangeCounts(updated=UPSERT_ROWS)}, Way.REPLACE_ON),
        ({"rows": 10**9, "counts": ChangeCounts(updated=UPSERT_ROWS + 1)}, Way.MERGE),
        ({"counts": ChangeCounts(deleted=LITERAL_KEYS + 1)}, Way.MERGE),
        ({"key_types": ("timestamp",)}, Way.MERGE),
        ({"key_types": ("timestamp",), "counts": ChangeCounts(inserted=1)}, Way.REPLACE_ON),
        ({"deletion_vectors": False}, Way.MERGE),
        ({"counts": ChangeCounts(updated=2 * 10**6)}, Way.REPLACE_TABLE),
        ({"counts": ChangeCounts(updated=2 * 10**6), "deletion_vectors": False}, Way.REPLACE_TABLE),
        ({"counts": ChangeCounts(updated=2 * 10**6), "alone": False}, Way.REPLACE_ON),
        ({"counts": ChangeCounts(updated=2 * 10**6), "keeps_others": True}, Way.REPLACE_ON),
        ({"counts": ChangeCounts(updated=2 * 10**6), "exact": False}, Way.REPLACE_ON),
        ({"vnode_layout": True, "rows": 30, "exact": False}, Way.KEYED_REPLACE),
        ({"vnode_layout": True, "rows": 30, "keeps_others": True}, Way.KEYED_REPLACE),
        ({"rows": 10}, Way.KEYED_REPLACE),
        ({"vnode_layout": True}, Way.KEYED_REPLACE),
        ({"vnode_layout": True, "rows": 30}, Way.REPLACE_VNODES),
        ({"vnode_layout": True, "rows": 30, "whole_vnodes": False}, Way.KEYED_REPLACE),
        ({"vnode_layout": True, "counts": ChangeCounts(updated=LITERAL_KEYS + 1)}, Way.MERGE),
    ],
)
def test_each_situation_has_its_way(changes: dict[str, Any], way: Way) -> None:
    assert choose(facts(**changes)) is way


def test_literals_must_be_few_short_and_print_exactly() -> None:
    assert fits_literals(("int",), LITERAL_KEYS)
    assert not fits_literals(("int",), LITERAL_KEYS + 1)
    assert fits_literals(("string",), 3_000)
    assert not fits_literals(("string",), LITERAL_KEYS)
    assert not fits_literals(("double",), 1)
    assert not fits_literals(("int", "decimal(10,2)"), 1)


def test_key_types_come_in_key_order_whatever_the_case() -> None:
    columns = (Column(name="A", type="int"), Column(name="b", type="string"))
    assert key_types(columns, ("B", "a")) == ("string", "int")
