"""The inputs of the example DAGs: TPC-H orders as a Delta table, the small tables as parquet files. Needs no Spark."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]
from deltalake import DeltaTable, write_deltalake

_SMALL = ("customer", "nation", "region", "supplier")
_ORDERS_FILES = 4


@dataclass(frozen=True)
class Lake:
    """The folder that the definitions in `dags/` read from and write to."""

    root: Path

    @property
    def orders(self) -> Path:
        """The Delta input."""
        return self.root / "silver" / "orders"

    @property
    def landing(self) -> Path:
        """The parquet inputs."""
        return self.root / "landing"

    @property
    def open_orders(self) -> Path:
        """The table that the phased DAG keeps fresh."""
        return self.root / "gold" / "open_orders"

    @property
    def control(self) -> Path:
        """The control tables."""
        return self.root / "control"

    @property
    def airflow(self) -> Path:
        """AIRFLOW_HOME."""
        return self.root / "airflow"


def make(lake: Lake, scale: float) -> None:
    """Write the inputs, unless they exist. An interrupted call is repeated from the start."""
    if lake.landing.exists():
        return
    made = lake.root / "tpch"
    shutil.rmtree(made, ignore_errors=True)
    shutil.rmtree(lake.orders, ignore_errors=True)
    program = Path(sys.executable).with_name("tpchgen-cli")
    tables = ["--tables", ",".join(("orders", *_SMALL)), "--output-dir", str(made)]
    subprocess.run([program, "parquet", "--scale-factor", f"{scale:g}", *tables], check=True, capture_output=True)
    _write_orders(lake, made / "orders.parquet")
    (made / "orders.parquet").unlink()
    made.rename(lake.landing)


def change_orders(lake: Lake, one_in: int) -> None:
    """Update the price of one order in `one_in`, and the status of a fifth of these."""
    DeltaTable(lake.orders).update(
        predicate=f"o_orderkey % {one_in} = 1",
        updates={
            "o_totalprice": "o_totalprice + 1",
            "o_orderstatus": f"CASE WHEN o_orderkey % {5 * one_in} <> 1 THEN o_orderstatus "
            "WHEN o_orderstatus = 'O' THEN 'F' ELSE 'O' END",
        },
    )


def _write_orders(lake: Lake, parquet: Path) -> None:
    """Several files, as in a table that grew: a first load can read them one by one."""
    orders = pq.read_table(parquet)
    share = -(-orders.num_rows // _ORDERS_FILES)
    for begin in range(0, orders.num_rows, share):
        feed = None if begin else {"delta.enableChangeDataFeed": "true"}
        write_deltalake(lake.orders, orders.slice(begin, share), mode="append", configuration=feed)
