"""The inputs of the keyed benchmark: orders, their lines and customers with change data feeds, and lines by day."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from deltalake import DeltaTable

from benchmarks.keyed_views import FEEDS, SALES
from benchmarks.scenarios import Bench

SHARE = 0.001
"""Of the orders, with their lines: beside the contenders."""
SCATTERED, NEWEST = "scattered", "newest"
VECTORS = "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
"""As our targets have them: a MERGE is faster with them."""
_FED = "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'true')"
_DAY = "DATE '1999-01-01'"
"""After every day of TPC-H."""


@dataclass(frozen=True)
class Change:
    """A share of the orders with their lines, scattered over all keys or those with the newest."""

    share: float
    where: str

    def condition(self, key: str, seed: int, newest: int) -> str:
        """What the changed rows have in common; `newest` is the largest key."""
        if self.where == NEWEST:
            return f"{key} > {round(newest * (1 - self.share))}"
        return f"pmod(xxhash64({key}, {seed}), {round(1 / self.share)}) = 0"


USUAL = Change(SHARE, SCATTERED)
"""What all contenders take up."""


def create_inputs(bench: Bench, root: Path) -> int:
    """Make the inputs; returns the largest key of an order."""
    for name in FEEDS:
        files = f"parquet.`{bench.parquet.parent / name}`"
        bench.spark.sql(f"CREATE TABLE {at(root, name)} USING delta {_FED} AS SELECT * FROM {files}").collect()
    create_sales(bench, root)
    return int(bench.spark.sql(f"SELECT max(o_orderkey) FROM {at(root, 'orders')}").collect()[0][0])


def create_sales(bench: Bench, root: Path, where: str = "true") -> None:
    """Make the lines by day."""
    lines = f"SELECT * FROM parquet.`{bench.parquet}` WHERE {where} DISTRIBUTE BY l_shipdate"
    bench.spark.sql(f"CREATE TABLE {at(root, SALES)} USING delta PARTITIONED BY (l_shipdate) AS {lines}").collect()


def change_orders(bench: Bench, root: Path, change: Change, seed: int, newest: int) -> None:
    """Change the orders and their lines."""
    for name, key, column in (("orders", "o_orderkey", "o_totalprice"), ("lineitem", "l_orderkey", "l_extendedprice")):
        where = change.condition(key, seed, newest)
        bench.spark.sql(f"UPDATE {at(root, name)} SET {column} = {column} + 1 WHERE {where}").collect()


def add_day(bench: Bench, root: Path, change: Change, seed: int, newest: int) -> None:
    """As many lines as are changed, on a day that has none yet."""
    columns = f"* EXCEPT (l_shipdate), date_add({_DAY}, {seed}) AS l_shipdate"
    rows = f"SELECT {columns} FROM {at(root, 'lineitem')} WHERE {change.condition('l_orderkey', seed, newest)}"
    bench.spark.sql(f"INSERT INTO {at(root, SALES)} BY NAME {rows}").collect()


def with_last_changes(root: Path, inputs: tuple[str, ...]) -> dict[str, str]:
    """The tables for statements by name, and as `changed_x` what the last commit to x has changed."""
    last = {name: DeltaTable(root / name).version() for name in inputs if name in FEEDS}
    changed = {f"changed_{name}": f"table_changes_by_path('{root / name}', {v})" for name, v in last.items()}
    return {name: at(root, name) for name in inputs} | changed


def at(root: Path, name: str) -> str:
    """A table, for a statement."""
    return f"delta.`{root / name}`"
