"""The embedded server with real JVMs that are started, killed and stopped."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from airflow_refresh_provider.errors import Failed, Refused
from airflow_refresh_provider.spark.connect.sessions import close, connect, release
from airflow_refresh_provider.spark.server import embedded as server_module
from airflow_refresh_provider.spark.server.embedded import EmbeddedServer, ServerOptions
from airflow_refresh_provider.spark.server.process import try_lock

_OPTIONS = ServerOptions(memory="1g")
_TALKATIVE = ServerOptions(memory="1g", extra_conf={"spark.log.level": "INFO"})
_ENSURE = """
import sys
from pathlib import Path
from airflow_refresh_provider.spark.server.embedded import EmbeddedServer, ServerOptions
print(EmbeddedServer(Path(sys.argv[1]), ServerOptions(memory="1g")).ensure().url)
"""
_START_AND_DIE = """
import os, signal, sys
from pathlib import Path
from airflow_refresh_provider.spark.server import process
from airflow_refresh_provider.spark.server.embedded import EmbeddedServer, ServerOptions
save = process.save
def save_and_die(*arguments):
    save(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
process.save = save_and_die
EmbeddedServer(Path(sys.argv[1]), ServerOptions(memory="1g", extra_conf={"spark.log.level": "INFO"})).ensure()
"""
_OPEN_AND_LEAVE = """
import os, signal, sys
from airflow_refresh_provider.spark.connect.sessions import Endpoint, connect
session = connect(Endpoint(sys.argv[1]), sys.argv[2])
assert session.sql("SELECT 1").collect()
if len(sys.argv) > 3:
    os.kill(int(sys.argv[3]), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("server") / 'a "home" with blanks'
    yield home
    EmbeddedServer(home).stop()


@pytest.fixture
def server(home: Path) -> EmbeddedServer:
    """The server of this module, running; whatever an earlier test did to it."""
    server = EmbeddedServer(home, _OPTIONS)
    server.ensure()
    return server


def _pid(server: EmbeddedServer) -> int:
    pid = server.status().pid
    assert pid is not None
    return pid


def _python(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.slow
def test_of_two_processes_at_once_one_starts_the_server_and_both_find_it(home: Path) -> None:
    assert not EmbeddedServer(home).status().running

    starters = [_python(_ENSURE, str(home)) for _ in range(2)]
    answers = [starter.communicate(timeout=180) for starter in starters]

    assert [starter.returncode for starter in starters] == [0, 0], answers
    status = EmbeddedServer(home).status()
    assert {out.strip() for out, _ in answers} == {status.url}
    assert [err for _, err in answers] == ["", ""]
    assert status.running


def test_the_server_listens_on_the_loopback_address_only(server: EmbeddedServer) -> None:
    listening = [c.laddr.ip for c in psutil.Process(_pid(server)).net_connections("tcp") if c.status == "LISTEN"]

    assert listening
    assert all(address.endswith("127.0.0.1") for address in listening)


@pytest.mark.slow
def test_sessions_share_the_code_that_spark_compiles(tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path, _TALKATIVE)
    compiled = []
    try:
        for _ in range(2):
            session = connect(server.ensure(), str(uuid.uuid4()))
            before = _compiled(server)
            assert len(session.range(9).groupBy("id").count().orderBy("id").collect()) == 9
            compiled.append(_compiled(server) - before)
            close(session)
    finally:
        server.stop()
    assert compiled[0] > 0
    assert compiled[1] == 0


def _compiled(server: EmbeddedServer) -> int:
    """How many pieces of code the server says that it has compiled."""
    return server.status().log.read_text("utf-8").count("Code generated in")


@pytest.mark.slow
def test_a_server_whose_starter_has_died_runs_its_first_job_before_any_client_uses_it(tmp_path: Path) -> None:
    """A first job that were interrupted would leave a server behind that fails at every later one."""
    starter = _python(_START_AND_DIE, str(tmp_path))
    starter.communicate(timeout=60)
    server = EmbeddedServer(tmp_path, _TALKATIVE)
    assert starter.returncode == -signal.SIGKILL
    assert server.status().running
    try:
        server.ensure()
        first = _jobs(server)
        EmbeddedServer(tmp_path, _TALKATIVE).ensure()
        then = _jobs(server)
    finally:
        server.stop()
    assert (first, then) == (1, 1)


def _jobs(server: EmbeddedServer) -> int:
    """How many jobs the log of the server says were started."""
    return server.status().log.read_text("utf-8").count("DAGScheduler: Got job")


@pytest.mark.slow
@pytest.mark.parametrize("killed", ["java", "python"])
def test_nothing_of_a_killed_server_remains(server: EmbeddedServer, killed: str) -> None:
    jvm = psutil.Process(_pid(server))
    (driver,) = [child for child in jvm.children() if "python" in child.name()]  # shells of spark-submit beside it

    (jvm if killed == "java" else driver).kill()

    assert psutil.wait_procs([jvm, driver], timeout=30)[1] == []


@pytest.mark.slow
def test_a_server_whose_record_is_lost_is_found_all_the_same(server: EmbeddedServer, home: Path) -> None:
    before = server.status()
    (home / "server.json").unlink()

    assert server.ensure().url == before.url
    assert server.status() == before


def test_a_stopped_jvm_keeps_the_lock_and_a_second_start_is_refused(server: EmbeddedServer, home: Path) -> None:
    pid = _pid(server)
    _stop(pid)
    try:
        with pytest.raises(Refused) as refusal:
            EmbeddedServer(home, _OPTIONS).ensure()
        assert refusal.value.code == "spark_locked"
        assert str(pid) in refusal.value.message
        assert try_lock(home / "writer.lock") is None
    finally:
        os.kill(pid, signal.SIGCONT)

    server.ensure()
    assert _pid(server) == pid


def _stop(pid: int) -> None:
    """Stop the process, and wait until it is: a thread that waits for a processor runs once more before it stands."""
    os.kill(pid, signal.SIGSTOP)
    end = time.monotonic() + 30
    while any(_state(thread) != "T" for thread in Path(f"/proc/{pid}/task").iterdir()):
        assert time.monotonic() < end
        time.sleep(0.01)


def _state(thread: Path) -> str:
    return (thread / "stat").read_text("utf-8").rpartition(")")[2].split()[0]


def test_a_process_that_never_closed_its_session_still_ends(server: EmbeddedServer) -> None:
    client = _python(_OPEN_AND_LEAVE, str(server.status().url), str(uuid.uuid4()))

    out, err = client.communicate(timeout=60)

    assert (client.returncode, out, err) == (0, "", "")


def test_a_killed_server_frees_its_lock_blocks_no_client_and_is_replaced(server: EmbeddedServer, home: Path) -> None:
    endpoint, pid, session_id = server.ensure(), _pid(server), str(uuid.uuid4())
    session = connect(endpoint, session_id)

    killer = _python(_OPEN_AND_LEAVE, endpoint.url, str(uuid.uuid4()), str(pid))
    out, err = killer.communicate(timeout=60)
    assert (killer.returncode, out, err) == (0, "", "")

    close(session)
    release(endpoint, session_id)
    assert not server.status().running
    lock = try_lock(home / "writer.lock")
    assert lock is not None
    os.close(lock)

    server.ensure()
    assert server.status().running
    assert _pid(server) != pid


def test_stopping_ends_the_server_once_and_frees_its_lock(server: EmbeddedServer, home: Path) -> None:
    assert server.stop()
    assert not server.stop()
    assert not server.status().running
    lock = try_lock(home / "writer.lock")
    assert lock is not None
    os.close(lock)


@pytest.mark.slow
def test_a_port_taken_in_the_meantime_is_replaced_by_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free_port = server_module.free_port
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        chosen = iter((taken, free_port()))
        monkeypatch.setattr(server_module, "free_port", lambda: next(chosen))
        server = EmbeddedServer(tmp_path, _OPTIONS)
        try:
            url = server.ensure().url
        finally:
            server.stop()
    assert str(taken) not in url
    assert next(chosen, None) is None
    assert "BindException" in (tmp_path / "server.last.log").read_text()


@pytest.mark.slow
def test_a_heap_that_is_too_small_is_named_as_the_cause(tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path, ServerOptions(memory="100m"))

    with pytest.raises(Failed) as failure:
        server.ensure()

    assert failure.value.code == "spark_memory"
    assert not server.status().running


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(Failed, match="cannot be used"):
        EmbeddedServer(tmp_path / "file" / "home").ensure()
