"""Definitions from files: relative places, query files, and all problems reported in one error."""

from __future__ import annotations

import copy
import re
import runpy
from contextlib import chdir
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_refresh_provider.core.definition.broken import Broken
from airflow_refresh_provider.definition_files import load_definitions, read_definitions
from airflow_refresh_provider.errors import Invalid

GOOD = """
name: {name}
target: /data/gold/{name}
query: SELECT id FROM orders
inputs:
  orders: {{path: /data/orders}}
keys: [id]
"""


def write(folder: Path, text: str, name: str = "a.yaml") -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def refusal(path: Path) -> str:
    with pytest.raises(Invalid) as caught:
        load_definitions(path, strict=True)
    assert caught.value.code == "definition_invalid"
    assert caught.value.exit_code == 2
    return caught.value.message


def test_a_file_holds_one_or_several_definitions(tmp_path: Path) -> None:
    file = write(tmp_path, "---".join(["", GOOD.format(name="b"), GOOD.format(name="a"), "\n"]))
    assert [d.name for d in load_definitions(file)] == ["b", "a"]


def test_a_folder_is_read_with_its_subfolders_in_order_of_path(tmp_path: Path) -> None:
    write(tmp_path, GOOD.format(name="second"), "b.yaml")
    write(tmp_path, GOOD.format(name="first"), "a.yml")
    write(tmp_path, GOOD.format(name="fourth"), "sales/deep/d.YAML")
    write(tmp_path, GOOD.format(name="third"), "c.yaml/e.Yml")
    (tmp_path / "sales" / "back").symlink_to(tmp_path)
    (tmp_path / "z").symlink_to(tmp_path.parent / f"{tmp_path.name}-linked")
    write(tmp_path.parent / f"{tmp_path.name}-linked", GOOD.format(name="fifth"))
    for ignored in ("c.txt", ".hidden.yaml", ".git/x.yaml", "sales/query.sql"):
        write(tmp_path, "not a definition", ignored)
    assert [d.name for d in load_definitions(str(tmp_path))] == ["first", "second", "third", "fourth", "fifth"]


@pytest.mark.parametrize("style", [">", ">-", ""])
def test_a_query_whose_lines_are_folded_behind_a_comment_is_refused(tmp_path: Path, style: str) -> None:
    query = f"query: {style}\n  SELECT id FROM orders   -- all that count\n  WHERE id > 15"
    file = write(tmp_path, GOOD.format(name="a").replace("query: SELECT id FROM orders", query))
    assert "query: its lines, from line " in refusal(file)
    assert "of the file on, are folded into one" in refusal(file)
    assert "write `query: |`" in refusal(file)


def test_a_query_that_was_folded_hides_no_other_problem(tmp_path: Path) -> None:
    query = "query: >\n  SELECT id FROM orders -- all\n  WHERE id > 15\nvnodez: 3"
    file = write(tmp_path, GOOD.format(name="a").replace("query: SELECT id FROM orders", query))
    assert "folded into one" in refusal(file)
    assert "vnodez" in refusal(file)


@pytest.mark.parametrize(
    "query",
    [
        "query: |\n  SELECT id FROM orders   -- all\n  WHERE id > 15",
        "query: >\n  SELECT id FROM orders\n  WHERE id <> '--'",
        "query: SELECT id FROM orders -- all",
    ],
)
def test_other_comments_and_folded_queries_are_not(tmp_path: Path, query: str) -> None:
    [definition] = load_definitions(
        write(tmp_path, GOOD.format(name="a").replace("query: SELECT id FROM orders", query))
    )
    assert definition.name == "a"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/data/orders", "'/data/{{ ds }}'"),
        ("/data/gold/a", "'/data/{{ ds }}'"),
        ("SELECT id FROM orders", "\"SELECT id FROM orders WHERE day = '{{ ds }}'\""),
    ],
)
def test_templates_are_refused(tmp_path: Path, old: str, new: str) -> None:
    with pytest.raises(Invalid, match="a Jinja template"):
        load_definitions(write(tmp_path, GOOD.format(name="a").replace(old, new)), strict=True)


def test_a_result_with_one_name_twice_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, GOOD.format(name="a").replace("SELECT id FROM", "SELECT id, v AS ID FROM"))
    with pytest.raises(Invalid, match="more than one column named id"):
        load_definitions(file, strict=True)


