"""Requests that no page makes: each has an answer, and none of them is an error of the server."""

from __future__ import annotations

from urllib.parse import quote

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.page.site import TOKEN, WITH_TOKEN, browser
from tests.unit.runner.shop import NAME, Shop

TEXTS = st.text(st.characters(codec="utf-8"), max_size=60) | st.sampled_from(["..", "%", "'; DROP TABLE x", "\x00'"])
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS | st.just("why"), inner, max_size=3),
    max_leaves=6,
)
QUERIES = st.dictionaries(st.sampled_from(["search", "tag", "skip", "limit", "health"]), TEXTS)
CLIENT = browser(Shop().refreshes)


@given(name=TEXTS, run=TEXTS, query=QUERIES)
@settings(max_examples=25)
def test_any_address_has_an_answer(name: str, run: str, query: dict[str, str]) -> None:
    name, run = quote(name, safe=""), quote(run, safe="")
    for api in ("", "/api/v1"):
        for path in (f"{api}/definitions/{name}", f"{api}/definitions/{NAME}/runs/{run}"):
            assert CLIENT.get(path, params=query).status_code in (200, 307, 404, 422)
    for path in ("/", "/api/v1/overview", "/api/v1/definitions"):
        assert CLIENT.get(path, params=query).status_code in (200, 422)


@given(body=JSON)
@settings(max_examples=25)
def test_any_body_is_a_reason_or_refused(body: object) -> None:
    answer = CLIENT.post(f"/api/v1/definitions/{NAME}/suspend", json=_finite(body), headers=WITH_TOKEN)
    assert answer.status_code in (200, 422)
    form = CLIENT.post(f"/definitions/{NAME}/suspend", data={"token": TOKEN, "why": str(body)})
    assert form.status_code in (303, 422)


def _finite(value: object) -> object:
    """A value that JSON has."""
    match value:
        case float():
            return repr(value)
        case list():
            return [_finite(one) for one in value]
        case dict():
            return {name: _finite(one) for name, one in value.items()}
        case _:
            return value
