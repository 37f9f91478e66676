"""A program in the place of spark-submit: it notes what it was asked, and ends as a test wants.

It is a process of its own, found on the path by the real hook; only the Spark behind it is missing.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

PROGRAM = f"""#!{sys.executable}
import json, sys, time
from pathlib import Path

reported = json.loads(Path({{reported!r}}).read_text())
with Path({{words!r}}).open("a") as words:
    words.write(json.dumps(sys.argv[1:]) + "\\n")
given = dict(zip(sys.argv, sys.argv[1:]))
if reported["result"]:
    name = sys.argv[sys.argv.index("--control") - 1]
    place = Path(reported["control"], "application_results", name, given["--result-id"] + ".json")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(reported["result"])
print("LoggingPodStatusWatcherImpl: exit code:", reported["code"], flush=True)
time.sleep(reported["seconds"])
sys.exit(reported["code"])
"""


class StandIn:
    """It is on the path as `spark-submit`; `control` is where it leaves results."""

    def __init__(self, folder: Path, control: Path) -> None:
        self._words = folder / "words.json"
        self._reported = folder / "report.json"
        self._control = control
        program = folder / "spark-submit"
        program.write_text(PROGRAM.format(reported=str(self._reported), words=str(self._words)))
        program.chmod(0o755)
        self.path = f"{folder}{os.pathsep}{os.environ['PATH']}"
        self.ends()

    def ends(self, result: str | None = None, code: int = 0, seconds: int = 0) -> None:
        """How it ends when it is started."""
        reported: dict[str, Any] = {"result": result, "code": code, "seconds": seconds, "control": str(self._control)}
        self._reported.write_text(json.dumps(reported))

    @property
    def starts(self) -> int:
        """How often it was started."""
        return len(self._words.read_text().splitlines()) if self._words.exists() else 0

    @property
    def words(self) -> list[str]:
        """What it was asked last."""
        found: list[str] = json.loads(self._words.read_text().splitlines()[-1])
        return found
