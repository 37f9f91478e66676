"""Whether the owner of a run still exists, for real processes; None where that is not known."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from airflow_refresh_provider.core.run.owner import OriginStatus, Owner
from airflow_refresh_provider.host import LocalProcesses, process_label

HERE = LocalProcesses("test", origin_status=lambda _origin: OriginStatus.UNKNOWN)
NAMED = """
from airflow_refresh_provider.core.run.owner import OriginStatus
from airflow_refresh_provider.host import LocalProcesses
print(LocalProcesses("child", origin_status=lambda _origin: OriginStatus.UNKNOWN).this().model_dump_json())
"""


def _ended() -> Owner:
    """An owner whose process has ended."""
    child = subprocess.run([sys.executable, "-c", NAMED], stdout=subprocess.PIPE, text=True, check=True)
    return Owner.model_validate_json(child.stdout)


def _with(owner: Owner, **changes: Any) -> Owner:
    return owner.model_copy(update=changes)


def test_a_process_lives_until_it_ends() -> None:
    assert HERE.alive(HERE.this()) is True
    assert HERE.alive(_ended()) is False


def test_a_process_with_a_reused_pid_or_from_before_the_boot_is_gone() -> None:
    this = HERE.this()
    assert HERE.alive(_with(this, started=this.started - 60)) is False
    assert HERE.alive(_with(this, boot_id="another")) is False


@pytest.mark.parametrize("elsewhere", [{"host": "another"}, {"pid_space": "pid:[1]"}, {"user": os.getuid() + 1}])
def test_owners_on_another_host_or_container_or_of_another_user_are_unknown(elsewhere: dict[str, Any]) -> None:
    assert HERE.alive(_with(HERE.this(), **elsewhere)) is None
    assert HERE.alive(_with(_ended(), **elsewhere)) is None


@pytest.mark.parametrize("unknown", ["pid_space", "user"])
def test_an_owner_without_its_pid_space_or_user_is_unknown(unknown: str) -> None:
    stored = json.loads(_ended().model_dump_json())
    del stored[unknown]
    assert HERE.alive(Owner.model_validate(stored)) is None


def test_a_process_is_called_by_who_has_started_it_where_that_is_known() -> None:
    assert process_label({"USER": "ada"}) == f"airflow-refresh of ada, process {os.getpid()}"
    assert process_label({}) == f"airflow-refresh, process {os.getpid()}"
