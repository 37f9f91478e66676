"""URLs of Spark Connect servers: what passes is what Spark's own client takes, and no secret is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_refresh_provider.core.text.spark_url import problem, shown
from airflow_refresh_provider.spark.connect.endpoint import Endpoint, channel_builder

SOUND = [
    "sc://host",
    "sc://host/",
    "sc://spark-connect.default.svc:15002",
    "sc://127.0.0.1:1",
    "sc://[::1]:65535/",
    "sc://host:15002/;use_ssl=true;token=a%3Db",
    "sc://host/;user_id=",
]
WRONG = {
    "": "begin with sc://",
    "http://host": "begin with sc://",
    "sc://": "host",
    "sc://:15002": "host",
    "sc://ada@host": "host",
    "sc://two words": "host",
    "sc://[::1": "host",
    "sc://[::1]x": "host",
    "sc://[host]:1": "host",
    "sc://host?": "host",
    "sc://host:": "port",
    "sc://host:0": "port",
    "sc://host:abc": "port",
    "sc://host:99999": "port",
    "sc://host:1:2": "port",
    "sc://host:1\n": "port",
    "sc://host:1/path": "path",
    "sc://host:1//": "path",
    "sc://host:1/?token=a": "path",
    "sc://host:9;token=a": "begin with /;",
    "sc://host:1/;": "name=value",
    "sc://host:1/;foo": "name=value",
    "sc://host:1/;=foo": "name=value",
    "sc://host:1/;a=b;": "name=value",
    "sc://host:1/;token=a=b": "name=value",
    "sc://host:1/;token=a#b": "name=value",
    "sc://host:1/;token=a%0Ab": "name=value",
}


@pytest.mark.parametrize("url", SOUND)
def test_a_url_that_sparks_client_takes_has_no_problem(url: str) -> None:
    assert problem(url) is None


@pytest.mark.parametrize(("url", "why"), WRONG.items())
def test_a_url_that_sparks_client_would_misread_is_refused_with_the_reason(url: str, why: str) -> None:
    assert why in (problem(url) or "")


@given(st.text(st.sampled_from("sc:/[]@;=?#%.1h0 \n"), max_size=12).map("sc://h".__add__))
def test_a_valid_url_makes_a_channel(url: str) -> None:
    if problem(url) is None:
        channel_builder(Endpoint(url)).toChannel().close()


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("sc://host:1", "sc://host:1"),
        ("sc://host:1/;token=SECRET", "sc://host:1"),
        ("sc://host:1;token=SECRET", "sc://host:1"),
        ("sc://host:1/?token=SECRET", "sc://host:1"),
        ("sc://host:1/#SECRET", "sc://host:1"),
        ("sc://ada:SECRET@host:1/x", "sc://host:1/x"),
    ],
)
def test_parameters_and_users_are_not_shown(url: str, seen: str) -> None:
    assert shown(url) == Endpoint(url).shown == seen
