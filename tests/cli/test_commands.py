"""Every command on tables in memory: its result as a table and as JSON, and its exit code."""

from datetime import timedelta
from pathlib import Path

import pytest

from airflow_refresh_provider.core.run.admin_results import Rebuilt, Recovery
from airflow_refresh_provider.core.run.costs import Cost
from airflow_refresh_provider.core.run.reports import DefinitionStatus, ProgressReport
from airflow_refresh_provider.core.run.results import Differences, HistoryEntry, RunResult
from airflow_refresh_provider.ports.control import EventRow
from airflow_refresh_provider.testing.memory_lake import BEGINNING
from tests.cli.conftest import DEFINITION, Ended, Program, World
from tests.unit.runner.faults import at, disconnected


def test_validating_needs_neither_control_tables_nor_the_input(
    world: World, here: Program, environment: dict[str, str]
) -> None:
    environment.clear()
    world.lake.remove(world.people)
    ended = here("validate", world.write(), "--output", "json")
    assert ended.code == 0
    assert [(v["name"], v["target"]) for v in ended.json] == [
        ("people_copy", str(world.folder / "gold" / "people_copy"))
    ]


def test_validating_a_folder_names_the_file_of_each_definition(world: World, here: Program) -> None:
    files = [world.write(name) for name in ("one", "two")]
    ended = here("validate", str(world.folder), "--output", "json")
    assert [(v["name"], v["file"]) for v in ended.json] == list(zip(("one", "two"), files, strict=True))


OF_ALL_ROWS = "query: SELECT id, name, sum(id) OVER () AS total FROM people\nmode: incremental"
WINDOWED = DEFINITION.replace("from: people", OF_ALL_ROWS)
OWN_INPUT = DEFINITION.replace("gold/{name}", "silver/people/{name}")
SAME_TARGET = DEFINITION.replace("gold/{name}", "gold/one")


@pytest.mark.parametrize(
    ("name", "text", "code", "said"),
    [
        ("windowed", WINDOWED, "not_incremental", "a window without PARTITION BY"),
        ("inside", OWN_INPUT, "places_overlap", "lies inside the input people"),
        ("two", SAME_TARGET, "places_overlap", "is the same place as the target of"),
    ],
)
def test_validating_refuses_what_registering_refuses(
    name: str, text: str, code: str, said: str, world: World, here: Program
) -> None:
    files = [world.write("one"), world.write(name, text)]
    found = here("validate", *files, "--output", "json")
    assert (found.code, found.json["error"]["code"]) == (2, code)
    assert said in found.json["error"]["message"] and ".yaml: " in found.json["error"]["message"]
    assert here("register", *files).code != 0


def test_validating_leaves_open_what_the_columns_of_the_inputs_decide(world: World, here: Program) -> None:
    query = "query: SELECT * FROM people p JOIN people q ON p.id = q.id\nmode: incremental"
    assert here("validate", world.write(text=DEFINITION.replace("from: people", query))).code == 0


def test_registering_has_an_outcome(world: World, here: Program) -> None:
    path = world.write()
    outcomes = []
    for text in (DEFINITION, DEFINITION, DEFINITION + "owner: ada\n"):
        world.write(text=text)
        outcomes.append(here("register", path, "--output", "json").json[0]["outcome"])
    assert outcomes == ["registered", "unchanged", "changed"]


def test_nothing_is_registered_if_one_file_is_wrong(world: World, here: Program) -> None:
    good = world.write("good")
    bad = world.folder / "bad.yaml"
    bad.write_text(DEFINITION.format(name="Not A Name"))
    ended = here("register", good, str(bad))
    assert ended.code == 2
    assert "bad.yaml" in ended.err
    assert here("list", "--output", "json").json == []


def test_a_name_in_two_files_is_refused(world: World, here: Program) -> None:
    path = world.write("twice")
    copy = world.folder / "copy.yaml"
    copy.write_text(DEFINITION.format(name="twice"))
    ended = here("register", path, str(copy))
    assert ended.code == 2
    assert "twice is already used in" in ended.err


