"""Cascades: upstream first, bases found, circles refused with their names."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.run.results import Outcome, RefreshStep
from airflow_refresh_provider.core.timing.cascade import (
    Link,
    bases,
    failed_upstream,
    located,
    ordered,
    summary_of,
    with_upstream,
)
from airflow_refresh_provider.errors import Invalid


def made(name: str, *reads: str, target: str | None = None) -> Definition:
    """A definition that reads the targets, or bases, of these names."""
    inputs = {f"i_{read}": {"path": f"/{read}"} for read in reads}
    query = "SELECT 1 AS k FROM " + ", ".join(inputs)
    return Definition.build(name=name, target=target or f"/{name}", query=query, inputs=inputs, keys=["k"])


def by_name(links: Iterable[Link]) -> dict[str, Definition]:
    return {link.definition.name: link.definition for link in links}


def test_bases_are_returned_as_they_are_written() -> None:
    query = {"query": "SELECT 1 AS k FROM i", "keys": ["k"]}
    plain = Definition.build(name="a", target="/a", inputs={"i": {"path": "/lake/base"}}, **query)
    named = Definition.build(name="b", target="/b", inputs={"i": {"path": "${LAKE}/base"}}, **query)
    for written, other in ((plain, named), (named, plain)):
        links = ordered(located([other, written], {"LAKE": "/lake"}))
        found = bases(links, {"a": plain, "b": named})
        assert list(found.values()) == [written.inputs["i"]] and list(found) == [written.inputs["i"].path]


def test_upstream_definitions_come_first() -> None:
    links = ordered(
        [made("top", "left", "right"), made("left", "low"), made("right", "low", "other"), made("low", "base")]
    )
    assert [(link.definition.name, link.upstream) for link in links] == [
        ("low", ()),
        ("left", ("low",)),
        ("right", ("low",)),
        ("top", ("left", "right")),
    ]
    assert set(bases(links, by_name(links))) == {"/base", "/other"}


@pytest.mark.parametrize(
    ("definitions", "words"),
    [
        ([made("a", "b"), made("b", "c"), made("c", "a"), made("d", "x")], "a reads b reads c reads a"),
        ([made("d", "a"), made("a", "b"), made("b", "a")], "a reads b reads a"),
        ([made("a", "x"), made("a", "y", target="/z")], "the same name or the same target"),
        ([made("a", "x"), made("b", "y", target="/a")], "the same name or the same target"),
    ],
)
def test_circles_and_equal_names_are_refused(definitions: list[Definition], words: str) -> None:
    with pytest.raises(Invalid, match=words):
        ordered(definitions)


@given(st.permutations(range(6)), st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12))
def test_an_acyclic_graph_in_any_order_is_sorted(order: list[int], edges: list[tuple[int, int]]) -> None:
    reads = {i: {f"n{low}" for low, high in edges if low < high == i} | {"base"} for i in range(6)}
    links = ordered(made(f"n{i}", *sorted(reads[i])) for i in order)
    place = {link.definition.name: i for i, link in enumerate(links)}
    assert len(place) == 6
    assert all(place[name] < place[link.definition.name] for link in links for name in link.upstream)
    assert set(bases(links, by_name(links))) == {"/base"}


def test_upstream_definitions_are_added_and_no_others() -> None:
    given = [
        made("top", "left", "right"),
        made("left", "low"),
        made("right", "low"),
        made("low", "base"),
        made("x", "base"),
    ]
    assert [d.name for d in with_upstream(["left"], given)] == ["left", "low"]
    assert [d.name for d in with_upstream(["top", "x"], given)] == ["top", "left", "right", "low", "x"]
    circle = [made("a", "b"), made("b", "a")]
    assert [d.name for d in with_upstream(["a"], circle)] == ["a", "b"]


def test_the_worst_state_of_the_steps_is_that_of_the_cascade() -> None:
    def of(*states: str) -> str:
        return summary_of(RefreshStep(name=s, outcome=Outcome(s)) for s in states).outcome.value

    assert of("nothing_to_do", "succeeded") == "succeeded"
    assert of("nothing_to_do", "nothing_to_do") == "nothing_to_do"
    assert of("succeeded", "skipped", "refused") == "refused"
    assert of("refused", "failed", "succeeded") == "failed"


def test_upstream_definitions_that_were_not_refreshed_are_found() -> None:
    links = {link.definition.name: link for link in ordered([made("top", "left", "right"), made("left", "b")])}
    states = {"left": "skipped", "other": "failed"}
    before = [RefreshStep(name=name, outcome=Outcome(state)) for name, state in states.items()]
    assert failed_upstream(links["top"], before) == ("left",)
    assert failed_upstream(links["left"], before) == ()
