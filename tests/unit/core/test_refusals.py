"""What is refused, and whether the message says what to do."""

import json
from typing import Any

import pytest

from airflow_refresh_provider.core.definition.columns import (
    Column,
    check_partitions,
    check_result,
    visible,
)
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.plan.policy import check_deletes, check_keys
from airflow_refresh_provider.core.run.ownership import (
    CONTROL,
    DEFINITION,
    KEYS,
    LAYOUT,
    VNODES,
    check_layout,
    check_ownership,
    check_storage,
    wanted_properties,
)
from airflow_refresh_provider.errors import Failed, Invalid, Refused


def columns(*pairs: str) -> tuple[Column, ...]:
    return tuple(Column(name=p.split(":")[0], type=p.split(":")[1]) for p in pairs)


def definition(**changes: Any) -> Definition:
    given: dict[str, Any] = {
        "name": "d",
        "target": "/t",
        "query": "SELECT * FROM x",
        "inputs": {"x": {"path": "/x"}},
        "keys": ["k"],
    }
    return Definition.build(**(given | changes))


MINE = {CONTROL: "c", DEFINITION: "d"}


def test_hidden_columns_are_not_visible() -> None:
    assert visible(columns("k:int", "_VNODE:int", "_row_hash:bigint")) == columns("k:int")


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (columns("k:int", "_Op:int"), "reserved_column"),
        (columns("k:int", "a:int", "A:int"), "duplicate_column"),
        (columns("a:int"), "key_not_in_result"),
        (columns("k:map<int,int>"), "key_type"),
        ((Column(name="k", type="struct<`a`:variant>"),), "key_type"),
    ],
)
def test_results_that_cannot_be_kept_are_invalid(result: tuple[Column, ...], code: str) -> None:
    with pytest.raises(Invalid) as raised:
        check_result(result, ("K",))
    assert raised.value.code == code


def test_a_table_is_partitioned_by_anything_but_binary_columns() -> None:
    result = columns("k:int", "P:binary")
    check_partitions(result, ("k",))
    with pytest.raises(Invalid) as raised:
        check_partitions(result, ("k", "p"))
    assert raised.value.code == "partition_type" and "P" in raised.value.message


def test_names_and_other_columns_do_not_make_a_key_unfit() -> None:
    check_result((Column(name="k", type="struct<`map`:int>"), Column(name="v", type="variant")), ("K",))


def test_keys_are_refused_with_counts_and_examples() -> None:
    check_keys(0, 0, (), ())
    with pytest.raises(Failed, match="the query's result has 2 rows with NULL in the key, such as k=None"):
        check_keys(2, 5, ("k=None",), ("k=1",))
    with pytest.raises(Failed, match="the query's result has more than one row for 5 keys, such as k=1; k=2"):
        check_keys(0, 5, (), ("k=1", "k=2"))


@pytest.mark.parametrize(("deleted", "rows", "force"), [(5, 10, False), (10, 10, True), (3, 0, False), (0, 10, False)])
def test_deletes_within_the_ratio_or_forced_pass(deleted: int, rows: int, force: bool) -> None:
    check_deletes(deleted, rows, 0.5, force=force)


def test_deletes_beyond_the_ratio_are_refused_with_figures() -> None:
    with pytest.raises(Refused, match=r"delete 6 of 10 rows \(60%\), more than max_delete_ratio 0.5") as raised:
        check_deletes(6, 10, 0.5, force=False)
    assert raised.value.code == "mass_delete"


@pytest.mark.parametrize(
    ("properties", "code"),
    [
        ({}, "foreign_target"),
        ({CONTROL: "other", DEFINITION: "d"}, "foreign_target"),
        ({CONTROL: "c", DEFINITION: "e"}, "target_taken"),
    ],
)
def test_a_foreign_target_is_refused(properties: dict[str, str], code: str) -> None:
    with pytest.raises(Refused) as raised:
        check_ownership(definition(), properties, "c")
    assert raised.value.code == code


