"""Definitions: stored and read back unchanged, hashed by what decides the result, refused with field and fix."""

from __future__ import annotations

import json
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_refresh_provider.core.definition.choices import Chunking, Layout, OnSchemaChange
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.text.stored import Stored
from airflow_refresh_provider.errors import Invalid

GOOD: dict[str, object] = {
    "name": "open_orders",
    "target": "/data/gold/open_orders",
    "query": "SELECT o.id, c.name FROM orders o JOIN customer c ON o.customer = c.id",
    "inputs": {"orders": {"path": "/data/orders"}, "customer": {"path": "/data/customer", "format": "parquet"}},
    "keys": ["id"],
}


class Envelope(Stored):
    """Something stored that holds a definition."""

    definition: Definition


def build(**changes: object) -> Definition:
    return Definition.build(**(GOOD | changes))


def problems_of(**changes: object) -> list[str]:
    with pytest.raises(Invalid) as caught:
        build(**changes)
    assert caught.value.code == "definition_invalid"
    return caught.value.message.splitlines()


columns = st.lists(
    st.text(min_size=1).filter(lambda c: c.strip() and not c.startswith("_")), min_size=1, unique_by=str.lower
)
options = st.fixed_dictionaries(
    {},
    optional={
        "keys": columns,
        "partition_by": columns,
        "vnodes": st.just("auto") | st.integers(1, 1024),
        "visibility": st.sampled_from(["whole", "live"]),
        "deletes": st.sampled_from(["apply", "ignore"]),
        "max_delete_ratio": st.floats(0, 1),
        "deletion_vectors": st.booleans(),
        "adopt": st.booleans(),
        "owner": st.text(),
        "tags": st.lists(st.text()),
        "chunking": st.fixed_dictionaries({"chunk_rows": st.integers(1, 1 << 40)}),
    },
)


@given(options)
def test_a_stored_definition_comes_back_equal_with_what_was_given(given_options: dict[str, object]) -> None:
    definition = build(query="SELECT o.* FROM orders o JOIN customer c", **given_options)
    back = Envelope.model_validate_json(Envelope(definition=definition).model_dump_json()).definition
    assert back == definition
    assert back.hash == definition.hash
    was_given = "deletion_vectors" in given_options
    assert ("deletion_vectors" in definition.model_fields_set) is was_given
    assert ("deletion_vectors" in back.model_fields_set) is was_given


def test_a_copy_of_an_input_comes_back_equal_too() -> None:
    definition = Definition.build(
        name="copy",
        target="/t",
        from_="Orders",
        inputs={"orders": {"path": "/o"}},
        keys=["id"],
        columns={"exclude": ["a"]},
    )
    assert json.loads(definition.model_dump_json())["from"] == "Orders"
    assert Definition.model_validate_json(definition.model_dump_json()) == definition


def test_the_hash_is_the_one_earlier_releases_computed() -> None:
    assert build().hash == "sha256:38eddeffeceda8a1f99e3d9e8fc42b4cad162a6fedeaebb57b8468f204ea8ac1"


@given(st.randoms(use_true_random=False))
def test_the_order_of_fields_and_inputs_does_not_change_the_hash(order: random.Random) -> None:
    fields = list((GOOD | {"inputs": dict(shuffled(GOOD["inputs"], order))}).items())
    order.shuffle(fields)
    assert Definition.build(**dict(fields)).hash == build().hash


def shuffled(mapping: object, order: random.Random) -> list[tuple[str, object]]:
    assert isinstance(mapping, dict)
    items = list(mapping.items())
    order.shuffle(items)
    return items


DECIDES: list[dict[str, object]] = [
    {"target": "/data/gold/other"},
    {"query": f"{GOOD['query']} WHERE o.id > 1"},
    {"inputs": {"orders": {"path": "/data/other"}, "customer": {"path": "/data/customer", "format": "parquet"}}},
    {"inputs": {"orders": {"path": "/data/orders"}, "customer": {"path": "/data/customer"}}},
    {"inputs": {"orders": {"path": "/data/orders", "options": {"a": "b"}}, "customer": {"path": "/c"}}},
    {"keys": ["id", "name"]},
    {"layout": "vnode"},
    {"vnodes": 16},
    {"partition_by": ["name"]},
    {"cluster_by": ["name"]},
    {"deletes": "ignore"},
    {"on_duplicate": "latest", "latest_by": "name"},
    {"float_tolerance": 0},
]