def test_a_broken_file_leaves_the_others_sound(tmp_path: Path) -> None:
    write(tmp_path, GOOD.format(name="first") + "extra: 1\n---" + GOOD.format(name="second"), "a b.yaml")
    write(tmp_path, GOOD.format(name="third"), "b.yaml")
    write(tmp_path, GOOD.format(name="third"), "c.yml")
    *sound, one, other = load_definitions(tmp_path)
    assert [definition.name for definition in sound] == ["second", "third"]
    assert isinstance(one, Broken)
    assert (one.name, one.file) == (f"broken.{tmp_path.name}.a_b.yaml", str(tmp_path / "a b.yaml"))
    assert one.error.message == f"{tmp_path / 'a b.yaml'}: extra: unknown field."
    assert isinstance(other, Broken)
    assert "name: third is already used" in other.error.message


def test_using_a_broken_file_as_a_definition_raises_its_error(tmp_path: Path) -> None:
    [broken] = load_definitions(write(tmp_path, "name: a\n"))
    with pytest.raises(Invalid, match="keys: is required"):
        _ = broken.target
    assert copy.deepcopy(broken).name == broken.name


def test_where_nothing_is_there_is_nothing_to_stand_in_for(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing", tmp_path / "missing.yaml"):
        with pytest.raises(Invalid, match=path.name):
            load_definitions(path)


def test_relative_places_are_relative_to_the_file(tmp_path: Path) -> None:
    text = GOOD.format(name="a").replace("/data/gold/a", "../gold/a/").replace("/data/orders", "silver/two words")
    write(tmp_path / "definitions", text)
    with chdir(tmp_path):
        for path in (Path("definitions/a.yaml"), tmp_path / "definitions", Path("definitions")):
            (definition,) = read_definitions(path)
            assert definition.target == str(tmp_path / "gold/a")
            assert definition.inputs["orders"].path == str(tmp_path / "definitions/silver/two words")


def test_a_relative_path_in_a_file_of_python_begins_at_that_file(tmp_path: Path) -> None:
    write(tmp_path / "dags" / "refreshes", GOOD.format(name="a"))
    file = write(
        tmp_path / "dags",
        "from airflow_refresh_provider import load_definitions\n(definition,) = load_definitions('refreshes')\n",
        "dag.py",
    )
    assert runpy.run_path(str(file))["definition"].name == "a"


def test_places_that_have_a_beginning_stay_as_they_are(tmp_path: Path) -> None:
    text = GOOD.format(name="a").replace("/data/gold/a", "s3://gold/a").replace("/data/orders", '"${ROOT}/orders"')
    (definition,) = load_definitions(write(tmp_path, text))
    assert definition.target == "s3://gold/a"
    assert definition.inputs["orders"].path == "${ROOT}/orders"


def test_a_target_that_could_be_a_table_name_is_refused_with_the_way_to_write_a_folder(tmp_path: Path) -> None:
    text = GOOD.format(name="a").replace("/data/gold/a", "gold.orders")
    message = refusal(write(tmp_path, text + "adopt: perhaps\n"))
    assert "adopt: must be true or false" in message
    assert "target: gold.orders could be a table of a catalog" in message
    assert "write ./gold.orders" in message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("keys: [id]", "keys: " + "[" * 3000, "nested too deeply"),
        ("keys: [id]", "keys: &k [*k]", "an alias refers to a node that contains it"),
        ("keys: [id]", "keys: &k [{a: *k}]", "an alias refers to a node that contains it"),
        ("SELECT id FROM orders", '"SELECT id FROM orders \\ud800"', "half of a surrogate pair is no character"),
        ("keys: [id]", 'keys: [id]\n"\\ud800": 1', "half of a surrogate pair is no character"),
    ],
)
def test_what_yaml_can_say_and_no_definition_can_hold_is_malformed(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    file = write(tmp_path, GOOD.format(name="a").replace(old, new))
    assert message in refusal(file)


def test_an_alias_of_something_else_is_its_value(tmp_path: Path) -> None:
    (definition,) = load_definitions(
        write(tmp_path, GOOD.format(name="a").replace("[id]", "&k [id]") + "cluster_by: *k\n"), strict=True
    )
    assert definition.name == "a"


@pytest.mark.parametrize("strict", [True, False])
def test_a_name_that_is_too_long_for_a_file_is_reported(tmp_path: Path, *, strict: bool) -> None:
    with pytest.raises(Invalid, match=f"{'x' * 300}: cannot be read: File name too long"):
        load_definitions(tmp_path / ("x" * 300), strict=strict)


def test_a_query_file_becomes_the_text_of_the_query(tmp_path: Path) -> None:
    write(tmp_path, "-- all of them\nSELECT id FROM orders\n", "sql/q.sql")
    text = GOOD.format(name="a").replace("query: SELECT id FROM orders", "query_file: sql/q.sql")
    (definition,) = load_definitions(write(tmp_path, text))
    assert definition.query == "-- all of them\nSELECT id FROM orders"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("query_file: missing.sql", "query_file: missing.sql cannot be read: No such file or directory"),
        ("query_file: [a]", "query_file: must be the path of a file"),
        ("query: SELECT id FROM orders\nquery_file: q.sql", "give exactly one of query, query_file and from"),
        ("query_file: bytes.sql", "query_file: bytes.sql is not UTF-8 text (byte 1)"),
    ],
)
def test_a_query_file_that_does_not_help_is_refused(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "bytes.sql").write_bytes(b"a\xff")
    file = write(tmp_path, GOOD.format(name="a").replace("query: SELECT id FROM orders", line))
    assert refusal(file) == f"{file}: {message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: [a", "line 1, column 9: malformed YAML: expected ',' or ']'"),
        ("a: 1\n\tb: 2", "line 2, column 1: malformed YAML: found character '\\t' that cannot start any token"),
        ("name: a\nname: b", "line 2, column 1: malformed YAML: name occurs twice"),
        ("x: !!python/object:os.system {}", "line 1, column 4: malformed YAML: could not determine a constructor"),
        ("x: 2026-13-45", "malformed YAML: month must be in 1..12"),
        ("x: \x00", "malformed YAML: "),
        (
            "path: {{ x }}",
            "line 1, column 8: malformed YAML: found unhashable key; it has a Jinja template, and definitions are not",
        ),
        ("", "holds no definition"),
        ("---\n---\n", "holds no definition"),
        ("- a\n- b", "a definition must be a mapping of field names to values"),
        ("just words", "a definition must be a mapping of field names to values"),
        ("on: x", "a definition must be a mapping of field names to values"),
    ],
)
def test_a_malformed_file_is_refused_with_the_place(tmp_path: Path, text: str, message: str) -> None:
    file = write(tmp_path, text)
    assert refusal(file).startswith(f"{file}: {message}")


