"""A small lake on disk: orders as a Delta table and customers as a parquet file."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from deltalake import write_deltalake

CUSTOMERS = 10


def write_open_orders(root: Path, orders: int = 1000) -> None:
    """Inputs of the definition that README shows; every second order is open."""
    numbers = list(range(orders))
    table = pa.table(
        {
            "o_orderkey": pa.array(numbers, pa.int64()),
            "o_custkey": pa.array([n % CUSTOMERS for n in numbers], pa.int64()),
            "o_totalprice": pa.array([float(n) for n in numbers]),
            "o_orderdate": pa.array(numbers, pa.int32()).cast(pa.date32()),
            "o_orderstatus": pa.array(["F" if n % 2 else "O" for n in numbers]),
        }
    )
    write_deltalake(str(root / "silver" / "orders"), table)
    landing = root / "landing"
    landing.mkdir(parents=True)
    customers = {"c_custkey": list(range(CUSTOMERS)), "c_name": [f"customer {n}" for n in range(CUSTOMERS)]}
    pq.write_table(pa.table(customers), landing / "customer.parquet")
