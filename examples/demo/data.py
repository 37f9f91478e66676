"""The inputs: TPC-H orders as a Delta table, customers as one parquet file, and a change of one percent of both."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

DEFINITION = """\
name: open_orders
target: gold/open_orders
query: |
  SELECT o.o_orderkey, o.o_custkey, c.c_name, o.o_totalprice, o.o_orderdate
  FROM orders o JOIN customer c ON o.o_custkey = c.c_custkey
  WHERE o.o_orderstatus = 'O'
inputs:
  orders:   {path: silver/orders}
  customer: {path: landing/customer.parquet, format: parquet}
keys: [o_orderkey]
"""

SMALL_CHUNKS = """\
visibility: live
chunking: {chunk_rows: %d}
"""

RESULT = """
SELECT o.o_orderkey, o.o_custkey, c.c_name, o.o_totalprice, o.o_orderdate
FROM %s o JOIN %s c ON o.o_custkey = c.c_custkey
WHERE o.o_orderstatus = 'O'
"""


@dataclass(frozen=True)
class Lake:
    """The folder of the demo, and where things are in it."""

    root: Path

    @property
    def target(self) -> Path:
        """The table that is kept fresh."""
        return self.root / "gold" / "open_orders"

    @property
    def orders(self) -> Path:
        """The Delta input."""
        return self.root / "silver" / "orders"

    @property
    def customer(self) -> Path:
        """The parquet input."""
        return self.root / "landing" / "customer.parquet"

    @property
    def old_customer(self) -> Path:
        """The parquet input as it was before the change."""
        return self.root / "before" / "customer.parquet"

    @property
    def definition(self) -> Path:
        """The definition's file."""
        return self.root / "open_orders.yaml"

    def result_now(self) -> str:
        """The query over the inputs as they are."""
        return RESULT % (f"delta.`{self.orders}`", f"parquet.`{self.customer}`")

    def result_before(self) -> str:
        """The query over the inputs as they were at first."""
        return RESULT % (f"delta.`{self.orders}` VERSION AS OF 0", f"parquet.`{self.old_customer}`")


@contextmanager
def spark_at(url: str) -> Iterator[SparkSession]:
    """A session of the demo's own on the embedded server."""
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(url).create()
    try:
        yield session
    finally:
        session.stop()


def generate(lake: Lake, scale: str) -> None:
    """Write orders and customers of TPC-H as parquet."""
    program = Path(sys.executable).with_name("tpchgen-cli")
    tables = ["--tables", "orders,customer", "--output-dir", str(lake.root / "tpch")]
    subprocess.run([program, "parquet", "--scale-factor", scale, *tables], check=True, capture_output=True)
    lake.customer.parent.mkdir()
    shutil.copy(lake.root / "tpch" / "customer.parquet", lake.customer)


def make_orders(lake: Lake, spark: SparkSession) -> None:
    """Version 0 of the Delta input."""
    spark.read.parquet(str(lake.root / "tpch" / "orders.parquet")).write.format("delta").save(str(lake.orders))


def change_one_percent(lake: Lake, spark: SparkSession) -> None:
    """One order in a hundred gets another price or another status, one customer in a hundred another name."""
    spark.sql(f"""
        UPDATE delta.`{lake.orders}` SET
          o_totalprice = o_totalprice + 1,
          o_orderstatus = CASE WHEN pmod(xxhash64(o_orderkey), 500) = 0
                          THEN CASE o_orderstatus WHEN 'O' THEN 'F' ELSE 'O' END ELSE o_orderstatus END
        WHERE pmod(xxhash64(o_orderkey), 100) = 0
    """).collect()
    lake.old_customer.parent.mkdir()
    lake.customer.rename(lake.old_customer)
    new_name = "CASE WHEN pmod(xxhash64(c_custkey), 100) = 0 THEN concat(c_name, ' (renamed)') ELSE c_name END"
    columns = spark.read.parquet(str(lake.old_customer)).columns
    renamed = spark.read.parquet(str(lake.old_customer)).selectExpr(
        *(f"{new_name} AS c_name" if column == "c_name" else column for column in columns)
    )
    written = lake.root / "before" / "renamed"
    renamed.coalesce(1).write.parquet(str(written))
    next(written.glob("*.parquet")).rename(lake.customer)
