"""The command `page` as a process: what it prints, that it answers, how it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_the_page_is_served_until_a_signal(tmp_path: Path) -> None:
    words = ("page", "--port", str(free_port()), "--control", str(tmp_path / "control"), "--output", "json")
    with subprocess.Popen(
        [sys.executable, "-m", "airflow_refresh_provider.cli.main", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        try:
            url = _used(process.stderr.readline().split()[-1])
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (process.returncode, out.strip()) == (0, f'{{"url":"{url}"}}')
    assert "Traceback" not in err
    assert not (tmp_path / "control").exists()


def _used(url: str) -> str:
    """The address without its token, after the page was read with it and not without it."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    with browser.open(url, timeout=30) as page:
        assert "there are no control tables in" in page.read().decode()
    without = url.partition("?")[0]
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(without, timeout=30)
    return without
