"""A command as a process of its own: how long it takes, and the peak of its memory.

Linux counts to a process what its parent held when it was started: its peak survives fork and exec. So the parent is
this module run as a program, which holds next to nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time


def timed(words: list[str], codes: tuple[int, ...] = (0,)) -> tuple[float, float]:
    """Seconds and peak memory (MB) of a process that has to end with one of some codes."""
    # With this variable every module would be compiled again, unlike when users run the command.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    parent = subprocess.run(
        [sys.executable, "-S", __file__, *words], stdout=subprocess.PIPE, env=environment, text=True, check=True
    )
    code, seconds, peak = json.loads(parent.stdout)
    if code not in codes:
        raise SystemExit(f"{' '.join(words)} ended with {code}")
    return seconds, peak


def _measure(words: list[str]) -> tuple[int, float, float]:
    began = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, seconds, usage.ru_maxrss / 1024


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_measure(sys.argv[1:])))
