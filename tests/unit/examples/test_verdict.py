"""The demo's last table can say no: each promise is measured by what was found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from examples.demo.evidence import Written
from examples.demo.verdict import Found, UnitSeen, show

KEPT = Found(
    units=[UnitSeen(unit=0, chunks=3, tries=2, skipped=1), UnitSeen(unit=1, chunks=2, tries=1, skipped=0)],
    in_at_kill={0: 1, 1: 2},
    rows_before=100,
    refreshed={"rows": {"inserted": 2, "updated": 3, "deleted": 4}},
    expected=5,
    differences=0,
    log=Written(commits=5, into_new_files=5, marked_gone=7),
)


def test_what_kept_every_promise_is_shown_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert show(KEPT)
    assert capsys.readouterr().out.count(" yes ") == 6


@pytest.mark.parametrize(
    "found",
    [
        {"in_at_kill": {0: 2}},
        {"in_at_kill": {}},
        {"expected": 6},
        {"refreshed": {"rows": {"inserted": 2, "updated": 3, "deleted": 0}}},
        {"log": Written(commits=6, into_new_files=5, marked_gone=7)},
        {"log": Written(commits=5, into_new_files=100, marked_gone=7)},
        {"differences": 1},
        {"units": [replace(unit, tries=1) for unit in KEPT.units]},
    ],
)
def test_a_promise_that_was_not_kept_is_shown_so(found: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert not show(replace(KEPT, **found))
    assert " NO " in capsys.readouterr().out