def test_what_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    assert "cannot be read: No such file" in refusal(tmp_path / "missing.yaml")
    assert "has no *.yaml or *.yml file" in refusal(tmp_path)
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe")
    assert "is not UTF-8 text" in refusal(tmp_path / "bytes.yaml")


def test_problems_of_all_files_are_reported_together_each_with_its_file(tmp_path: Path) -> None:
    first = write(tmp_path, GOOD.format(name="a").replace("keys: [id]", "kees: [id]"), "a.yaml")
    second = write(tmp_path, "name: [a", "b.yaml")
    write(tmp_path, GOOD.format(name="c"), "c.yaml")
    third = write(tmp_path, GOOD.format(name="d").replace("FROM orders", "FROM order"), "d.yaml")
    lines = refusal(tmp_path).splitlines()
    assert lines[0] == f"{first}: keys: is required: add it"
    assert lines[1] == f"{first}: kees: unknown field. Did you mean keys?"
    assert lines[2].startswith(f"{second}: line 1")
    assert lines[3].startswith(f"{third}: query, line 1, column 16: unknown table order;")
    assert len(lines) == 4


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("query: SELECT id FROM orders WHERE day = '{{ ds }}'", "query: has a Jinja template"),
        ("query_file: missing.sql", "query_file: missing.sql cannot be read: No such file or directory"),
        ("query_file: [a]", "query_file: must be the path of a file"),
        ("query: SELECT FROM\nquery_file: a.sql", "give exactly one of query, query_file and from"),
    ],
)
def test_a_query_whose_text_is_not_known_hides_no_other_problem(tmp_path: Path, line: str, message: str) -> None:
    text = GOOD.format(name="a").replace("query: SELECT id FROM orders", line).replace("keys: [id]", "kees: [id]")
    lines = refusal(write(tmp_path, text + "---" + GOOD.format(name="A"))).splitlines()
    first, *rest = (line.partition(".yaml: ")[2] for line in lines)
    assert first.startswith(message)
    assert [line.partition(":")[0] for line in rest] == ["keys", "kees", "name"]


