"""The program as a user calls it: each call is a process of its own that prints JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

PROGRAM = [sys.executable, "-m", "airflow_refresh_provider.cli.main"]


@dataclass(frozen=True)
class Tool:
    """`airflow-refresh` with control tables in one folder; results are returned, everything else is shown."""

    control: Path
    console: Console

    def __call__(self, *words: str) -> Any:
        """Run a command and return its result. Ends the demo when the command fails."""
        self.console.print(f"\n[bold]$ airflow-refresh {' '.join(words)}[/bold]", highlight=False)
        return _result(self._start(*words))

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Run a command beside this process."""
        self.console.print(f"\n[bold]$ airflow-refresh {' '.join(words)} &[/bold]", highlight=False)
        return self._start(*words)

    def quietly(self, *words: str) -> Any:
        """As calling it, without a word."""
        return _result(self._start(*words))

    def _start(self, *words: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "AIRFLOW_REFRESH_CONTROL": str(self.control)}
        environment.pop("AIRFLOW_REFRESH_SPARK", None)
        environment.setdefault("AIRFLOW_REFRESH_SPARK_MEMORY", "2g")
        return subprocess.Popen(
            [*PROGRAM, *words, "--output", "json"], env=environment, stdout=subprocess.PIPE, text=True
        )


def _result(process: subprocess.Popen[str]) -> Any:
    out, _ = process.communicate()
    value = json.loads(out)
    if process.returncode:
        error = value["error"]
        sys.exit(f"demo: {error['message']}\n left: {error['left']}\n next: {error['next']}")
    return value
