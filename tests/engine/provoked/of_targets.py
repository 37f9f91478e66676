"""Errors that the target, its constraints, its files or its storage are to blame for."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.ports.tasks import TargetSpec
from airflow_refresh_provider.spark.acts import sql
from tests.engine.acts import VECTORS
from tests.engine.provoked.bench import Bench, Provocation

_CHECK = "ALTER TABLE {t} ADD CONSTRAINT amount_sane CHECK (amount BETWEEN 0 AND 1000)"
_AMOUNTS = "SELECT id, CAST(id * 5000 AS INT) AS amount FROM range(3)"


def _check_append(bench: Bench) -> None:
    bench.load(bench.target("id BIGINT, amount INT", _CHECK), bench.query("SELECT id, amount FROM src", _AMOUNTS))


def _check_by(way: Way) -> Provocation:
    def provoke(bench: Bench) -> None:
        target = bench.target("id BIGINT, amount INT", _CHECK, "INSERT INTO {t} VALUES (1, 9)")
        bench.merge(target, bench.query("SELECT id, amount FROM src", _AMOUNTS), way)

    return provoke


def _not_null(bench: Bench) -> None:
    target = bench.target("id BIGINT, note STRING NOT NULL", "INSERT INTO {t} VALUES (1, 'x')")
    bench.merge(target, bench.query("SELECT id, note FROM src", "SELECT 3L AS id, CAST(NULL AS STRING) AS note"))


def _not_null_nested(bench: Bench) -> None:
    target = bench.target("id BIGINT, s STRUCT<a: INT NOT NULL>")
    rows = "SELECT 3L AS id, named_struct('a', CAST(NULL AS INT)) AS s"
    bench.load(target, bench.query("SELECT id, s FROM src", rows))


def _too_long(bench: Bench) -> None:
    target = bench.target("id BIGINT, code VARCHAR(3)")
    bench.load(target, bench.query("SELECT id, code FROM src", "SELECT 1L AS id, 'abcd' AS code"))


def _generated(bench: Bench) -> None:
    target = bench.target("id BIGINT, twice BIGINT GENERATED ALWAYS AS (id * 2)")
    bench.load(target, bench.query("SELECT id, twice FROM src", "SELECT 1L AS id, 5L AS twice"))


def _identity(bench: Bench) -> None:
    target = bench.target("id BIGINT GENERATED ALWAYS AS IDENTITY, v BIGINT")
    bench.load(target, bench.query("SELECT id, v FROM src"))


def _append_only(bench: Bench) -> None:
    set_ = "ALTER TABLE {t} SET TBLPROPERTIES ('delta.appendOnly' = 'true')"
    target = bench.target("id BIGINT, v BIGINT", "INSERT INTO {t} VALUES (1, 9)", set_)
    bench.merge(target, bench.query("SELECT id, v FROM src"))


def _dropped(bench: Bench) -> None:
    target = bench.target("id BIGINT, v BIGINT")
    shutil.rmtree(target.location)
    bench.lake.session.mark(target, bench.lake.stamp(target))


def _column_dropped(bench: Bench) -> None:
    mapped = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    target = bench.target("id BIGINT, v BIGINT", "INSERT INTO {t} VALUES (1, 9)", layout=mapped)
    query = bench.query("SELECT id, v FROM src")
    bench.merge(target, query, then=lambda: bench.do(f"ALTER TABLE {sql.table(target.location)} DROP COLUMN v"))


def _files_of(place: str) -> list[Path]:
    return list(Path(place).rglob("*.parquet"))


def _file_gone(bench: Bench) -> None:
    target = bench.target("id BIGINT, v BIGINT", "INSERT INTO {t} VALUES (1, 9)")
    for file in _files_of(target.location):
        file.unlink()
    bench.merge(target, bench.query("SELECT id, v FROM src"))


def _file_damaged(bench: Bench) -> None:
    target = bench.target("id BIGINT, v BIGINT", "INSERT INTO {t} VALUES (1, 9)")
    for file in _files_of(target.location):
        file.write_bytes(b"PAR1 no such thing PAR1")
    bench.merge(target, bench.query("SELECT id, v FROM src"))


def _staging_gone(bench: Bench) -> None:
    target = bench.target("id BIGINT, v BIGINT", "INSERT INTO {t} VALUES (1, 9)")
    query = bench.query("SELECT id, v FROM src")
    compared = bench.lake.compare(target, query, one_chunk=0)  # of one chunk there is no table
    for file in _files_of(compared.changes.location):
        file.unlink()
    bench.lake.apply(target, query, compared, Way.MERGE)


def _partition_too_long(bench: Bench) -> None:
    target = bench.target("id BIGINT, name STRING", layout="PARTITIONED BY (name)")
    bench.load(target, bench.query("SELECT id, name FROM src", "SELECT id, repeat('é', 200) AS name FROM range(1)"))


def _prepared(
    columns: dict[str, str], partition_by: tuple[str, ...] = (), cluster_by: tuple[str, ...] = (), **properties: str
) -> Provocation:
    """A target that is to be made with these columns and looks."""

    def provoke(bench: Bench) -> None:
        listed = tuple(Column(name=name, type=kind) for name, kind in columns.items())
        spec = TargetSpec(
            location=str(bench.folder / "target"),
            columns=listed,
            partition_by=partition_by,
            cluster_by=cluster_by,
            properties=VECTORS | {f"delta.{name}": value for name, value in properties.items()},
        )
        bench.lake.session.prepare(spec)

    return provoke


def _not_a_table(bench: Bench) -> None:
    (bench.folder / "target").write_text("a file where a folder should be")
    _prepared({"id": "bigint"})(bench)


def _no_schema_for_view(bench: Bench) -> None:
    target = bench.target("id BIGINT")
    bench.lake.session.show_version("nosuch.v", target.location, 0, target.columns)


@contextmanager
def _tiny_disk(place: Path) -> Iterator[None]:
    """A disk of two megabytes. Only root may mount one."""
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def _disk_full(bench: Bench) -> None:
    with _tiny_disk(bench.folder / "disk"):
        place = str(bench.folder / "disk" / "target")
        bench.do(f"CREATE TABLE {sql.table(place)} (id BIGINT, v STRING) USING delta")
        query = bench.query("SELECT id, v FROM src", "SELECT id, uuid() || uuid() AS v FROM range(200000)")
        bench.load(bench.lake.found(place), query)


def _read_only_disk(bench: Bench) -> None:
    with _tiny_disk(bench.folder / "disk"):
        place = str(bench.folder / "disk" / "target")
        bench.do(f"CREATE TABLE {sql.table(place)} (id BIGINT, v STRING) USING delta")
        found = bench.lake.found(place)
        subprocess.run(["mount", "-o", "remount,ro", bench.folder / "disk"], check=True)
        bench.load(found, bench.query("SELECT id, v FROM src", "SELECT 1L AS id, 'a' AS v"))


PROVOKED: dict[str, Provocation] = {
    "target.check": _check_append,
    "target.check_merge": _check_by(Way.MERGE),
    "target.check_keyed_replace": _check_by(Way.KEYED_REPLACE),
    "target.check_replace_on": _check_by(Way.REPLACE_ON),
    "target.not_null": _not_null,
    "target.not_null_nested": _not_null_nested,
    "target.too_long": _too_long,
    "target.generated": _generated,
    "target.identity": _identity,
    "target.collated": lambda bench: bench.read(bench.query("SELECT id, 'a' COLLATE UTF8_LCASE AS v FROM src")),
    "target.append_only": _append_only,
    "target.dropped": _dropped,
    "target.column_dropped": _column_dropped,
    "target.file_gone": _file_gone,
    "target.file_damaged": _file_damaged,
    "target.staging_gone": _staging_gone,
    "target.partition_too_long": _partition_too_long,
    "target.not_a_table": _not_a_table,
    "target.no_partition_column": _prepared({"id": "bigint"}, ("nosuch",)),
    "target.only_partitions": _prepared({"id": "bigint"}, ("id",)),
    "target.clustered_by_map": _prepared({"id": "bigint", "m": "map<string,int>"}, (), ("m",)),
    "target.no_such_property": _prepared({"id": "bigint"}, nosuch="1"),
    "target.bad_property": _prepared({"id": "bigint"}, deletedFileRetentionDuration="soon"),
    "target.view_schema": _no_schema_for_view,
    "storage.disk_full": _disk_full,
    "storage.read_only": _read_only_disk,
}
