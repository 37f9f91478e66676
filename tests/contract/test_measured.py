"""The memory of a command is its own, however large the process that had it measured."""

import sys

import pytest

from benchmarks.measured import timed

HUNDRED_MB = 100 * 1024 * 1024


def test_the_peak_is_that_of_the_command_alone() -> None:
    mine = bytearray(b"x") * (3 * HUNDRED_MB)
    _, small = timed([sys.executable, "-c", ""])
    _, large = timed([sys.executable, "-c", f"bytearray(b'x') * {HUNDRED_MB}"])
    assert len(mine) == 3 * HUNDRED_MB
    assert small < 50
    assert 100 < large < 200


def test_a_command_has_to_end_as_it_should() -> None:
    ends_with_4 = [sys.executable, "-c", "raise SystemExit(4)"]
    assert timed(ends_with_4, codes=(0, 4))[0] > 0
    with pytest.raises(SystemExit, match="ended with 4"):
        timed(ends_with_4)
