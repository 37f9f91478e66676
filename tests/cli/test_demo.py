import subprocess
import sys

import pytest

from tests.cli.conftest import ROOT


@pytest.mark.slow
def test_the_demo_keeps_every_promise() -> None:
    ended = subprocess.run(
        [sys.executable, ROOT / "examples" / "demo" / "run_demo.py"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.count(" yes ") == 5