@pytest.mark.parametrize(
    ("layout", "properties", "advised"),
    [
        ("plain", {}, "`adopt: true` to take it over"),
        ("vnode", {}, "`adopt: true` and `layout: plain`, for it has no column _vnode, to take it over"),
        ("vnode", {CONTROL: "other", DEFINITION: "d"}, "`adopt: true` to take it over"),
    ],
)
def test_a_table_is_not_advised_to_be_adopted_in_a_layout_that_it_does_not_have(
    layout: str, properties: dict[str, str], advised: str
) -> None:
    with pytest.raises(Refused) as raised:
        check_ownership(definition(layout=layout), properties, "c")
    assert advised in raised.value.next


def test_an_own_target_passes_and_a_foreign_one_when_it_is_adopted() -> None:
    check_ownership(definition(), MINE, "c")
    check_ownership(definition(adopt=True), {}, "c")
    check_ownership(definition(adopt=True), {CONTROL: "other"}, "c")
    with pytest.raises(Refused):
        check_ownership(definition(adopt=True), {CONTROL: "c", DEFINITION: "e"}, "c")


@pytest.mark.parametrize(
    ("given", "properties", "partitioned", "code"),
    [
        ({"layout": "vnode"}, {}, (), "layout_changed"),
        ({}, {}, ("_vnode",), "layout_changed"),
        ({"layout": "vnode", "vnodes": 8}, {VNODES: "4"}, ("_vnode",), "vnodes_changed"),
        ({"layout": "vnode"}, {KEYS: '["other"]'}, ("_vnode",), "keys_changed"),
        ({"partition_by": ["a"]}, {}, ("b",), "partitioning_changed"),
        ({}, {"delta.appendOnly": "true"}, (), "append_only"),
    ],
)
def test_a_target_with_another_layout_is_refused(
    given: dict[str, Any], properties: dict[str, str], partitioned: tuple[str, ...], code: str
) -> None:
    with pytest.raises(Refused) as raised:
        check_layout(definition(**given), properties, partitioned)
    assert raised.value.code == code
    assert "delete" not in raised.value.next


def test_column_names_of_a_layout_are_case_insensitive() -> None:
    check_layout(definition(partition_by=["Region"]), {}, ("region",))
    check_layout(definition(layout="vnode"), {KEYS: json.dumps([k.upper() for k in definition().keys])}, ("_vnode",))


def test_a_target_with_the_layout_of_the_definition_passes() -> None:
    check_layout(definition(layout="vnode"), {VNODES: "4"}, ("_vnode",))
    check_layout(definition(), {}, ("a",))
    check_layout(definition(partition_by=["a"]), {}, ("a",))


def test_properties_name_the_owner_and_an_adopted_target_keeps_its_deletion_vectors() -> None:
    made = wanted_properties(definition(layout="vnode"), "c", 8, created=True)
    assert (made[CONTROL], made[DEFINITION], made[LAYOUT], made[VNODES]) == ("c", "d", "vnode", "8")
    assert made["delta.enableDeletionVectors"] == "true"
    adopted = wanted_properties(definition(), "c", 8, created=False)
    assert adopted.keys() == {CONTROL, DEFINITION, LAYOUT}
    stated = wanted_properties(definition(deletion_vectors=False), "c", 8, created=False)
    assert stated["delta.enableDeletionVectors"] == "false"


@pytest.mark.parametrize(
    ("view", "created", "kept"), [("gold.d", True, "30 days"), ("gold.d", False, None), (None, True, None)]
)
def test_a_target_made_with_a_view_keeps_removed_files_for_as_long_as_delta_keeps_its_log(
    view: str | None, created: bool, kept: str | None
) -> None:
    made = wanted_properties(definition(view=view), "c", 8, created=created).get("delta.deletedFileRetentionDuration")
    assert made == (f"interval {kept}" if kept else None)


def test_storage_without_atomic_commits_needs_a_declared_single_writer() -> None:
    check_storage(definition())
    check_storage(definition(target="s3://b/t", single_writer=True))
    with pytest.raises(Refused, match="not atomic"):
        check_storage(definition(target="s3://b/t"))
