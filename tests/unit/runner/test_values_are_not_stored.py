"""Values of variables in the places of inputs: they are used, and neither stored, nor returned, nor in an error."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.core.text.variables import written_back
from airflow_refresh_provider.errors import Failed, Invalid, RefreshError, Refused
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.runner.steps import one_task
from airflow_refresh_provider.testing.memory_control import MemoryControlStore
from tests.unit.runner.faults import Killed, at
from tests.unit.runner.phased import BY_VNODE, MINE
from tests.unit.runner.world import COLUMNS, NAME, ONE, World, definition, row

MARKER = "tenant-7f3a9c"
PLACE = f"/in/{MARKER}/orders"
WRITTEN = "/in/${SECRET_PART}/orders"
SPLIT = {"visibility": "live", "chunking": {"one_commit_up_to": 2, "chunk_rows": 2}}
KINDS = ("delta", "parquet")


class Hidden(World):
    """A world whose input is at a place with a secret part, under processes that know it."""

    def __init__(self, format: str = "delta", **changes: Any) -> None:
        super().__init__()
        self.value = MARKER
        self.lake.create(PLACE, COLUMNS, [row(1), row(2), row(3)])
        self.lake.append(PLACE, [row(4), row(5)])
        self.refreshes = Refreshes(self.process())
        inputs = {"x": {"path": WRITTEN, "format": format}}
        self.given = definition(**{"inputs": inputs, "mode": "incremental"} | changes)
        self.refreshes.register(self.given)

    def process(self) -> Any:
        ports = super().process()
        ports.environment["SECRET_PART"] = getattr(self, "value", MARKER)
        return ports

    def another(self, request: Request = ONE) -> Any:
        return Refreshes(self.process()).run(NAME, request)

    def kept(self) -> str:
        """All that control tables hold, and the notes of commits."""
        store: MemoryControlStore = self.store
        records = " ".join(record.model_dump_json() for record in store.records())
        notes = " ".join(v.commit.note or "" for t in self.lake.tables.values() for v in t.versions)
        return " ".join((records, str(store.events(NAME)), str(store._progress), notes))


@pytest.mark.parametrize("format", KINDS)
@pytest.mark.parametrize("options", [{}, SPLIT])
def test_a_value_is_in_nothing_that_is_kept(format: str, options: dict[str, Any]) -> None:
    made = Hidden(format, **options)
    first = made.another()
    made.lake.append(PLACE, [row(6)])
    second = made.another()
    assert second.mode == "incremental" and made.another().outcome is Outcome.NOTHING_TO_DO
    shown = [first, second, made.refreshes.show(NAME), *made.refreshes.history(NAME), *made.refreshes.statuses()]
    found = made.kept() + "".join(one.model_dump_json() for one in shown)
    assert MARKER not in found and WRITTEN in found
    assert made.store.read(NAME).record.published.pins["x"].variables.digest.startswith("sha256:")  # type: ignore[union-attr]


@pytest.mark.parametrize("format", KINDS)
def test_a_run_that_was_cut_into_splits_is_resumed_at_its_place(format: str) -> None:
    made = Hidden(format, **SPLIT)
    one_task.start(made.process(), NAME, MINE)
    one_task.fill(made.process(), NAME, MINE)
    run = made.record.run
    assert run is not None and run.frozen is not None
    splits = [c.split for r in run.frozen.rounds for u in r.units for c in u.chunks if c.split]
    assert splits and all(f.startswith(WRITTEN) for s in splits for f in s.files)
    assert MARKER not in made.kept()
    for unit in run.frozen.current.units:
        one_task.merge_unit(made.process(), NAME, MINE, unit.slot)
    result = one_task.finish(made.process(), NAME, MINE)
    assert result.rows.inserted == 5 and MARKER not in made.kept() + result.model_dump_json()


@pytest.mark.parametrize("format", KINDS)
def test_another_value_is_noticed(format: str) -> None:
    made = Hidden(format)
    made.another()
    made.value = "tenant-other"
    other = PLACE.replace(MARKER, made.value)
    made.lake.tables[other] = made.lake.tables[PLACE]  # the very same table at another place
    result = made.another()
    assert result.outcome is Outcome.SUCCEEDED
    assert result.mode_reason == "a variable in the path of the input x has another value than at the last refresh"
    assert made.another().outcome is Outcome.NOTHING_TO_DO


def test_an_unfinished_run_whose_place_is_another_is_abandoned() -> None:
    made = Hidden(**SPLIT | BY_VNODE)
    with at(made.lake, "commit /gold", nth=2), suppress(Killed):
        made.another()
    pids = [run.lease.owner.pid for run in [made.record.run] if run and run.lease.owner]
    made.dead.update(pids)
    made.value = "tenant-other"
    made.lake.create(PLACE.replace(MARKER, made.value), COLUMNS, [row(9)])
    made.another()
    ended = [e for e in made.refreshes.history(NAME) if e.outcome is Outcome.ABANDONED]
    assert [e.reason for e in ended] == [
        "it cannot be finished: x: /in/${SECRET_PART}/orders is another place than at that time: "
        "a variable in it has another value, or none"
    ]
    assert [r["k"] for r in made.target()] == [9] and MARKER not in made.kept()


def test_a_task_in_another_environment_reads_nothing() -> None:
    made = Hidden()
    one_task.start(made.process(), NAME, MINE)
    made.value = "tenant-other"
    with pytest.raises(Failed, match="another place than at that time") as caught:
        one_task.fill(made.process(), NAME, MINE)
    assert caught.value.code == "input_missing"


def test_where_the_variable_is_missing_records_can_be_read() -> None:
    made = Hidden()
    made.another()
    ports = made.process()
    del ports.environment["SECRET_PART"]
    found = Refreshes(ports)
    [record] = ports.store.records()
    assert record.published is not None and record.published.pins["x"].location == WRITTEN
    assert [status.name for status in found.statuses()] == [NAME] and found.published(NAME).version >= 0
    with pytest.raises(Invalid, match="SECRET_PART, which is not set"):
        found.run(NAME, ONE)


def test_errors_say_the_name() -> None:
    made = Hidden()
    made.another()
    made.lake.remove(PLACE)
    for act in (
        made.another,
        lambda: made.refreshes.due(NAME),
        lambda: made.refreshes.freshness(NAME),
        lambda: made.refreshes.compare_only(NAME),
        lambda: made.refreshes.register(made.given.model_copy(update={"description": "changed"})),
    ):
        with pytest.raises(RefreshError) as caught:
            act()
        assert MARKER not in str(caught.value.parts) and WRITTEN in caught.value.message
    assert MARKER not in made.kept()


def test_an_error_of_the_engine_says_the_name_where_it_is_stored_and_where_it_is_raised() -> None:
    made = Hidden()
    failing = Failed("bad_value", f"cannot read file:{PLACE}/part-0 in {MARKER}", left="as it was", next="Look there.")
    with at(made.lake, "begin /gold", error=lambda: failing), pytest.raises(Failed) as caught:
        made.another()
    assert caught.value.message == f"cannot read file:{WRITTEN}/part-0 in ${{SECRET_PART}}"
    assert MARKER not in made.kept()


def test_places_that_overlap_are_refused_as_they_are_written() -> None:
    made = Hidden()
    with pytest.raises(Refused) as caught:
        made.refreshes.register(definition(name="b", target=f"{PLACE}/below", inputs=dict(made.given.inputs)))
    assert WRITTEN in caught.value.message and f"({PLACE})" not in caught.value.message
    assert "which is" not in caught.value.message


def test_texts_are_written_back() -> None:
    environment = {"ROOT": "/srv/tenants/acme/", "B": "bucket-9", "ENV": "dev", "X": "é é", "LAKE": "LAKE"}
    written = ["${ROOT}/orders", "s3a://${B}/x", "/data/x${ENV}y/orders", "/q/${X}", "${LAKE}/a"]
    for text, expected in {
        "no file /srv/tenants/acme/orders/p": "no file ${ROOT}/orders/p",
        "there is /srv/tenants, and nothing further": "there is a folder above ${ROOT}, and nothing further",
        "bucket-9 of s3://bucket-9/x/y": "${B} of s3://${B}/x/y",
        "a device in dev: /data/xdevy and /data/xdevy/orders": (
            "a device in ${ENV}: /data/x${ENV}y and /data/x${ENV}y/orders"
        ),
        "s3a://LAKE/a": "s3a://${LAKE}/a",
        "file:/q/%C3%A9%20%C3%A9/p": "file:/q/${X}/p",
    }.items():
        assert written_back(text, written, environment) == expected


def test_a_record_is_given_its_places_again_once_it_is_another_one() -> None:
    made = Hidden()
    made.another()
    store = made.refreshes.ports.store
    (first,), (second,) = store.records(), store.records()
    assert first.published is not None and first.published.pins["x"].location == PLACE
    assert second is first
    made.lake.append(PLACE, [row(6)])
    made.another()
    (third,) = store.records()
    assert third.published is not None and third.published.pins["x"].location == PLACE
    assert third.published.pins != first.published.pins
