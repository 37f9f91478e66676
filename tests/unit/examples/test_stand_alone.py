"""What `make up` prints can be typed as it is."""

from __future__ import annotations

import subprocess
from pathlib import Path

from examples.lake import Lake
from examples.stand_alone import CHECKOUT, summary


def test_the_exports_lead_to_the_tables_the_airflow_and_the_programs(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "two words" / ".demo")
    exports = [line for line in summary(lake, "http://here", "secret").splitlines() if line.startswith("  export ")]
    script = "\n".join([*exports, 'echo "$AIRFLOW_REFRESH_CONTROL:$AIRFLOW_HOME:$PATH"'])
    said = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert "make down" in summary(lake, "http://here", "secret")
    assert said.stdout.startswith(f"{lake.control}:{lake.airflow}:{CHECKOUT / '.venv' / 'bin'}:")
