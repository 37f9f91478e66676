"""The data of a benchmark: TPC-H lineitem as a Delta input that is changed between rounds."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

TABLES = ("lineitem", "orders", "customer")
KEYS = ("l_orderkey", "l_linenumber")
QUERY = "SELECT * FROM lineitem"
FILES = 16
_SCATTER = 1000
"""Changed rows are chosen by a hash of their keys, in thousandths."""


@dataclass(frozen=True)
class Lake:
    """Folders of one benchmark run."""

    root: Path

    @property
    def lineitem(self) -> str:
        """The Delta input."""
        return str(self.root / "lineitem")

    def table(self, name: str) -> str:
        """A target of one contender."""
        return str(self.root / name)


def generate(cache: Path, scale: float) -> Path:
    """TPC-H tables as parquet files, made once for each scale; returns the folder of lineitem."""
    folder = cache / f"tpch-{scale:g}-{len(TABLES)}"
    if not folder.exists():
        making = folder.with_suffix(".making")
        subprocess.run(
            [
                str(Path(sys.executable).parent / "tpchgen-cli"),
                "parquet",
                f"--scale-factor={scale:g}",
                f"--tables={','.join(TABLES)}",
                f"--parts={FILES}",
                f"--output-dir={making}",
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        making.rename(folder)
    return folder / "lineitem"


def create(spark: SparkSession, lake: Lake, parquet: Path) -> None:
    """The Delta input, in files as large as Spark makes them."""
    spark.read.parquet(str(parquet)).write.format("delta").mode("overwrite").save(lake.lineitem)


def change(spark: SparkSession, lake: Lake, share: float, seed: int) -> None:
    """Change a share of the rows, scattered over all keys; 0 moves the version and changes nothing."""
    if share == 0:
        where, comment = "l_orderkey = 1", "l_comment"
    else:
        where = f"pmod(xxhash64(l_orderkey, l_linenumber, {seed}), {_SCATTER}) < {round(share * _SCATTER)}"
        comment = f"concat('{seed} ', substring(l_comment, 3))"
    spark.sql(
        f"UPDATE delta.`{lake.lineitem}` SET l_comment = {comment}, l_quantity = l_quantity WHERE {where}"
    ).collect()


def rows(spark: SparkSession, location: str) -> int:
    """Rows of a table."""
    return spark.read.format("delta").load(location).count()
