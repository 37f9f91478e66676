"""How often a page reads what: each control table once, and no more than one look at a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from airflow_refresh_provider.core.definition.selection import Selection
from airflow_refresh_provider.core.run.costs import CostsBy
from airflow_refresh_provider.core.run.record import Record
from airflow_refresh_provider.page.lookout import Lookout
from airflow_refresh_provider.ports.control import AddedUp, EventRow, ProgressRow
from airflow_refresh_provider.ports.store_as_written import StoreAsWritten
from airflow_refresh_provider.ports.table_log import TableFacts
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.runner.report.observation import Observation, observe
from airflow_refresh_provider.testing.memory_reads import MemoryLog
from tests.unit.page.site import at_once, browser, views_of
from tests.unit.page.test_pages import interrupted
from tests.unit.runner.shop import NAME, ONE, TARGET, Shop
from tests.unit.runner.world import NAME as ORDERS

READ = Counter[str]
MANY = 40


class CountedStore(StoreAsWritten):
    """A store that counts what is read of it."""

    read_of: READ

    def records(self) -> list[Record]:
        self.read_of["records"] += 1
        return super().records()

    def progress(self, name: str, run_id: str) -> list[ProgressRow]:
        self.read_of["progress"] += 1
        return super().progress(name, run_id)

    def progress_of(self, run_ids: Collection[str]) -> dict[str, list[ProgressRow]]:
        self.read_of["progress_of"] += 1
        return super().progress_of(run_ids)

    def costs_since(self, event: str, names: Collection[str], since: datetime) -> AddedUp:
        self.read_of["costs_since"] += 1
        return super().costs_since(event, names, since)

    def events(self, name: str) -> list[EventRow]:
        self.read_of["events"] += 1
        return super().events(name)

    def newest_events(self, name: str, count: int) -> list[EventRow]:
        self.read_of["newest_events"] += 1
        return super().newest_events(name, count)

    def events_of_run(self, name: str, run_id: str) -> list[EventRow]:
        self.read_of["events_of_run"] += 1
        return super().events_of_run(name, run_id)


class CountedLog(MemoryLog):
    """Logs that count looks at them."""

    read_of: READ

    def facts(self, location: str) -> TableFacts | None:
        self.read_of[location] += 1
        return super().facts(location)


def counted(refreshes: Refreshes, shop: Shop) -> tuple[Refreshes, READ]:
    """The same refreshes, and what is read from now on."""
    read_of = READ()
    ports = refreshes.ports
    store, log = CountedStore(ports.store, {}), CountedLog(shop.lake)
    store.read_of = log.read_of = read_of
    return Refreshes(replace(ports, store=store, log=log)), read_of


def many_tables() -> Shop:
    shop = Shop()
    shop.begin()
    for number in range(MANY):
        name = f"copy_{number:02}"
        inputs = {"x": {"path": TARGET}}
        shop.register("SELECT k FROM x", name=name, target=f"/gold/{name}", inputs=inputs, mode="full")
        shop.refreshes.run(name, ONE)
    return shop


def test_an_overview_of_many_tables_reads_each_control_table_once() -> None:
    shop = many_tables()
    refreshes, read_of = counted(shop.refreshes, shop)
    client = browser(views_of(refreshes))
    assert f"{MANY + 1} tables" in client.get("/").text
    looks = {place: times for place, times in read_of.items() if place.startswith("/gold")}
    assert len(looks) == MANY + 1
    read_of.clear()
    client.get("/")
    assert read_of == {"records": 1}


def test_the_progress_of_all_runs_is_read_at_once() -> None:
    world = interrupted()
    shop = Shop()
    refreshes, read_of = counted(replaced(shop, world.refreshes), shop)
    browser(views_of(refreshes)).get("/")
    assert (read_of["progress_of"], read_of["progress"]) == (1, 0)


def replaced(shop: Shop, refreshes: Refreshes) -> Refreshes:
    """The refreshes of another world, whose tables this shop's lake has too."""
    shop.lake.tables |= refreshes.ports.log._lake.tables  # type: ignore[attr-defined]
    return refreshes


def test_one_definition_costs_one_look_at_its_target() -> None:
    shop = many_tables()
    refreshes, read_of = counted(shop.refreshes, shop)
    browser(views_of(refreshes)).get(f"/definitions/{NAME}")
    assert read_of == {"records": 1, "newest_events": 1, TARGET: 1, "/in/customers": 1, "/in/orders": 1}


def test_the_costs_of_many_definitions_are_one_read_and_no_look_at_any_table() -> None:
    shop = many_tables()
    refreshes, read_of = counted(shop.refreshes, shop)
    assert f"copy_{MANY - 1}" in browser(views_of(refreshes)).get("/costs").text
    assert read_of == {"records": 1, "costs_since": 1}
    read_of.clear()
    assert len(refreshes.costs(Selection(every=True), CostsBy.DEFINITION, days=1)) == MANY + 1
    assert read_of == {"records": 1, "costs_since": 1}


def test_a_run_costs_no_look_at_any_table() -> None:
    world = interrupted()
    shop = Shop()
    refreshes, read_of = counted(replaced(shop, world.refreshes), shop)
    browser(views_of(refreshes)).get(f"/definitions/{ORDERS}/runs/{world.interrupted.run_id}")
    assert read_of == {"progress": 1}


def test_what_was_seen_is_kept_the_longer_the_more_definitions_there_are() -> None:
    shop = Shop()
    shop.begin()
    looked: list[str] = []

    def look(record: Record) -> Observation:
        looked.append(record.name)
        return observe(shop.refreshes.ports, record)

    clock = shop.refreshes.ports.clock
    lookout = Lookout(look, clock, at_once)
    few = shop.refreshes.ports.store.records()
    many = [*few, *(few[0].model_copy(update={"name": f"copy_{n}"}) for n in range(249))]
    lookout.seen(many)
    for records, seconds, times in ((few, 19, 1), (many, 5, 1), (many, 1, 2), (few, 19, 2), (few, 1, 3)):
        clock.sleep(seconds)
        lookout.seen(records)
        assert Counter(looked)[NAME] == times, (len(records), seconds)


def test_a_first_look_is_not_waited_for_longer_than_a_moment() -> None:
    shop = Shop()
    shop.begin()
    started: list[object] = []
    lookout = Lookout(
        lambda record: observe(shop.refreshes.ports, record), shop.refreshes.ports.clock, started.append, 0
    )
    records = shop.refreshes.ports.store.records()
    assert lookout.seen(records) == {} and len(started) == 1
    assert lookout.seen(records) == {} and len(started) == 1


def test_a_look_that_fails_does_not_end_those_that_follow() -> None:
    shop = Shop()
    shop.begin()
    failing = [True]

    def look(record: Record) -> Observation:
        if failing.pop() if failing else False:
            raise MemoryError
        return observe(shop.refreshes.ports, record)

    def start(work: object) -> None:
        try:
            assert callable(work)
            work()
        except MemoryError:
            pass

    lookout = Lookout(look, shop.refreshes.ports.clock, start, 0)
    records = shop.refreshes.ports.store.records()
    assert lookout.seen(records) == {}
    assert set(lookout.seen(records)) == {NAME}
