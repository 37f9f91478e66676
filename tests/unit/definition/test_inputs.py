"""Inputs: variables stay as written until use; options neither hold secrets nor choose rows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.core.text.variables import expand
from airflow_refresh_provider.errors import Invalid


def test_a_variable_is_stored_as_written() -> None:
    assert Input(path="${ROOT}/orders/").path == "${ROOT}/orders"
    assert Input(path="s3://${BUCKET}/orders").path == "s3://${BUCKET}/orders"


def test_variables_are_filled_in_at_use() -> None:
    stored = Input(path="${ROOT}/orders", options={"fs.s3a.secret.key": "${KEY}", "mergeSchema": "true"})
    used = stored.expanded({"ROOT": "file:///data//silver", "KEY": "k"})
    assert used.path == "/data/silver/orders"
    assert used.options == {"fs.s3a.secret.key": "k", "mergeSchema": "true"}
    assert stored.path == "${ROOT}/orders"


def test_a_place_that_is_wrong_once_filled_in_is_refused_without_the_value() -> None:
    with pytest.raises(Invalid, match="credentials") as caught:
        Input(path="${ROOT}/orders").expanded({"ROOT": "s3://u:hunter2@b"})
    assert "hunter2" not in caught.value.message


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(Invalid, match="needs the environment variable A, B") as caught:
        expand("${B}/${A}/${C}", {"C": "c"})
    assert caught.value.code == "variable_missing"


@given(st.text(), st.dictionaries(st.from_regex(r"[A-Z_]{1,3}", fullmatch=True), st.text()))
def test_text_without_variables_is_left_alone(text: str, environment: dict[str, str]) -> None:
    plain = text.replace("${", "$")
    assert expand(plain, environment) == plain


@given(st.text())
def test_values_are_not_searched_for_variables(value: str) -> None:
    assert expand("a${X}b", {"X": value + "${Y}"}) == f"a{value}${{Y}}b"


@pytest.mark.parametrize("path", ["/data/${}", "/data/${1}", "/data/${A", "/data/${A B}"])
def test_a_malformed_variable_is_refused(path: str) -> None:
    with pytest.raises(ValidationError, match="malformed variable"):
        Input(path=path)


def test_plain_values_of_options_become_text() -> None:
    given_options = {"mergeSchema": True, "a": 10, "b": 0.5, "c": "x"}
    assert Input.model_validate({"path": "/x", "options": given_options}).options == {
        "mergeSchema": "true",
        "a": "10",
        "b": "0.5",
        "c": "x",
    }


@pytest.mark.parametrize(
    "key", ["password", "fs.s3a.access.key", "fs.s3a.secret.key", "AccountKey", "sas", "fs.azure.sas.token", "api-key"]
)
def test_a_secret_in_an_option_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Input(path="/x", options={key: "hunter2"})
    assert "must not hold a secret" in caught.value.errors()[0]["msg"]
    assert "hunter2" not in caught.value.errors()[0]["msg"]
    assert Input(path="/x", options={key: "${SECRET}"}).options == {key: "${SECRET}"}


@pytest.mark.parametrize("key", ["versionAsOf", "timestampAsOf", "PATH", "pathGlobFilter", "ignoreMissingFiles"])
def test_an_option_that_chooses_rows_is_refused(key: str) -> None:
    with pytest.raises(ValidationError, match="which rows are read"):
        Input(path="/x", options={key: "3"})


@pytest.mark.parametrize("key", ["mesas", "mergeSchema", "datetimeRebaseMode"])
def test_harmless_options_pass(key: str) -> None:
    assert Input(path="/x", options={key: "x"}).options == {key: "x"}
