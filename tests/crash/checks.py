"""What must hold after any scenario whatsoever. The log is read here as JSON, without the package's own reader."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, Protocol

from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome
from airflow_refresh_provider.runner.refreshes import Refreshes
from tests.crash.lake import NAME, Lake
from tests.crash.stage import Ended, Stage


class Scene(Protocol):
    """What is looked at: a target, its control root, and how the client ended who was the last to finish a refresh."""

    lake: Lake
    last: Ended | None

    @property
    def control(self) -> str: ...

    def refreshes(self) -> Refreshes: ...


def check_all(stage: Stage) -> None:
    """All of them."""
    equal_to_the_query(stage)
    check_what_is_stored(stage)
    stage.sound = True


def check_what_is_stored(stage: Scene) -> None:
    """All that needs no Spark to be seen: logs, control tables, staging."""
    every_chunk_is_in_once(stage)
    markers_only_grow(stage)
    only_fences_follow_the_seal(stage)
    no_staging_is_left(stage)
    the_definition_is_idle(stage)
    the_history_has_the_run(stage)
    nothing_is_left_to_do(stage)


def equal_to_the_query(stage: Stage) -> None:
    """The published version and the newest hold exactly the rows of the query at the input's newest version."""
    status = stage.refreshes().show(NAME)
    version = stage.lake.version()
    assert status.input_versions == {"items": version}
    lake = stage.lake
    tables = {"query": lake.wanted(version), "published": lake.found(status.published_version), "newest": lake.found()}
    rows: dict[str, Counter[Any]] = {name: Counter() for name in tables}
    # In one statement, and compared here: that takes Spark a fourth of the time of EXCEPT ALL both ways.
    for name, *row in stage.sql(" UNION ALL ".join(f"SELECT '{name}', * FROM ({sql})" for name, sql in tables.items())):
        rows[name][tuple(row)] += 1
    wanted = rows.pop("query")
    assert wanted
    for found in rows.values():
        assert (wanted - found, found - wanted) == (Counter(), Counter())


def every_chunk_is_in_once(stage: Scene) -> None:
    """No chunk of the last run was committed again by a later owner, and those found done were reported as skipped."""
    result = _result(stage)
    chunks = [note for _, note in notes(stage.lake.target) if note["run"] == result["run_id"] and note.get("way")]
    counted = Counter((note["unit"], note["chunk"]) for note in chunks)
    assert [where for where, times in counted.items() if times > 1] == []
    assert len(counted) == result["chunks"]["done"]
    if result["resumed"] and "merge" in result["stages"]:
        before = [note for note in chunks if note["generation"] < result["generation"]]
        assert result["chunks"]["skipped"] == len(before)


def markers_only_grow(stage: Scene) -> None:
    """No appId ever carries a number again that it has carried, or a lower one, whatever became of control tables."""
    newest_of: dict[str, int] = {}
    for _, actions in commits(stage.lake.target):
        for txn in (action["txn"] for action in actions if "txn" in action):
            assert txn["version"] > newest_of.get(txn["appId"], -1)
            newest_of[txn["appId"]] = txn["version"]


def only_fences_follow_the_seal(stage: Scene) -> None:
    """Nothing reached the target after the refresh was complete: neither a late statement nor a late owner."""
    result = _result(stage)
    after = dict(commits(stage.lake.target)).keys() - range(result["target_version"])
    found = {version: note for version, note in notes(stage.lake.target) if version in after}
    sealed = found.pop(result["target_version"])
    assert (sealed["kind"] == "seal" or "seals" in sealed) and sealed["run"] == result["run_id"]
    kinds = {version: (note["kind"], note["run"]) for version, note in found.items()}
    assert kinds == dict.fromkeys(after - {result["target_version"]}, ("fence", result["run_id"]))


def no_staging_is_left(stage: Scene) -> None:
    """Neither of this run nor of any before."""
    staging = Path(stage.control, "staging", NAME)
    assert [p.name for p in staging.glob("*")] == []


def the_definition_is_idle(stage: Scene) -> None:
    """No run is in progress, and no lease is held."""
    status = stage.refreshes().show(NAME)
    assert (status.state, status.run) == ("IDLE", None)
    assert status.published_version == _result(stage)["published_version"]


def the_history_has_the_run(stage: Scene) -> None:
    """The newest entry is this run's, with its result; each run abandoned before it has a reason."""
    history = stage.refreshes().history(NAME)
    entry, result = history[0], _result(stage)
    assert (entry.run_id, entry.outcome) == (result["run_id"], Outcome.SUCCEEDED)
    assert entry.result is not None and entry.result.chunks.done == result["chunks"]["done"]
    assert all(e.reason for e in history if e.outcome is not Outcome.SUCCEEDED)


def nothing_is_left_to_do(stage: Scene) -> None:
    """The next refresh finds nothing to do."""
    assert stage.refreshes().run(NAME, Request()).outcome is Outcome.NOTHING_TO_DO


def commits(table: str) -> list[tuple[int, list[dict[str, Any]]]]:
    """(version, actions) of every commit of a table that is still in its log, oldest first."""
    return [
        (int(file.stem), [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()])
        for file in sorted(Path(table, "_delta_log").glob("*.json"))
    ]


def notes(table: str) -> list[tuple[int, dict[str, Any]]]:
    """(version, note) of every commit of a table that has one of ours."""
    infos = [(version, a["commitInfo"]) for version, actions in commits(table) for a in actions if "commitInfo" in a]
    return [(version, json.loads(info["userMetadata"])) for version, info in infos if "userMetadata" in info]


def _result(stage: Scene) -> Any:
    assert stage.last is not None
    return stage.last.result