def test_without_the_text_of_a_query_what_goes_with_it_is_checked(tmp_path: Path) -> None:
    text = GOOD.format(name="a").replace("query: SELECT id FROM orders", "from: orders\nquery_file: missing.sql")
    lines = refusal(write(tmp_path, text + "partition_by: [a]\ncluster_by: [a]\n")).splitlines()
    assert [line.partition(".yaml: ")[2].partition(" (")[0] for line in lines] == [
        "query_file: missing.sql cannot be read: No such file or directory",
        "give exactly one of query, query_file and from",
        "give partition_by or cluster_by, a table cannot have both",
    ]


def test_a_wrong_field_of_an_input_hides_no_problem_of_the_query(tmp_path: Path) -> None:
    text = GOOD.format(name="a").replace("FROM orders", "FROM x")
    text = text.replace("path: /data/orders", "path: '/data/{{ ds }}'")
    lines = refusal(write(tmp_path, text)).splitlines()
    assert "inputs.orders.path: must not have a Jinja template" in lines[0]
    assert "query, line 1, column 16: unknown table x" in lines[1]


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("tags: [nightly, '{{ var.value.team }}']", "tags"),
        ("owner: '{% if x %}a{% endif %}'", "owner"),
        ("refresh: {cron: '{{ cron }}'}", "refresh.cron"),
        (
            "inputs: {orders: {path: /data/orders, options: {ignoreCase: '{{ ds }}'}}}",
            "inputs.orders.options.ignoreCase",
        ),
        ("inputs: {orders: {path: '/data/{% raw %}x'}}", "inputs.orders.path"),
    ],
)
def test_no_field_is_rendered(tmp_path: Path, line: str, field: str) -> None:
    text, before = GOOD.format(name="a"), "inputs:\n  orders: {path: /data/orders}"
    text = text.replace(before, line) if line.startswith("inputs") else f"{text}{line}\n"
    assert f"{field}: must not have a Jinja template" in refusal(write(tmp_path, text))


def test_a_description_may_show_a_template(tmp_path: Path) -> None:
    text = f"{GOOD.format(name='a')}description: 'as {{{{ ds }}}} before'\n"
    [found] = read_definitions(write(tmp_path, text))
    assert found.description == "as {{ ds }} before"


@pytest.mark.parametrize("inputs", ["{or ders: {path: /data/orders}}", "3", "{}"])
def test_where_it_is_not_known_what_the_inputs_are_called_the_query_is_not_blamed(tmp_path: Path, inputs: str) -> None:
    text = GOOD.format(name="a").replace("\n  orders: {path: /data/orders}", f" {inputs}")
    [line] = refusal(write(tmp_path, text)).splitlines()
    assert ": inputs" in line


def test_a_query_that_is_wrong_keeps_its_own_code_and_advice(tmp_path: Path) -> None:
    file = write(tmp_path, GOOD.format(name="a").replace("SELECT id FROM orders", "SELECT id FROM"))
    with pytest.raises(Invalid, match="cannot be parsed near 'FROM'") as caught:
        read_definitions(file)
    assert caught.value.code == "query_invalid"
    assert "Correct the SQL" in caught.value.next


def test_words_that_yaml_takes_for_booleans_and_numbers_are_to_be_quoted(tmp_path: Path) -> None:
    words = "keys: [on, no]\nowner: 007\ntags: [yes, 1.10]"
    lines = refusal(write(tmp_path, GOOD.format(name="a").replace("keys: [id]", words))).splitlines()
    wrong = {"keys.0": "true", "keys.1": "false", "owner": "7", "tags.0": "true", "tags.1": "1.1"}
    advice = "must be text: put it in quotes"
    assert [line.partition(".yaml: ")[2] for line in lines] == [f"{k}: {advice} (it is {v})" for k, v in wrong.items()]


def test_a_name_used_twice_is_refused_with_both_files(tmp_path: Path) -> None:
    first = write(tmp_path, GOOD.format(name="a"), "a.yaml")
    second = write(tmp_path, GOOD.format(name="a"), "b.yaml")
    assert refusal(tmp_path) == f"{second}: name: a is already used in {first}: rename one"


def test_merge_keys_and_anchors_of_yaml_work(tmp_path: Path) -> None:
    text = GOOD.format(name="a").replace("inputs:", "chunking: &c {chunk_rows: 5}\ninputs:")
    (definition,) = load_definitions(
        write(tmp_path, text.replace("keys:", "on_schema_change: {<<: {added: refuse}}\nkeys:"))
    )
    assert definition.chunking.chunk_rows == 5
    assert definition.on_schema_change.added == "refuse"


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text_that_is_no_definition_gives_one_refusal(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("any") / "a.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(Invalid, match=re.escape(str(file))):
        read_definitions(file)
