"""Errors that storage far away is to blame for: what the HDFS client of Spark meets at a server on loopback."""

from __future__ import annotations

import json

from airflow_refresh_provider.core.changes.reads import delta_table
from airflow_refresh_provider.ports.tasks import Source
from tests.engine.provoked.bench import Bench, Provocation
from tests.serving import answering, certified

_DENIED = {
    "RemoteException": {
        "exception": "AccessControlException",
        "javaClassName": "org.apache.hadoop.security.AccessControlException",
        "message": "Permission denied: user=spark, access=EXECUTE, inode=/lake/src:owner:staff:drwx------",
    }
}


def _read(bench: Bench, location: str) -> None:
    reads = {"src": delta_table(location, {})}
    bench.describe(Source(query="SELECT id FROM src", reads=reads, keys=("id",)))


def _untrusted(bench: Bench) -> None:
    with answering(200, "{}", certified(bench.folder)) as place:
        _read(bench, f"swebhdfs://{place}/lake/src")


def _answered(status: int, body: object) -> Provocation:
    def provoke(bench: Bench) -> None:
        with answering(status, json.dumps(body)) as place:
            _read(bench, f"webhdfs://{place}/lake/src")

    return provoke


PROVOKED: dict[str, Provocation] = {
    "storage.untrusted": _untrusted,
    "storage.no_permission": _answered(403, _DENIED),
    "storage.wrong_credentials": _answered(401, {}),
}
