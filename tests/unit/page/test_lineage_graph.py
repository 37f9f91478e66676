"""The graph around a definition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from airflow_refresh_provider.core.run.health import Health
from airflow_refresh_provider.core.run.overview import DefinitionDetail, Neighbour, Source
from airflow_refresh_provider.page.lineage_graph import MOST_NODES, Graph, graph
from tests.unit.page.site import views_of
from tests.unit.runner.shop import NAME, Shop


def around(
    upstream: Iterable[Neighbour] = (),
    downstream: Iterable[Neighbour] = (),
    reads: Sequence[str] = (),
    sources: Iterable[Source] = (),
) -> Graph:
    """The graph of a real definition with these tables around it."""
    changes = {
        "upstream": tuple(upstream),
        "downstream": tuple(downstream),
        "reads": tuple(reads),
        "sources": tuple(sources),
    }
    return graph(detail().model_copy(update=changes))


def detail() -> DefinitionDetail:
    shop = Shop()
    shop.begin()
    return views_of(shop.refreshes).definition(NAME)


def one(name: str, steps: int, *reads: str, health: Health | None = Health.FRESH, lag: float = 0.0) -> Neighbour:
    return Neighbour(name=name, steps=steps, health=health, lag_seconds=lag, reads=reads)


def columns(drawn: Graph) -> list[list[str]]:
    """The labels of each column, from left to right and from top to bottom."""
    across = sorted({node.x for node in drawn.nodes})
    return [[node.label for node in drawn.nodes if node.x == x] for x in across]


def test_tables_stand_in_columns_by_their_distance_and_every_line_goes_to_the_right() -> None:
    drawn = around(
        upstream=[one("daily", 1, "orders"), one("orders", 1)],
        downstream=[one("report", 1, NAME, "orders"), one("board", 1, NAME, "report")],
        reads=["daily", "orders"],
    )
    assert columns(drawn) == [["orders"], ["daily"], [NAME], ["report"], ["board"]]
    assert len(drawn.lines) == 7
    for line in drawn.lines:
        numbers = [float(part) for part in line.replace("M", "").replace("C", "").split()]
        assert numbers[0] < numbers[-2]
    assert drawn.more == 0


def test_a_table_says_its_state_in_words_and_links_to_its_definition() -> None:
    drawn = around(
        upstream=[one("daily", 1, health=Health.LATE, lag=1140)],
        downstream=[one("a", 1, NAME, health=None), one("b", 1, NAME, health=Health.RUNNING)],
        reads=["daily"],
    )
    found = {node.label: (node.says, node.kind, node.name) for node in drawn.nodes}
    assert found == {
        "daily": ("late, 19 min", "urgent", "daily"),
        NAME: ("fresh", "own calm", None),
        "a": ("not looked at yet", "plain", "a"),
        "b": ("running", "busy", "b"),
    }
    titles = [node.title for node in drawn.nodes]
    assert "daily: late, 19 min, 1 step upstream" in titles
    assert f"{NAME}: fresh, this definition" in titles


def test_inputs_that_no_definition_makes_are_there_without_a_link() -> None:
    drawn = around(
        upstream=[one("daily", 1)],
        reads=["daily"],
        sources=[
            Source(name="raw", path="${LAKE}/raw", readers=("daily", NAME)),
            Source(name="names", path="/names", readers=(NAME,)),
        ],
    )
    assert columns(drawn) == [["raw"], ["daily", "names"], [NAME]]
    raw = next(node for node in drawn.nodes if node.label == "raw")
    assert (raw.name, raw.kind, raw.title) == (None, "source", "raw (${LAKE}/raw): input, 1 step upstream")


def test_of_very_many_tables_the_nearest_are_shown_and_the_others_counted() -> None:
    near = [one(f"near_{at:02}", 1, NAME) for at in range(30)]
    far = [one(f"far_{at:02}", 2, "near_00") for at in range(30)]
    drawn = around(downstream=[*far, *near])
    labels = [node.label for node in drawn.nodes]
    assert (len(labels), drawn.more) == (MOST_NODES, 21)
    assert sum(label.startswith("near") for label in labels) == 30
    assert len(drawn.lines) == MOST_NODES - 1


def test_boxes_do_not_touch_and_are_within_the_drawing() -> None:
    drawn = around(
        upstream=[one(f"up_{at}", 1) for at in range(7)],
        downstream=[one(f"down_{at}", 1, NAME) for at in range(4)],
        reads=[f"up_{at}" for at in range(7)],
    )
    places = {(node.x, node.y) for node in drawn.nodes}
    assert len(places) == 12
    assert all(0 < x <= drawn.width - drawn.node_width and 0 < y <= drawn.height - drawn.node_height for x, y in places)
    heights = sorted(y for x, y in places if x == min(x for x, _ in places))
    assert all(lower - upper > drawn.node_height for upper, lower in pairwise(heights))


def test_the_same_tables_in_another_order_are_drawn_alike() -> None:
    some = [one("a", 1), one("b", 1), one("c", 2)]
    assert around(upstream=some, reads=["a", "b"]).nodes == around(upstream=some[::-1], reads=["b", "a"]).nodes


def test_definitions_that_read_each_other_in_a_circle_are_drawn_too() -> None:
    drawn = around(
        upstream=[one("a", 1, "b"), one("b", 2, "a")],
        downstream=[one("a", 1, NAME), one("c", 1, NAME)],
        reads=["a"],
    )
    assert sorted(node.label for node in drawn.nodes) == sorted(["a", "b", "c", NAME])


def test_a_long_name_is_cut_and_whole_in_its_title() -> None:
    drawn = around(downstream=[one("a_name_of_a_definition_that_is_long", 1, NAME)])
    (cut,) = [node for node in drawn.nodes if node.kind == "calm"]
    assert cut.label == "a_name_of_a_definit…"
    assert cut.title == "a_name_of_a_definition_that_is_long: fresh, 1 step downstream"
    assert cut.where == "a_name_of_a_definition_that_is_long, 1 step downstream"
