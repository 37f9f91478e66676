"""How the JVM of an embedded server is ended, with a process that goes when a test wants it to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import psutil
import pytest

from airflow_refresh_provider.errors import Refused
from airflow_refresh_provider.spark.server.process import ServerProcess


@dataclass
class Stubborn:
    """A process that ends after so many signals; `gone`: it ends by itself before the next one."""

    ends_after: int
    gone: bool = False
    signals: list[str] = field(default_factory=list)

    def terminate(self) -> None:
        self._take("terminate")

    def kill(self) -> None:
        self._take("kill")

    def wait(self, seconds: float) -> None:
        if len(self.signals) < self.ends_after:
            raise psutil.TimeoutExpired(seconds, pid=7)

    def _take(self, signal: str) -> None:
        if self.gone and self.signals:
            raise psutil.NoSuchProcess(7)
        self.signals.append(signal)


@dataclass(frozen=True)
class Server(ServerProcess):
    process: Stubborn = field(default_factory=lambda: Stubborn(1))

    def _process(self) -> psutil.Process | None:
        return cast(psutil.Process, self.process)


def _server(process: Stubborn) -> Server:
    return Server(pid=7, started=0.0, port=1, process=process)


@pytest.mark.parametrize(
    ("process", "signals"),
    [
        (Stubborn(1), ["terminate"]),
        (Stubborn(2), ["terminate", "kill"]),
        (Stubborn(2, gone=True), ["terminate"]),
    ],
    ids=["goes when asked", "goes when killed", "is gone meanwhile"],
)
def test_a_server_is_asked_to_go_and_then_killed(process: Stubborn, signals: list[str]) -> None:
    _server(process).end()
    assert process.signals == signals


def test_a_server_that_survives_sigkill_is_reported_as_held() -> None:
    with pytest.raises(Refused, match="process 7") as caught:
        _server(Stubborn(3)).end()
    error = caught.value
    assert error.code == "spark_locked"
    assert "still exists" in error.left and error.next
