"""Places inside one another are refused, with both of them named."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.definition.places import Place, Role, check_apart
from airflow_refresh_provider.errors import Refused


def target(location: str, name: str = "a", resolved: str | None = None) -> Place:
    return Place(Role.TARGET, f"target of {name}", location, resolved or location)


def read(location: str, name: str = "a", resolved: str | None = None) -> Place:
    return Place(Role.INPUT, f"input x of {name}", location, resolved or location)


CONTROL = Place(Role.CONTROL, "control root", "/lake/control", "/lake/control")


@pytest.mark.parametrize(
    ("mine", "others", "message"),
    [
        ([target("/in/gold"), read("/in")], [], "target of a (/in/gold) lies inside the input x of a (/in)"),
        ([target("/gold"), read("/gold/in")], [], "target of a (/gold) has inside it the input x of a (/gold/in)"),
        ([target("/g/a")], [target("/g", "b")], "target of a (/g/a) lies inside the target of b (/g)"),
        ([target("/g")], [target("/g/b", "b")], "target of a (/g) has inside it the target of b (/g/b)"),
        ([target("/g/a")], [read("/g", "b")], "target of a (/g/a) lies inside the input x of b (/g)"),
        ([read("/g/x")], [target("/g", "b")], "input x of a (/g/x) lies inside the target of b (/g)"),
        ([target("/lake/control/gold")], [CONTROL], "lies inside the control root (/lake/control)"),
        ([target("/lake")], [CONTROL], "target of a (/lake) has inside it the control root (/lake/control)"),
        ([read("/lake")], [CONTROL], "input x of a (/lake) has inside it the control root (/lake/control)"),
        ([target("/link", resolved="/in"), read("/in")], [], "(/link, which is /in) is the same place as the input"),
        ([target("/link", resolved="/g")], [target("/g", "b")], "is the same place as the target of b (/g)"),
        ([target("/link/a", resolved="/in/a"), read("/in")], [], "(/link/a, which is /in/a) lies inside the input"),
        ([target("s3://b/in/gold"), read("s3://b/in")], [], "lies inside the input x of a (s3://b/in)"),
        (
            [read("s3a://b/g", resolved="s3://b/g")],
            [target("s3://b/g", "b")],
            "input x of a (s3a://b/g, which is s3://b/g) is the target of b (s3://b/g), with another scheme",
        ),
    ],
)
def test_places_inside_one_another_are_refused(mine: list[Place], others: list[Place], message: str) -> None:
    with pytest.raises(Refused) as refused:
        check_apart(mine, others)
    assert refused.value.code == "places_overlap"
    assert message in refused.value.message


@pytest.mark.parametrize(
    ("mine", "others"),
    [
        ([target("/gold"), read("/in"), read("/in")], [target("/gold2", "b"), read("/in", "b"), CONTROL]),
        ([target("/g/a"), read("/g/b")], [target("/g/b", "b"), read("/g/a", "c")]),
        ([target("/in2"), read("/in")], [target("/in3", "b")]),
        ([target("/gold"), read("/in/x")], [read("/in", "b")]),
        ([target("/gold"), read("/lake/control/history")], [CONTROL]),
        ([read("s3a://b/g", resolved="s3://b/g")], [target("s3a://b/g", "b", "s3://b/g")]),
        ([read("s3a://b/g", resolved="s3://b/g")], [read("s3://b/g", "b")]),
        ([read("${LAKE}/g", resolved="s3://b/g")], [target("s3a://b/g", "b", "s3://b/g")]),
    ],
)
def test_places_beside_one_another_and_chains_of_tables_are_not(mine: list[Place], others: list[Place]) -> None:
    check_apart(mine, others)