DECIDES_NOT: list[dict[str, object]] = [
    {"name": "other"},
    {"visibility": "live"},
    {"view": "gold.orders"},
    {"chunking": {"chunk_rows": 10}},
    {"budget": {"until": "06:00", "seconds": 3600, "bytes": "200 GB"}},
    {"throttle": 50_000},
    {"on_schema_change": {"added": "refuse"}},
    {"max_delete_ratio": 1},
    {"adopt": True},
    {"deletion_vectors": False},
    {"single_writer": True},
    {"redact_keys": False},
    {"change_feed": True},
    {"verify_every": 20},
    {"verify_share": 0.001},
    {"owner": "us"},
    {"description": "for them"},
    {"tags": ["a"]},
    {"mode": "auto"},
    {"refresh": {"interval": "1 h"}},
    {
        "inputs": {
            "orders": {"path": "/data/orders", "trigger": False, "ignore_changes": True},
            "customer": {"path": "/data/customer", "format": "parquet"},
        }
    },
]


@pytest.mark.parametrize("change", DECIDES, ids=str)
def test_what_decides_the_result_changes_the_hash(change: dict[str, object]) -> None:
    assert build(**change).hash != build().hash


@pytest.mark.parametrize("change", DECIDES_NOT, ids=str)
def test_what_does_not_decide_the_result_leaves_the_hash(change: dict[str, object]) -> None:
    assert build(**change).hash == build().hash


def test_every_field_is_known_to_decide_or_not() -> None:
    listed = {field for change in DECIDES + DECIDES_NOT for field in change}
    assert listed == set(Definition.model_fields) - {"from_", "columns"}, "these two make the text of the query"


def test_the_latest_column_decides_too() -> None:
    latest = [build(on_duplicate="latest", latest_by=column) for column in ("id", "name")]
    assert latest[0].hash != latest[1].hash


@pytest.mark.parametrize(
    ("choice", "query"),
    [
        (None, "SELECT * FROM `orders`"),
        ({"include": ["id", "odd `name`"]}, "SELECT `id`, `odd ``name``` FROM `orders`"),
        ({"exclude": ["a b"]}, "SELECT * EXCEPT (`a b`) FROM `orders`"),
    ],
)
def test_a_copy_of_an_input_stands_for_a_query(choice: object, query: str) -> None:
    one_input = {"orders": {"path": "/o"}}
    copy = build(query=None, from_="orders", columns=choice, inputs=one_input)
    assert copy.query_text == query
    assert copy.hash == build(query=query, inputs=one_input).hash


def test_defaults_are_those_that_are_documented() -> None:
    definition = build()
    assert definition.layout is Layout.PLAIN
    assert definition.vnodes == "auto"
    assert definition.chunking == Chunking(one_commit_up_to=5_000_000, chunk_rows=1_000_000)
    assert definition.on_schema_change == OnSchemaChange()
    assert definition.max_delete_ratio == 0.5
    assert definition.deletion_vectors
    assert not definition.adopt


def one_input(given: object) -> dict[str, object]:
    return {"query": "SELECT id FROM a", "inputs": {"a": given}}


