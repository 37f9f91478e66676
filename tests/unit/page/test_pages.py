"""What the pages show, and that texts of users are shown as text."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.run.health import Health
from airflow_refresh_provider.core.run.notice import Notice
from airflow_refresh_provider.core.run.overview import DefinitionDetail, Overview
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.run_detail import RunDetail
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.runner.steps import one_task
from airflow_refresh_provider.views.result_table import details
from airflow_refresh_provider.views.result_table import row as result_row
from tests.unit.page.site import browser, views_of
from tests.unit.runner.disturbed import LIVE
from tests.unit.runner.faults import Killed, at
from tests.unit.runner.shop import NAME, Shop, order
from tests.unit.runner.world import NAME as ORDERS
from tests.unit.runner.world import TARGET as ORDERS_TARGET
from tests.unit.runner.world import World, definition, row

HOSTILE = "<script>alert('x')</script>\"; DROP TABLE state --"


def interrupted() -> World:
    """A run whose process died before its fifth chunk of eight."""
    world = World(*[row(i) for i in range(9)], **LIVE)
    world.run()
    world.become(*[row(i, "b") for i in range(9)])
    with at(world.lake, f"begin {ORDERS_TARGET}", nth=5), pytest.raises(Killed):
        world.run()
    return world


def test_the_overview_has_a_line_for_each_definition_and_counts_them() -> None:
    shop = Shop(tags=["sales"], owner="ada")
    shop.begin()
    page = browser(shop.refreshes).get("/")
    assert page.status_code == 200
    for text in (NAME, "1 table", "1 fresh", "+0 ~1 -0", "ada", "sales", "/memory"):
        assert text in page.text, text


def test_a_run_that_has_stopped_says_what_is_spent_and_that_it_is_continued() -> None:
    world = World(*[row(i) for i in range(9)], **LIVE, budget={"bytes": 1}, throttle=70_000)
    world.run(Request(workers=1, no_budget=True))
    world.become(*[row(i, "b") for i in range(9)])
    run_id = world.run().run_id
    client = browser(world.refreshes)
    for path, texts in {
        f"/definitions/{ORDERS}": ("stopped: budget spent, 1 of 8 chunks", "; the next run continues", "70,000 rows/s"),
        f"/definitions/{ORDERS}/runs/{run_id}": (" of 1); the next run continues", "70,000 rows/s"),
        "/": ("stopped: budget spent, 1 of 8 chunks", "1 budget spent"),
    }.items():
        page = client.get(path).text
        assert [text for text in texts if text not in page] == []


@pytest.mark.parametrize(
    ("origins", "shown"),
    [
        (["http://airflow sales_mart scheduled__1"], "by DAG sales_mart"),
        (["http://airflow sales_mart scheduled__1", "http://airflow sales_mart manual__2", None], "by DAG sales_mart"),
        (["http://airflow sales_mart manual__1"], "manual"),
        ([None], "manual"),
    ],
)
def test_a_table_without_a_schedule_says_which_dag_refreshes_it(origins: list[str | None], shown: str) -> None:
    world = World()
    for number, origin in enumerate(origins):
        world.become(row(number))
        world.run(Request(origin=origin))
    client = browser(world.refreshes)
    assert [path for path in ("/", f"/definitions/{ORDERS}") if shown not in client.get(path).text] == []
    (one,) = world.refreshes.statuses()
    by_dag = shown != "manual"
    assert ("by the DAG sales_mart: its schedule is manual" in str(details(one))) == by_dag
    assert result_row(one)["next due"] == ("sales_mart" if by_dag else None)


def test_between_two_tasks_of_a_dag_run_the_next_refresh_is_in_progress() -> None:
    world = World(row(1), refresh={"interval": "1 hour"})
    one_task.start(world.ports, ORDERS, Request(origin="http://airflow orders scheduled__1"))
    assert world.record.run is not None and world.record.run.lease.parked_until
    assert "in progress" in browser(world.refreshes).get("/").text
    (one,) = world.refreshes.statuses()
    assert result_row(one)["next due"] == "in progress" and "can be resumed" not in str(details(one))


def test_what_needs_a_person_comes_first() -> None:
    shop = Shop()
    shop.begin()
    shop.register(name="a_new_one", target="/gold/other")
    found = Overview.model_validate(browser(shop.refreshes).get("/api/v1/overview").json())
    assert [(one.name, one.health) for one in found.definitions] == [
        ("a_new_one", Health.NOT_PUBLISHED),
        (NAME, Health.FRESH),
    ]
    assert found.counts == {Health.NOT_PUBLISHED: 1, Health.FRESH: 1}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["one", NAME]),
        ("tag=sales", [NAME]),
        ("tag=none", []),
        ("owner=ada", [NAME]),
        ("search=GOLD/o", ["one"]),
        ("search=even", [NAME]),
        ("health=not_published", ["one"]),
        ("skip=1", [NAME]),
        ("limit=1", ["one"]),
        ("tag=&owner=&search=", ["one", NAME]),
    ],
)
def test_definitions_are_filtered(query: str, names: list[str]) -> None:
    shop = Shop(tags=["sales"], owner="ada")
    shop.begin()
    shop.register(name="one", target="/gold/one")
    listed = browser(shop.refreshes).get(f"/api/v1/definitions?{query}").json()
    assert [one["name"] for one in listed] == names


def test_more_definitions_than_a_page_shows_are_on_the_next_one() -> None:
    shop = Shop()
    for number in range(205):
        shop.register(name=f"table_{number:03}", target=f"/gold/{number}")
    first, second = (browser(shop.refreshes).get(f"/?skip={skip}").text for skip in (0, 200))
    assert "1 to 200 of 206" in first and "skip=200" in first and "table_199" not in first
    assert "201 to 206 of 206" in second and "table_204" in second


def test_a_target_becomes_late_without_another_look() -> None:
    shop = Shop(refresh={"on_change": True, "target_lag": "10 seconds"})
    shop.begin()
    shop.lake.append("/in/orders", [order(100, 1)])
    views = views_of(shop.refreshes)
    client = browser(views)

    def looked() -> tuple[str | None, str]:
        (one,) = client.get("/api/v1/definitions").json()
        return one["health"], one["looked_at"]

    first, at_first = looked()
    shop.refreshes.ports.clock.sleep(15)
    assert first == "behind"
    assert looked() == ("late", at_first)
    shop.refreshes.ports.clock.sleep(15)
    assert looked()[1] != at_first


def test_a_look_before_a_refresh_says_nothing_after_it() -> None:
    shop = Shop()
    shop.begin()
    client = browser(shop.refreshes)
    shop.lake.append("/in/orders", [order(100, 1)])
    assert client.get("/api/v1/definitions").json()[0]["health"] == "behind"
    shop.run()
    assert client.get("/api/v1/definitions").json()[0]["health"] == "fresh"


def test_notices_about_airflow_are_shown() -> None:
    shop = Shop()
    views = views_of(shop.refreshes, lambda: (Notice(code="triggerer_down", message="since noon"),))
    assert "<strong>triggerer_down</strong> since noon" in browser(views).get("/").text


def test_a_definition_is_shown_with_inputs_runs_next_refresh_and_query() -> None:
    shop = Shop(description="what customers pay")
    shop.begin()
    shop.lake.append("/in/orders", [order(100, 1)])
    client = browser(shop.refreshes)
    text = client.get(f"/definitions/{NAME}").text
    for expected in (
        "what customers pay",
        "incremental: changes of orders in version 3",
        "recompute the rows by k = customer",
        "LEFT JOIN orders o",
        "polars.read_delta",
        "airflow-refresh pause revenue",
        '<rect class="full"',
    ):
        assert expected in text, expected
    found = DefinitionDetail.model_validate(client.get(f"/api/v1/definitions/{NAME}").json())
    assert [(one.name, one.applied, one.newest) for one in found.freshness.inputs] == [
        ("customers", 1, 1),
        ("orders", 2, 3),
    ]
    assert len(found.history) == 2


def test_a_definition_is_shown_with_those_that_it_reads_and_that_read_it() -> None:
    shop = Shop()
    shop.begin()
    for name, read in (("best", "/gold/revenue"), ("report", "/gold/best")):
        query = "SELECT k FROM x"
        shop.register(query, name=name, target=f"/gold/{name}", inputs={"x": {"path": read}}, mode="full")
    client = browser(shop.refreshes)
    found = DefinitionDetail.model_validate(client.get("/api/v1/definitions/best").json())
    assert [(one.name, one.steps) for one in found.upstream] == [(NAME, 1)]
    assert [(one.name, one.steps) for one in found.downstream] == [("report", 1)]
    assert (found.reads, found.upstream[0].reads, found.downstream[0].reads) == ((NAME,), (), ("best",))
    assert [(source.path, source.readers) for source in found.sources] == [
        ("/in/customers", (NAME,)),
        ("/in/orders", (NAME,)),
    ]
    page = client.get("/definitions/best").text
    for text in (f'href="/definitions/{NAME}"', 'id="node-report"', "report: not published, 1 step downstream"):
        assert text in page, text
    top = DefinitionDetail.model_validate(client.get(f"/api/v1/definitions/{NAME}").json())
    assert [(one.name, one.steps) for one in top.downstream] == [("best", 1), ("report", 2)]


def test_the_lines_of_a_query_that_have_changed_are_shown_as_text() -> None:
    world = World(row(1))
    world.refreshes.register(definition(query="SELECT k, v FROM x\nWHERE v <> '<b>&'"))
    page = browser(world.refreshes).get(f"/definitions/{ORDERS}").text
    for text in (
        "Changed at 2",
        '<span class="removed">-SELECT * FROM x</span>',
        '<span class="added">+WHERE v &lt;&gt; &#39;&lt;b&gt;&amp;&#39;</span>',
    ):
        assert text in page, text


def test_a_run_in_progress_is_shown_with_a_map_of_its_chunks() -> None:
    world = interrupted()
    client = browser(world.refreshes)
    run_id = world.interrupted.run_id
    found = RunDetail.model_validate(client.get(f"/api/v1/definitions/{ORDERS}/runs/{run_id}").json())
    assert [chunk.state for chunk in found.chunks] == ["done"] * 4 + ["running"] + ["waiting"] * 3
    assert [(phase.name, phase.state) for phase in found.phases] == [
        ("load", "done"),
        ("merge", "running"),
        ("cleanup", "waiting"),
    ]
    assert (found.chunks_done, found.chunks_total, found.live) == (4, 8, True)
    text = client.get(f"/definitions/{ORDERS}/runs/{run_id}").text
    assert text.count('<rect class="done"') == 4 and text.count('<rect class="waiting"') == 3
    world.die(world.ports)
    dead = RunDetail.model_validate(client.get(f"/api/v1/definitions/{ORDERS}/runs/{run_id}").json())
    assert (dead.live, [chunk.state for chunk in dead.chunks]) == (False, ["done"] * 4 + ["waiting"] * 4)


def test_a_resumed_run_shows_what_an_earlier_attempt_did() -> None:
    world = interrupted()
    world.die(world.ports)
    result = world.another()
    client = browser(world.refreshes)
    found = RunDetail.model_validate(client.get(f"/api/v1/definitions/{ORDERS}/runs/{result.run_id}").json())
    assert [chunk.state for chunk in found.chunks] == ["earlier"] * 4 + ["done"] * 4
    assert (found.outcome, found.attempts) == ("succeeded", 2)


def test_a_run_shows_what_it_was_foreseen_to_take_either_way() -> None:
    shop = Shop(mode="auto")
    shop.begin()
    shop.lake.append("/in/orders", [order(98, 1)])
    page = browser(shop.refreshes).get(f"/definitions/{NAME}/runs/{shop.run().run_id}").text
    assert "<dt>foreseen</dt>" in page and "incremental 0 s, full 0 s" in page


def test_a_run_that_failed_says_why_how_the_data_was_left_and_the_command() -> None:
    shop = Shop()
    shop.begin()
    shop.lake.append("/in/customers", [{"k": 1, "name": "again"}])
    with pytest.raises(RefreshError):
        shop.run()
    client = browser(shop.refreshes)
    (entry, *_) = client.get(f"/api/v1/definitions/{NAME}").json()["history"]
    found = RunDetail.model_validate(client.get(f"/api/v1/definitions/{NAME}/runs/{entry['run_id']}").json())
    assert found.error is not None
    assert (found.error.code, found.error.left) == (
        "duplicate_key",
        "The target was not changed. Readers of the published version see version 3.",
    )
    assert f"airflow-refresh run {NAME}" in found.error.next
    assert 'role="alert"' in client.get(f"/definitions/{NAME}/runs/{entry['run_id']}").text


def test_texts_of_users_are_text() -> None:
    query = "SELECT c.k, '<script>' AS name FROM customers c JOIN orders o ON o.customer = c.k"
    shop = Shop(query, owner=HOSTILE, description=HOSTILE, tags=[HOSTILE])
    shop.refreshes.suspend(NAME, HOSTILE)
    client = browser(shop.refreshes)
    pages = [client.get("/"), client.get(f"/definitions/{NAME}"), client.get("/", params={"search": HOSTILE})]
    pages += [client.get("/definitions/<script>alert('x')"), client.get("/?tag=" + HOSTILE)]
    for page in pages:
        assert "<script>alert" not in page.text and "'<script>'" not in page.text
        assert "&lt;script&gt;" in page.text


def test_every_answer_forbids_the_browser_to_run_anything_else() -> None:
    client = browser(Shop().refreshes)
    for path in ("/", f"/definitions/{NAME}", "/static/page.css", "/api/v1/overview", "/nothing"):
        policy = client.get(path).headers["content-security-policy"]
        assert "script-src 'self'" in policy and "unsafe" not in policy and "default-src 'none'" in policy
    page = client.get(f"/definitions/{NAME}").text
    assert " style=" not in page and "<style" not in page and " on" + "click" not in page
    assert "http://" not in page.replace("http://testserver", "") and "https://" not in page


def test_time_that_passes_is_no_error_for_a_filter_of_an_unknown_health() -> None:
    shop = Shop()
    assert browser(shop.refreshes).get("/?health=unheard_of").status_code == 200
    assert browser(shop.refreshes).get("/api/v1/overview?health=unheard_of").status_code == 422


def test_an_input_that_is_gone_is_said_on_both_pages() -> None:
    shop = Shop()
    shop.begin()
    shop.lake.remove("/in/orders")
    client = browser(shop.refreshes)
    assert "unknown: input_missing" in client.get("/").text
    assert "input_missing" in client.get(f"/definitions/{NAME}").text