def test_a_refusal_half_way_says_what_was_registered_before_it(world: World, here: Program) -> None:
    first = world.write("first")
    second = world.write("second", DEFINITION.replace("gold/{name}", "gold/first"))
    ended = here("register", first, second, "--output", "json")
    assert ended.code == 3
    assert ended.json["error"]["code"] == "target_taken"
    assert ended.json["error"]["left"] == "Registered before it: first. Nothing else was changed."
    assert [d["name"] for d in here("list", "--output", "json").json] == ["first"]


@pytest.mark.usefixtures("registered")
def test_a_run_prints_its_result_and_nothing_else_on_stdout(here: Program) -> None:
    ended = here("run", "people_copy", "--output", "json")
    assert ended.code == 0
    result = RunResult.model_validate(ended.json)
    assert (result.outcome, result.rows.inserted, result.published_version) == (
        "succeeded",
        2,
        result.published_version,
    )
    assert result.stages.keys() >= {"start", "load", "merge", "publish", "cleanup"}


@pytest.mark.usefixtures("registered")
def test_a_run_with_nothing_to_do_succeeds(here: Program) -> None:
    here("run", "people_copy")
    ended = here("run", "people_copy", "--output", "json")
    assert (ended.code, ended.json["outcome"]) == (0, "nothing_to_do")
    assert here("run", "people_copy", "--force", "--output", "json").json["outcome"] == "succeeded"


def test_a_mass_delete_is_refused_and_forced(registered: World, here: Program) -> None:
    here("run", "people_copy")
    registered.lake.rewrite(registered.people, lambda _row: None)
    refused = here("run", "people_copy", "--output", "json")
    assert (refused.code, refused.json["error"]["code"]) == (3, "mass_delete")
    forced = here("run", "people_copy", "--force", "--output", "json")
    assert (forced.code, forced.json["rows"]["deleted"]) == (0, 2)


def test_comparing_prints_counts_and_samples_and_writes_nothing(registered: World, here: Program) -> None:
    here("run", "people_copy")
    registered.lake.append(registered.people, [{"id": 3, "name": "Grace"}])
    before = here("show", "people_copy", "--output", "json").json
    ended = here("run", "people_copy", "--compare-only", "--output", "json")
    found = Differences.model_validate(ended.json)
    assert (ended.code, found.equal, found.rows.inserted, found.rows.unchanged) == (0, False, 1, 2)
    assert [(s.op, s.desired) for s in found.samples] == [("I", {"id": 3, "name": "Grace"})]
    assert here("show", "people_copy", "--output", "json").json == before
    assert "Grace" in here("run", "people_copy", "--compare-only").out


@pytest.mark.usefixtures("registered")
def test_definitions_are_listed_and_shown(here: Program) -> None:
    here("run", "people_copy")
    (listed,) = here("list", "--output", "json").json
    shown = here("show", "people_copy", "--output", "json").json
    assert {one["program"] for one in shown.pop("reading")} == {"pandas", "polars", "duckdb"}
    assert listed.pop("reading") == []
    assert listed == shown
    assert DefinitionStatus.model_validate(shown).published_version is not None


def test_ended_runs_are_history_newest_first(registered: World, here: Program) -> None:
    here("run", "people_copy")
    registered.lake.append(registered.people, [{"id": 3, "name": "Grace"}])
    here("run", "people_copy")
    entries = [HistoryEntry.model_validate(e) for e in here("history", "people_copy", "--output", "json").json]
    assert [(e.outcome, e.result and e.result.rows.inserted) for e in entries] == [("succeeded", 1), ("succeeded", 2)]