WRONG: list[tuple[dict[str, object], str]] = [
    ({"name": "Open Orders"}, 'name: must be lower-case words of letters, digits and _, joined by dots, such as '
     'sales.open_orders (it is "Open Orders")'),
    ({"name": "a" * 121}, "name: must not be longer than 120"),
    ({"name": 5}, "name: must be text: put it in quotes (it is 5)"),
    ({"target": "gold/x"}, "target: must be an absolute path, or a URI such as s3://bucket/folder"),
    ({"target": "main.gold.orders"}, "target: must be an absolute path or a URI: tables of a catalog are not supported "
     'yet (it is "main.gold.orders")'),
    ({"target": "/data/${X}"}, "target: must not have variables"),
    ({"query": "  "}, "query: must not be empty"),
    ({"query": None}, "give exactly one of query, query_file and from"),
    ({"from": "orders"}, "give exactly one of query, query_file and from"),
    ({"query": None, "from": "order"}, "from: order is not among the inputs orders, customer"),
    ({"columns": {"include": ["a"]}}, "columns goes with from"),
    ({"query": None, "from": "orders", "columns": {}}, "columns: must have either include or exclude"),
    ({"inputs": {}}, "inputs: must not be empty"),
    (one_input("/data"), 'inputs.a: must be a mapping of fields to values (it is "/data")'),
    ({"inputs": {"or ders": {"path": "/x"}}}, "inputs.or ders: must be a plain name of letters, digits and _"),
    ({"inputs": {"a": {"path": "/x"}, "A": {"path": "/y"}}}, "inputs: names A more than once"),
    ({"inputs": {"_Op": {"path": "/x"}}}, "inputs._Op: is a reserved name"),
    (one_input({}), "inputs.a.path: is required: add it"),
    (one_input({"path": "/x", "format": "csv"}), 'inputs.a.format: must be delta or parquet (it is "csv")'),
    (one_input({"path": "/x", "table": "x.y"}), "inputs.a.table: is not supported yet: give the table's "
     "location as path"),
    (one_input({"path": "/x", "schema": "id INT"}), "inputs.a.schema: is not supported yet: remove it, "
     "the schema is read from the table or the files"),
    (one_input({"path": "/x", "fromat": "x"}), "inputs.a.fromat: unknown field. Did you mean format?"),
    (one_input({"path": "/data/gold/open_orders"}), "inputs.a: is the target itself"),
    ({"keys": []}, "keys: must not be empty"),
    ({"keys": "id"}, 'keys: must be a list, such as [a, b] (it is "id")'),
    ({"keys": ["id", "ID"]}, "keys: names ID more than once"),
    ({"keys": ["_VNode"]}, "keys.0: is a reserved name"),
    ({"partition_by": ["_op"]}, "partition_by.0: is a reserved name"),
    ({"cluster_by": ["_row_hash"]}, "cluster_by.0: is a reserved name"),
    ({"cluster_by": list("abcde")}, "cluster_by: must not be longer than 4"),
    ({"partition_by": ["a"], "cluster_by": ["b"]}, "give partition_by or cluster_by"),
    ({"layout": "vnode", "partition_by": ["a"]}, "partition_by and cluster_by need layout plain"),
    ({"mode": "quick"}, 'mode: must be full, incremental or auto (it is "quick")'),
    ({"vnodes": 0}, "vnodes: must be auto or a whole number from 1 to 1024 (it is 0)"),
    ({"vnodes": 1025}, "vnodes: must be auto or a whole number"),
    ({"vnodes": True}, "vnodes: must be auto or a whole number"),
    ({"chunking": {"chunk_rows": 0}}, "chunking.chunk_rows: must be 1 or more (it is 0)"),
    ({"chunking": {"chunk_row": 1}}, "chunking.chunk_row: unknown field. Did you mean chunk_rows?"),
    ({"budget": {}}, "budget: must have at least one of until, seconds and bytes"),
    ({"budget": {"until": 960}}, "budget.until: must be text: put it in quotes (it is 960)"),
    ({"budget": {"until": "24:00"}}, "budget.until: must be a time of day from 00:00 to 23:59, such as 06:00"),
    ({"budget": {"seconds": 0}}, "budget.seconds: must be 1 or more (it is 0)"),
    ({"budget": {"bytes": "200 gigabytes"}}, "budget.bytes: must be an amount of bytes such as 200 GB or 1.5 TiB"),
    ({"budget": {"bytes": "0 GB"}}, "budget.bytes: must be 1 or more"),
    ({"budget": {"bytes": True}}, "budget.bytes: must be a whole number"),
    ({"budget": {"minutes": 1}}, "budget.minutes: unknown field."),
    ({"throttle": 0}, "throttle: must be 1 or more (it is 0)"),
    ({"max_delete_ratio": 1.5}, "max_delete_ratio: must be 1.0 or less (it is 1.5)"),
    ({"max_delete_ratio": "0.5"}, 'max_delete_ratio: must be a number (it is "0.5")'),
    ({"max_delete_ratio": float("nan")}, "max_delete_ratio: "),
    ({"adopt": "yes"}, 'adopt: must be true or false (it is "yes")'),
    ({"on_schema_change": {"dropped": "gone"}}, "on_schema_change.dropped: must be keep, drop or refuse (it is "),
    ({"on_duplicate": "latest"}, "on_duplicate: latest needs latest_by"),
    ({"latest_by": "at"}, "latest_by needs on_duplicate: latest"),
    ({"view": "a.b.c.d"}, "view: must be a view name such as gold.open_orders"),
    ({"tagret": "/x"}, "tagret: unknown field. Did you mean target?"),
    ({"zzz": 1}, "zzz: unknown field."),
]  # fmt: skip


@pytest.mark.parametrize(("change", "line"), WRONG, ids=[str(change) for change, _ in WRONG])
def test_a_wrong_field_is_named_with_its_value_and_the_fix(change: dict[str, object], line: str) -> None:
    (found,) = problems_of(**change)
    assert found.startswith(line)


