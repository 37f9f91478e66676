"""Each error of `tests/unit/spark/spark_errors.py`, made to happen on real Spark through an act of the engine.

To record their facts again: `pytest tests/engine/test_spark_errors.py --record-spark-errors`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_refresh_provider.core.faults.fault import Doing
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from airflow_refresh_provider.spark.connect.faults import FACTS
from tests.engine.acts import opened
from tests.engine.provoked import of_inputs, of_memory, of_query, of_servers, of_storage, of_targets
from tests.engine.provoked.bench import Bench, Provocation
from tests.sharing import session_folder
from tests.unit.spark.spark_errors import EXPECTED, LAKE, RECORDED, check

PROVOKED: dict[str, Provocation] = {
    **of_query.PROVOKED,
    **of_inputs.PROVOKED,
    **of_targets.PROVOKED,
    **of_servers.PROVOKED,
    **of_storage.PROVOKED,
    **of_memory.PROVOKED,
}
_QUICK = {"query.column", "value.divide", "input.checksum", "input.colon", "target.check", "target.partition_too_long"}
_NAMES = [pytest.param(name, marks=() if name in _QUICK else pytest.mark.slow) for name in PROVOKED]

Record = Callable[[str, dict[str, Any]], None]


@pytest.fixture
def record(request: pytest.FixtureRequest) -> Record:
    """Stores the facts of an error, if that was asked for."""

    def store(name: str, facts: dict[str, Any]) -> None:
        if request.config.getoption("--record-spark-errors"):
            known = json.loads(RECORDED.read_text("utf-8")) if RECORDED.exists() else {}
            kept = {name: facts for name, facts in (known | {name: facts}).items() if name in PROVOKED}
            RECORDED.write_text(json.dumps(dict(sorted(kept.items())), indent=1, ensure_ascii=False) + "\n", "utf-8")

    return store


@pytest.mark.parametrize("name", _NAMES)
def test_an_error_of_spark_is_answered_in_three_parts_that_blame_what_is_to_blame(
    name: str, tmp_path: Path, spark_server: Endpoint, caplog: pytest.LogCaptureFixture, record: Record
) -> None:
    (tmp_path / name).mkdir()
    caplog.set_level(logging.DEBUG, "airflow_refresh_provider.spark.connect.faults")
    with opened(spark_server, tmp_path) as lake, pytest.raises(RefreshError) as raised:
        PROVOKED[name](Bench(lake, tmp_path / name, spark_server))

    facts = [entry.args for entry in caplog.records if entry.msg == FACTS]
    assert facts and isinstance(facts[-1], tuple), raised.value.parts
    fault, doing = (_anywhere(str(part), tmp_path) for part in facts[-1])
    record(name, {"fault": json.loads(fault), "doing": json.loads(doing)})
    error = raised.value
    shown = type(error)(error.code, _anywhere(error.message, tmp_path), left=error.left, next=error.next)
    check(name, shown, Doing.model_validate_json(doing))


def _anywhere(text: str, folder: Path) -> str:
    """A text without the folders of this machine and test session."""
    return text.replace(str(folder), LAKE).replace(str(session_folder()), "/session")


def test_every_error_that_is_expected_can_be_provoked() -> None:
    assert sorted(PROVOKED) == sorted(EXPECTED)
