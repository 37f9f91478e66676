"""Errors that an input is to blame for."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from deltalake import Field, Schema, convert_to_deltalake
from deltalake.schema import PrimitiveType

from airflow_refresh_provider.core.changes.reads import delta_table
from airflow_refresh_provider.ports.tasks import Source
from tests.engine.acts import source
from tests.engine.provoked.bench import Bench, Provocation

_ROWS = "SELECT id, uuid() AS v FROM range(500)"


def _delta(bench: Bench, rows: str = _ROWS) -> tuple[Source, Path]:
    query = bench.query("SELECT id, v FROM src", rows)
    return query, bench.folder / "src"


def _parquet(bench: Bench, rows: str = _ROWS) -> Path:
    bench.lake.spark.sql(rows).coalesce(1).write.parquet(str(bench.folder / "src"))
    return bench.folder / "src"


def _one(folder: Path) -> Path:
    [file] = folder.glob("*.parquet")
    return file


def _no_table(bench: Bench) -> None:
    query, folder = _delta(bench)
    shutil.rmtree(folder)
    bench.read(query)


def _no_version(bench: Bench) -> None:
    bench.table("src", _ROWS)
    pin = bench.pin("src").model_copy(update={"version": 9})
    bench.describe(source("SELECT id FROM src", "id", pins={"src": pin}))


def _no_file(bench: Bench) -> None:
    query, folder = _delta(bench)
    target = bench.lake.target(query)
    for file in folder.glob("*.parquet"):
        file.unlink()
    bench.load(target, query)


def _no_parquet(bench: Bench) -> None:
    file = _one(_parquet(bench))
    query = bench.files()
    file.unlink()
    bench.describe(query)


def _not_a_table(bench: Bench) -> None:
    _parquet(bench)
    read = delta_table(str(bench.folder / "src"), {})
    bench.describe(Source(query="SELECT id FROM src", reads={"src": read}, keys=("id",)))


def _damaged(file: Path, *, checksum: bool) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[:8] + bytes(len(whole) // 2) + whole[8 + len(whole) // 2 :])
    if not checksum:
        file.with_name(f".{file.name}.crc").unlink()


def _damaged_file(bench: Bench) -> None:
    file = _one(_parquet(bench))
    target = bench.lake.target(bench.files())
    _damaged(file, checksum=False)
    bench.load(target, bench.files())


def _wrong_checksum(bench: Bench) -> None:
    file = _one(_parquet(bench))
    target = bench.lake.target(bench.files())
    _damaged(file, checksum=True)
    bench.load(target, bench.files())


def _no_footer(bench: Bench) -> None:
    folder = bench.folder / "src"
    folder.mkdir()
    (folder / "a.parquet").write_bytes(b"id,v\n1,2\n" * 20)
    bench.describe(bench.files())


def _empty_file(bench: Bench) -> None:
    folder = bench.folder / "src"
    folder.mkdir()
    (folder / "a.parquet").write_bytes(b"")
    bench.describe(bench.files())


def _other_types(bench: Bench) -> None:
    folder = bench.folder / "src"
    folder.mkdir()
    for name, kind, value in (("a", pa.int32(), 1), ("b", pa.int64(), 5_000_000_000)):
        table = pa.table({"id": pa.array([1], pa.int32()), "qty": pa.array([value], kind)})
        pq.write_table(table, folder / f"{name}.parquet")
    bench.read(bench.files("SELECT id, qty FROM src"))


def _text_for_number(bench: Bench) -> None:
    folder = bench.folder / "src"
    folder.mkdir()
    pq.write_table(pa.table({"id": [1], "qty": [1]}), folder / "a.parquet")
    pq.write_table(pa.table({"id": [2], "qty": ["x"]}), folder / "b.parquet")
    bench.read(bench.files("SELECT id, qty FROM src"))


def _of_pandas(bench: Bench) -> None:
    folder = bench.folder / "src"
    folder.mkdir()
    when = pd.to_datetime(["2024-01-01 10:00:00.123456789", "2024-01-02 00:00:00.000000001"])
    pd.DataFrame({"id": [1, 2], "when": when, "empty": [None, None]}).to_parquet(folder / "a.parquet")
    bench.read(bench.files())


def _colon(bench: Bench) -> None:
    file = _one(_parquet(bench))
    file.rename(file.with_name("day 10:30.parquet"))
    bench.describe(bench.files())


def _mixed_folders(bench: Bench) -> None:
    for folder in ("day=1", "month=1"):
        bench.lake.spark.sql("SELECT 1 AS id").write.parquet(str(bench.folder / "src" / folder))
    read = bench.files().reads["src"].model_copy(update={"paths": ()})
    bench.describe(Source(query="SELECT * FROM src", reads={"src": read}, keys=("id",)))


def _mixed_depths(bench: Bench) -> None:
    for folder in ("day=1", "other/day=2"):
        bench.lake.spark.sql("SELECT 1 AS id").write.parquet(str(bench.folder / "src" / folder))
    read = bench.files().reads["src"].model_copy(update={"paths": (), "options": {}})
    bench.describe(Source(query="SELECT * FROM src", reads={"src": read}, keys=("id",)))


def _no_files(bench: Bench) -> None:
    (bench.folder / "src").mkdir()
    bench.describe(bench.files())


def _names_by_case(bench: Bench) -> None:
    folder = bench.folder / "src"
    folder.mkdir()
    pq.write_table(pa.table({"id": [1], "V": [1], "v": [2]}), folder / "a.parquet")
    bench.describe(bench.files())


def _damaged_log(bench: Bench) -> None:
    query, folder = _delta(bench)
    (folder / "_delta_log" / ("0" * 20 + ".json")).write_text('{"add": \n')
    for checksums in folder.glob("_delta_log/*.crc"):
        checksums.unlink()
    bench.describe(query)


def _path_in_log(bench: Bench) -> None:
    folder = str(bench.folder / "src")
    bench.lake.spark.sql("SELECT 1 AS id, 'x:y' AS p").write.partitionBy("p").parquet(folder)
    parts = Schema([Field("p", PrimitiveType("string"))])
    convert_to_deltalake(folder, partition_by=parts, partition_strategy="hive")
    bench.read(source("SELECT * FROM src", "id", pins={"src": bench.pin("src")}))


def _gap_in_log(bench: Bench) -> None:
    bench.table("src", _ROWS)
    for _ in range(3):
        bench.do(f"INSERT INTO delta.`{bench.folder / 'src'}` {_ROWS}")
    copy = bench.folder / "gap"
    shutil.copytree(bench.folder / "src", copy)
    (copy / "_delta_log" / ("0" * 19 + "1.json")).unlink()
    reads = {"src": delta_table(str(copy), {}, versionAsOf="2")}
    bench.describe(Source(query="SELECT id FROM src", reads=reads, keys=("id",)))


def _later_protocol(bench: Bench) -> None:
    query, folder = _delta(bench)
    copy = bench.folder / "later"
    shutil.copytree(folder, copy)
    log = copy / "_delta_log" / ("0" * 20 + ".json")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["x"], "writerFeatures": ["x"]}
    lines = [line for line in lines if "protocol" not in line] + [{"protocol": protocol}]
    log.write_text("\n".join(map(json.dumps, lines)))
    for checksums in copy.glob("_delta_log/*.crc"):
        checksums.unlink()
    reads = {"src": delta_table(str(copy), {}, versionAsOf="0")}
    bench.describe(query.model_copy(update={"reads": reads}))


def _no_feed(bench: Bench) -> None:
    bench.table("src", _ROWS)
    feed = delta_table(str(bench.folder / "src"), {}, readChangeFeed="true", startingVersion="0")
    bench.lake.keys(Source(query="SELECT id FROM src", reads={"src": feed}, keys=("id",)))


def _no_such_scheme(scheme: str) -> Provocation:
    def provoke(bench: Bench) -> None:
        reads = {"src": delta_table(f"{scheme}://bucket/table", {})}
        bench.describe(Source(query="SELECT id FROM src", reads=reads, keys=("id",)))

    return provoke


PROVOKED: dict[str, Provocation] = {
    "input.no_table": _no_table,
    "input.no_version": _no_version,
    "input.no_file": _no_file,
    "input.no_parquet": _no_parquet,
    "input.not_a_table": _not_a_table,
    "input.damaged": _damaged_file,
    "input.checksum": _wrong_checksum,
    "input.no_footer": _no_footer,
    "input.empty_file": _empty_file,
    "input.other_types": _other_types,
    "input.text_for_number": _text_for_number,
    "input.of_pandas": _of_pandas,
    "input.colon": _colon,
    "input.mixed_folders": _mixed_folders,
    "input.mixed_depths": _mixed_depths,
    "input.no_files": _no_files,
    "input.names_by_case": _names_by_case,
    "input.damaged_log": _damaged_log,
    "input.path_in_log": _path_in_log,
    "input.gap_in_log": _gap_in_log,
    "input.later_protocol": _later_protocol,
    "input.no_feed": _no_feed,
    "storage.s3a_without_jar": _no_such_scheme("s3a"),
    "storage.gs_without_jar": _no_such_scheme("gs"),
    "storage.no_such_host": _no_such_scheme("hdfs"),
}
