"""Jars fetched into an empty cache, over the real network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_refresh_provider.errors import Retry
from airflow_refresh_provider.spark.server.installation import find
from airflow_refresh_provider.spark.server.jars import JARS, delta_jars

_FETCH = """
import os, sys
from pathlib import Path
from airflow_refresh_provider.spark.server.installation import find
from airflow_refresh_provider.spark.server.jars import delta_jars
delta_jars(find(os.environ), os.environ, Path(sys.argv[1]))
"""


def _folder(cache: Path) -> Path:
    [folder] = [path for path in cache.iterdir() if path.is_dir()]
    return folder


@pytest.mark.slow
def test_two_processes_with_an_empty_cache_fetch_exactly_the_jars_once(tmp_path: Path) -> None:
    (tmp_path / "fetching-by-one-who-died" / "jars").mkdir(parents=True)

    fetchers = [
        subprocess.Popen([sys.executable, "-c", _FETCH, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    ends = [fetcher.communicate(timeout=500) for fetcher in fetchers]

    assert ends == [(b"", b""), (b"", b"")]
    assert {path.name for path in _folder(tmp_path).iterdir()} == set(JARS)


@pytest.mark.slow
def test_a_cache_that_lost_a_jar_is_filled_again(tmp_path: Path) -> None:
    installation = find(os.environ)
    jars = delta_jars(installation, os.environ, tmp_path)
    jars[3].unlink()

    assert delta_jars(installation, os.environ, tmp_path) == jars
    assert all(jar.stat().st_size for jar in jars)


def test_without_a_network_the_error_says_so_and_the_cache_stays_empty(tmp_path: Path) -> None:
    nowhere = {**os.environ, "DEFAULT_ARTIFACT_REPOSITORY": "http://127.0.0.1:9/"}
    # No proxy and no other repository may help out.
    nowhere["JAVA_TOOL_OPTIONS"] = f"-Duser.home={tmp_path} -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9"

    with pytest.raises(Retry, match="could not be reached") as error:
        delta_jars(find(os.environ), nowhere, tmp_path)

    assert error.value.code == "jars_unavailable"
    assert not [path for path in tmp_path.iterdir() if path.is_dir() and path.name.startswith(("delta", "fetching"))]