@pytest.mark.parametrize(
    ("written", "expected"),
    [("200 GB", 200_000_000_000), ("1.5 TiB", 1_649_267_441_664), ("7 B", 7), ("2kb", 2000), (12, 12)],
)
def test_amounts_of_bytes(written: object, expected: int) -> None:
    budget = build(budget={"bytes": written}).budget
    assert budget is not None and budget.bytes == expected


def test_several_problems_are_reported_at_once_one_a_line() -> None:
    assert len(problems_of(name="X", keys=[], adopt=1, typo=2)) == 4
    assert len(problems_of(partition_by=["a"], cluster_by=["b"], latest_by="c")) == 2
    assert len(problems_of(adopt=1, query="SELECT * FROM orderz, customer")) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"password": "hunter2"},
        {"target": "s3://key:hunter2@bucket/x"},
        {"target": "ftp://key:hunter2@bucket/x"},
        {"inputs": {"a": {"path": "/x", "options": {"secret": "hunter2"}}}},
        {"inputs": {"a": {"path": "/x", "options": {"secret": ["hunter2"]}}}},
        {"inputs": [{"password": "hunter2"}]},
    ],
    ids=str,
)
def test_a_secret_is_never_repeated_in_a_message(change: dict[str, object]) -> None:
    assert not [line for line in problems_of(**change) if "hunter2" in line]


def test_columns_with_names_that_only_look_special_are_allowed() -> None:
    names = ("path", "filePath", "order by", "`;--")
    assert build(keys=names, query="SELECT c.* FROM orders JOIN customer c").keys == names
    written = "SELECT path, filePath, `order by`, ```;--` FROM orders JOIN customer"
    assert build(keys=names, query=written).keys == names


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"keys": ["ID", "nope"]}, "keys: nope is not a column of the query's result (id, name)"),
        ({"keys": ["customer"]}, "keys: customer is not a column of the query's result (id, name)"),
        ({"partition_by": ["day"]}, "partition_by: day is not a column"),
        ({"on_duplicate": "latest", "latest_by": "at"}, "latest_by: at is not a column"),
    ],
)
def test_columns_that_the_query_does_not_give_are_reported_by_field(change: dict[str, object], said: str) -> None:
    with pytest.raises(Invalid, match=re.escape(said)) as raised:
        build(**change)
    assert (raised.value.code == "key_not_in_result") == ("keys" in change)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT o.*, 1 AS one FROM orders o JOIN customer",
        "SELECT name, count(*) FROM orders JOIN customer GROUP BY name",
        "SELECT name, explode(m) AS (nope, value) FROM orders JOIN customer",
        "SELECT 1 AS NOPE FROM orders UNION ALL SELECT id FROM customer",
    ],
)
def test_columns_that_only_spark_knows_are_left_to_it(query: str) -> None:
    assert build(query=query, keys=["nope"]).keys == ("nope",)


def test_what_is_wrong_with_the_query_is_reported_when_the_fields_are_right() -> None:
    with pytest.raises(Invalid, match=r"unknown table orderz.*Did you mean orders\?"):
        build(query="SELECT * FROM orderz, customer")


def test_a_definition_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        build().name = "other"


def test_a_changed_copy_has_a_hash_of_its_own() -> None:
    definition = build()
    before = definition.hash
    changed = definition.model_copy(update={"target": "/data/gold/other"})
    assert changed.hash == build(target="/data/gold/other").hash != before
    assert definition.hash == before
    assert definition == build() and definition.model_dump() == build().model_dump()


@pytest.mark.parametrize(
    ("query", "other", "said"),
    [
        (
            "SELECT id, id, rand() AS r, now() FROM b",
            {"nothing": 1},
            ("nothing: unknown field", "computed from the clock"),
        ),
        ("SELECT id, id, rand() AS r, now() AS t FROM b", {}, ("more than one column named id", "keys: no_key")),
    ],
    ids=["beside a wrong field", "beside columns"],
)
def test_each_kind_of_problem_of_a_query_is_reported(query: str, other: dict[str, int], said: tuple[str, ...]) -> None:
    given = {"name": "x", "target": "/gold/x", "inputs": {"a": {"path": "/raw/a"}}, "keys": ["no_key"]}
    with pytest.raises(Invalid) as raised:
        Definition.build(query=query, **given, **other)
    for words in ("unknown table b", "rand gives", *said):
        assert words in raised.value.message
