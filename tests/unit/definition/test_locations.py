"""Places have one spelling and carry no credentials."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.locations import TargetLocation, is_relative, normalised
from airflow_refresh_provider.errors import Invalid

TEXT = st.text(st.characters(min_codepoint=32, exclude_characters="/"), min_size=1).filter(
    lambda t: t not in (".", "..")
)


@pytest.mark.parametrize(
    ("given_place", "kept"),
    [
        ("/data/gold", "/data/gold"),
        ("/data/gold/", "/data/gold"),
        ("//data//gold/./x/..", "/data/gold"),
        ("file:/data/gold", "/data/gold"),
        ("file:///data/two%20words%25/", "/data/two words%"),
        ("file://localhost/data", "/data"),
        ("FILE:///data", "/data"),
        ('/data/it\'s `a` "töst" %20', '/data/it\'s `a` "töst" %20'),
        ("/data/s3://odd", "/data/s3:/odd"),
        ("s3://bucket/gold/orders/", "s3://bucket/gold/orders"),
        ("S3A://Bucket//gold//orders", "s3a://Bucket/gold/orders"),
        ("abfss://container@account.dfs.core.windows.net/gold", "abfss://container@account.dfs.core.windows.net/gold"),
    ],
)
def test_a_place_gets_its_one_spelling(given_place: str, kept: str) -> None:
    assert normalised(given_place) == kept


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("gold/orders", "absolute"),
        ("gold.orders", "absolute"),
        ("", "path"),
        ("  ", "path"),
        ("/data/a\nb", "control"),
        ("/", "root"),
        ("file:///", "root"),
        ("file://", "root"),
        ("file://localhost", "root"),
        ("file://server/share", "this machine"),
        ("ftp://host/data", "schemes s3"),
        ("s3://bucket", "bucket and a folder"),
        ("s3:///folder", "bucket and a folder"),
        ("s3://bucket/a/../b", ".."),
    ],
)
def test_what_names_no_place_is_refused_with_the_reason(place: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        normalised(place)


@pytest.mark.parametrize(
    "place",
    [
        "s3://key:hunter2@bucket/x",
        "s3://hunter2@bucket/x",
        "abfss://container:hunter2@account/x",
        "s3://bucket/x?X-Amz-Signature=hunter2",
        "abfss://c@a/x?sig=hunter2",
    ],
)
def test_credentials_in_a_place_are_refused_and_not_repeated(place: str) -> None:
    with pytest.raises(ValueError, match="credentials") as caught:
        normalised(place)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("place", ["https://user:hunter2@host/x", "wasbs://hunter2@account/x", "http://host/x?hunter2"])
def test_another_scheme_is_refused_without_repeating_what_may_be_a_secret(place: str) -> None:
    definition = {"name": "a", "target": place, "query": "SELECT 1 AS id FROM o", "inputs": {"o": {"path": "/o"}}}
    with pytest.raises(Invalid, match="target: must be a local path or have one of the schemes s3, s3a") as caught:
        Definition.build(**definition, keys=["id"])
    assert "hunter2" not in str(caught.value)


@given(st.lists(TEXT, min_size=1))
def test_a_spelling_is_its_own_spelling(parts: list[str]) -> None:
    once = normalised("/" + "/".join(parts))
    assert normalised(once) == once
    assert once.split("/")[1:] == parts


def test_only_places_without_a_beginning_are_relative() -> None:
    assert is_relative("./orders")
    assert is_relative("gold.orders")
    assert not any(is_relative(p) for p in ("/orders", "s3://b/orders", "file:/orders", "${ROOT}/orders"))


@pytest.mark.parametrize("place", ["/data/a%20b", "/data/100%/a%2Fb", "/data/a\\b", "file:///data/a%2520b"])
def test_a_target_is_nowhere_that_delta_rs_reads_as_another_place(place: str) -> None:
    with pytest.raises(ValidationError, match="delta-rs resolves it to another path"):
        TypeAdapter(TargetLocation).validate_python(place)


def test_a_target_may_have_a_percent_sign() -> None:
    assert TypeAdapter(TargetLocation).validate_python("/data/100% sure/50%") == "/data/100% sure/50%"
