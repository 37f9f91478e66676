"""Whether a process of the examples has ended."""

from __future__ import annotations

import subprocess

import psutil

from examples.processes import has_ended


def test_a_process_that_its_parent_has_not_asked_for_has_ended() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        process = psutil.Process(child.pid)
        assert not has_ended(process, 0)
        child.kill()
        assert has_ended(process, 10)
        assert process.status() == psutil.STATUS_ZOMBIE
    assert has_ended(process, 0)