def test_ended_runs_are_added_up(registered: World, here: Program) -> None:
    here("run", "people_copy")
    registered.lake.append(registered.people, [{"id": 3, "name": "Grace"}])
    here("run", "people_copy")
    (cost,) = (Cost.model_validate(one) for one in here("costs", "--all", "--days", "1", "--output", "json").json)
    assert (cost.of, cost.runs, cost.published, cost.rows.inserted) == ("people_copy", 2, 2, 3)
    (untagged,) = here("costs", "people_*", "--by", "tag", "--output", "json").json
    assert (untagged["of"], untagged["runs"]) == ("(no tag)", 2)
    assert "people_copy" in here("costs", "people_copy").out


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("words", "model"),
    [(("progress",), ProgressReport), (("progress", "--follow"), ProgressReport), (("rebuild-progress",), Rebuilt)],
)
def test_progress_of_an_ended_run_is_shown_at_once(
    words: tuple[str, ...], model: type[ProgressReport], here: Program
) -> None:
    here("run", "people_copy")
    ended = here(words[0], "people_copy", *words[1:], "--output", "json")
    report = model.model_validate(ended.json)
    assert (ended.code, report.stage, report.chunks_done) == (0, None, 1)


def test_progress_of_a_vnode_shows_only_what_is_counted_by_vnode(registered: World, here: Program) -> None:
    here("run", "people_copy")
    registered.lake.append(registered.people, [{"id": 3, "name": "Grace"}])
    here("run", "people_copy")
    (vnode,) = here("progress", "people_copy", "--output", "json").json["vnodes"]
    assert vnode["rows"] == {"inserted": 1, "updated": 0, "deleted": 0}
    assert "chunk 1, 1 inserted, 0 updated, 0 deleted\n" in here("progress", "people_copy").out


@pytest.mark.usefixtures("registered")
def test_progress_of_a_chunk_of_all_vnodes_names_none(here: Program) -> None:
    here("run", "people_copy")
    (progress,) = here("progress", "people_copy", "--output", "json").json["vnodes"]
    assert progress["vnode"] < 0
    assert "vnode" not in here("progress", "people_copy").out


def test_recover_reads_every_definition(registered: World, here: Program) -> None:
    here("register", registered.write("other", DEFINITION))
    ended = here("recover", "--output", "json")
    recovered = [Recovery.model_validate(r) for r in ended.json]
    assert [(r.name, r.outcome) for r in recovered] == [("other", "clean"), ("people_copy", "clean")]
    assert [r["name"] for r in here("recover", "other", "--output", "json").json] == ["other"]


def test_recover_reports_the_error_of_one_definition_in_its_entry(registered: World, here: Program) -> None:
    def broken(*words: str) -> Ended:
        with at(registered.lake, f"begin {registered.folder}/gold", disconnected):
            return here(*words)

    assert broken("run", "people_copy").code == 1
    found = broken("recover", "--output", "json")
    (entry,) = found.json
    assert (found.code, entry["outcome"], entry["error"]["code"]) == (1, "failed", "connection_lost")
    shown = broken("recover")
    left, after = entry["error"]["left"], entry["error"]["next"]
    assert (shown.code, f"broke [connection_lost] {left} {after}" in shown.out) == (1, True)
    assert (here("recover").code, here("show", "people_copy", "--output", "json").json["run"]) == (0, None)


@pytest.mark.parametrize(("options", "deleted"), [((), False), (("--stop",), False), (("--delete-target",), True)])
def test_a_dropped_definition_leaves_its_target_unless_asked(
    options: tuple[str, ...], deleted: bool, registered: World, here: Program
) -> None:
    here("run", "people_copy")
    ended = here("drop", "people_copy", *options, "--output", "json")
    assert (ended.code, ended.json["target_deleted"]) == (0, deleted)
    assert (ended.json["target"] not in registered.lake.tables) is deleted
    assert here("show", "people_copy").code == 2


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize("words", [("show",), ("run",), ("progress",), ("history",), ("recover",), ("drop",)])
def test_an_unknown_name_exits_2_in_three_parts(words: tuple[str, ...], here: Program) -> None:
    ended = here(*words, "absent")
    assert (ended.code, ended.out) == (2, "")
    error, left, after = ended.err.splitlines()
    assert error == (
        "error: no definition named 'absent' is registered in /memory, where no control tables are [unknown_name]"
    )
    assert left == " left: Nothing was changed."
    assert after.startswith(" next: ")
    assert here(*words, "absent", "--output", "json").json["error"]["code"] == "unknown_name"


@pytest.mark.usefixtures("registered")
def test_a_target_that_is_not_deleted_says_why(here: Program) -> None:
    assert "(kept: there is no table)" in here("drop", "people_copy", "--delete-target").out


def test_markup_in_a_definition_is_shown_as_it_is(world: World, here: Program) -> None:
    here("register", world.write(text=DEFINITION + 'owner: "[red]ada[/red]"\n'))
    assert "[red]ada[/red]" in here("show", "people_copy").out


INCREMENTAL = DEFINITION + "mode: incremental\nrefresh: {{interval: 1 h, target_lag: 2 h}}\n"


@pytest.fixture
def followed(world: World, here: Program) -> World:
    """A definition that is refreshed from changes, and whose input has changed since."""
    here("register", world.write(text=INCREMENTAL))
    here("run", "people_copy")
    world.lake.append(world.people, [{"id": 3, "name": "Grace"}])
    return world


@pytest.mark.usefixtures("followed")
def test_a_run_shows_which_changes_it_has_read_and_why(here: Program) -> None:
    ended = here("run", "people_copy", "--output", "json")
    assert (ended.json["mode"], ended.json["windows"]) == ("incremental", {"people": [1, 2]})
    assert (ended.json["mode_reason"], ended.json["lag_seconds"]) == ("changes of people in version 2", 0)
    full = here("run", "people_copy", "--mode", "full", "--force", "--output", "json")
    assert (full.json["mode"], full.json["mode_reason"], full.json["windows"]) == (
        "full",
        "a full refresh was requested",
        {},
    )


def test_the_exit_code_of_due_says_whether_a_refresh_is_due(followed: World, here: Program) -> None:
    waiting = here("due", "people_copy", "--output", "json")
    assert (waiting.code, waiting.json["due"], waiting.json["cause"]) == (4, False, "not_yet")
    followed.lake.times[followed.people, 2] = BEGINNING - timedelta(hours=3)
    due = here("due", "people_copy", "--output", "json")
    assert (due.code, due.json["due"], due.json["lag_seconds"]) == (0, True, 3 * 3600)
    assert "unapplied changes: people since 2023-12-31 21:00:00 UTC" in here("due", "people_copy").out
    assert here("due", "absent").code == 2


def test_a_control_root_that_does_not_exist_is_named(program: Program, tmp_path: Path) -> None:
    for command in ("list", "freshness", "recover"):
        ended = program(command, "--control", "typo", "--output", "json")
        assert (ended.code, ended.json) == (0, [])
        assert f"there are no control tables in {tmp_path}/typo" in ended.err
    unknown = program("show", "orders", "--control", "typo", "--output", "json")
    assert f"is registered in {tmp_path}/typo, where no control tables are" in unknown.json["error"]["message"]
    assert not (tmp_path / "typo").exists()


@pytest.mark.usefixtures("world")
def test_a_control_root_without_definitions_is_named(here: Program, world: World) -> None:
    world.store.add_event(EventRow(name="old", run_id=None, event="x", generation=1, at=BEGINNING))
    assert f"no definition is registered in {world.store.root}" in here("list").err


def test_freshness_shows_how_far_behind_a_target_is(followed: World, here: Program) -> None:
    followed.lake.times[followed.people, 2] = BEGINNING - timedelta(hours=3)
    (fresh,) = here("freshness", "--output", "json").json
    assert (fresh["lag_seconds"], fresh["late"], fresh["inputs"]) == (3 * 3600, True, [])
    (detailed,) = here("freshness", "people_copy", "--why", "--output", "json").json
    assert [(i["name"], i["applied"], i["newest"]) for i in detailed["inputs"]] == [("people", 1, 2)]
    assert "3:00:00 of 2:00:00, late" in here("freshness", "--why").out


def test_a_definition_whose_input_cannot_be_read_is_shown_with_the_error(followed: World, here: Program) -> None:
    followed.lake.remove(followed.people)
    shown = here("show", "people_copy").out
    assert "not known, see below" in shown and "[input_missing]" in shown


def test_freshness_reports_the_error_of_one_definition_in_its_row(followed: World, here: Program) -> None:
    followed.lake.remove(followed.people)
    all_of_them = here("freshness", "--output", "json")
    (row,) = all_of_them.json
    assert (all_of_them.code, row["name"], row["error"]["code"]) == (1, "people_copy", "input_missing")
    shown = here("freshness")
    assert (shown.code, "[input_missing]" in shown.out) == (1, True)
    alone = here("freshness", "people_copy", "--output", "json")
    assert (alone.code, alone.json["error"]["message"].startswith("people_copy: ")) == (2, True)


@pytest.mark.usefixtures("followed")
def test_a_suspended_definition_is_not_refreshed_until_it_is_resumed(here: Program) -> None:
    assert here("suspend", "people_copy", "--why", "the source is wrong", "--output", "json").json["suspended"]
    refused = here("run", "people_copy", "--output", "json")
    assert (refused.code, refused.json["error"]["code"]) == (3, "suspended")
    assert "the source is wrong" in refused.json["error"]["message"]
    assert here("due", "people_copy").code == 4
    assert here("resume", "people_copy", "--output", "json").json["suspended"] is None
    assert here("run", "people_copy").code == 0


def test_ending_a_suspension_notes_when_missed_commits_are_applied(world: World, here: Program) -> None:
    here("register", world.write(text=DEFINITION + "refresh:\n  on_change: true\n"))
    here("suspend", "people_copy", "--why", "the source is wrong")
    assert "within the hour, or at once by a manual run" in here("resume", "people_copy").err
    assert here("resume", "people_copy").err == ""


def test_all_that_is_wrong_with_a_query_and_with_several_files_is_said_at_once(here: Program, tmp_path: Path) -> None:
    text = "name: {name}\ntarget: {target}\nquery: {query}\ninputs: {{a: {{path: in/a}}}}\nkeys: [{key}]\n"
    first, second, third = (tmp_path / f"{name}.yaml" for name in ("first", "second", "third"))
    first.write_text(text.format(name="first", target="gold/1", query="SELECT id, id, rand() AS r FROM b", key="idd"))
    second.write_text(text.format(name="second", target="in/a/below", query="SELECT id FROM a", key="id"))
    third.write_text(text.format(name="third", target="gold/3", query="SELECT id FROM a", key="nope"))
    ended = here("validate", *map(str, (first, second, third)))
    assert ended.code == 2
    for words in (
        f"{first}: query, line 1, column 33: unknown table b",
        "rand gives other values",
        "more than one column named id",
        "keys: idd is not a column",
        f"{second}: the target of second",
        f"{third}: keys: nope is not a column",
    ):
        assert words in ended.err, words


@pytest.mark.usefixtures("registered")
def test_an_unfinished_run_is_shown_with_how_to_stop_it_and_ended_for_good(world: World, here: Program) -> None:
    with at(world.lake, "commit", disconnected):
        assert here("run", "people_copy").code == 1
    shown = here("progress", "people_copy").out
    assert "state   interrupted" in shown and "`airflow-refresh cancel people_copy`" in shown
    shown = here("show", "people_copy").out
    assert "to stop it" not in shown
    assert "  `airflow-refresh recover people_copy`: continues the run after its last chunk" in shown
    ended = here("abandon", "people_copy", "--output", "json")
    assert (ended.code, ended.json["outcome"]) == (0, "abandoned")
    assert here("abandon", "people_copy", "--output", "json").json["outcome"] == "clean"
    result = here("run", "people_copy", "--output", "json").json
    assert (result["outcome"], result["resumed"]) == ("succeeded", False)
    shown = here("show", "people_copy").out
    assert "what can be done" not in shown
    assert f"deltalake.DeltaTable('{world.folder / 'gold' / 'people_copy'}', version=" in shown
