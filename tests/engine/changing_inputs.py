"""Inputs that change at random: Delta tables with a change data feed, without one, by partitions; folders of files."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path

from pyspark.sql import SparkSession

from tests.unit.maintain.catalogue import INPUTS
from tests.unit.maintain.keyed import STRUCT

_NUMBERS = ("NULL", "0", "1", "2", "3")
_WORDS = ("NULL", "'x'", "'y'", "'z'")
_STRUCTS = (
    "NULL",
    *(f"named_struct('x', CAST({n} AS INT), 'y', CAST({w} AS STRING))" for n in _NUMBERS for w in _WORDS),
)
_VALUES = {"int": _NUMBERS, "string": _WORDS, STRUCT: _STRUCTS}

FILE_LESS = "a file less"
"""The change after which new files are not all: everything is compared."""


class Kind(StrEnum):
    """What the changes of an input are read from."""

    FEED = "feed"
    FILES = "files"
    PARTITIONS = "partitions"
    PARQUET = "parquet"


class ChangingInput:
    """An input of the catalogue of views, with a few rows at first."""

    def __init__(self, spark: SparkSession, path: Path, name: str, kind: Kind, partitioned_by: tuple[str, ...]) -> None:
        self.spark, self.path, self.name, self.kind = spark, path, name, kind
        self.columns, self.partitioned_by = INPUTS[name], partitioned_by
        self.settings = {"path": str(path)} | ({"format": "parquet"} if kind is Kind.PARQUET else {})
        self._table = f"{'parquet' if kind is Kind.PARQUET else 'delta'}.`{path}`"

    def create(self, chance: random.Random) -> None:
        """With up to eight rows; a view of its name is the input as it is."""
        if self.kind is Kind.PARQUET:
            self._land(self._rows(chance, 8))
        else:
            self._create_table(self._rows(chance, 8))
        self._do(f"CREATE OR REPLACE TEMP VIEW {self.name} AS SELECT * FROM {self._table}")

    def _create_table(self, rows: str) -> None:
        options = "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')" if self.kind is Kind.FEED else ""
        parts = f"PARTITIONED BY ({', '.join(self.partitioned_by)})" if self.partitioned_by else ""
        self._do(f"CREATE TABLE {self._table} USING delta {parts} {options} AS {rows}")

    def change(self, chance: random.Random) -> str:
        """One change at random; returns its statement."""
        if self.kind is Kind.PARQUET:
            return self._change_files(chance)
        statements = chance.choice(list(self._changes(chance)))
        for statement in statements:
            self._do(statement)
        return "; ".join(statements)

    def _change_files(self, chance: random.Random) -> str:
        files = sorted(self.path.glob("*.parquet"))
        if len(files) > 1 and chance.random() < 0.2:
            chance.choice(files).unlink()
            return FILE_LESS
        rows = self._rows(chance, 3)
        self._land(rows)
        return f"a file more: {rows}"

    def rows(self) -> list[str]:
        """The rows of now, as text."""
        return sorted(str(tuple(row)) for row in self.spark.sql(f"SELECT * FROM {self.name}").collect())

    def _changes(self, chance: random.Random) -> Iterator[tuple[str, ...]]:
        """Rows that come, move, get another value, go, all of them too; files that are rewritten; an older version."""
        insert = f"INSERT INTO {self._table} {self._rows(chance, 4)}"
        yield from ((insert,), (insert,), (self._update(chance),), (self._update(chance),), (self._update(chance),))
        delete = f"DELETE FROM {self._table}"
        yield from ((f"{delete} WHERE {self._condition(chance)}",), (f"{delete} WHERE {self._condition(chance)}",))
        yield (delete,)
        yield (f"INSERT OVERWRITE {self._table} {self._rows(chance, 5)}",)
        yield (insert, f"OPTIMIZE {self._table}")
        newest = self.spark.sql(f"DESCRIBE HISTORY {self._table}").agg({"version": "max"}).collect()[0][0]
        yield (f"RESTORE TABLE {self._table} TO VERSION AS OF {chance.randint(0, newest)}",)

    def _update(self, chance: random.Random) -> str:
        column = chance.choice(list(self.columns))
        value = chance.choice(_VALUES[self.columns[column]])
        return f"UPDATE {self._table} SET {column} = {value} WHERE {self._condition(chance)}"

    def _condition(self, chance: random.Random) -> str:
        """True of some rows, mostly."""
        columns = [name for name, kind in self.columns.items() if kind == "int"]
        return " OR ".join(f"{chance.choice(columns)} <=> {chance.choice(_NUMBERS)}" for _ in range(2))

    def _rows(self, chance: random.Random, most: int) -> str:
        """A query for one up to so many rows."""
        rows = [
            [chance.choice(_VALUES[kind]) for kind in self.columns.values()] for _ in range(chance.randint(1, most))
        ]
        return " UNION ALL ".join(f"SELECT {', '.join(self._typed(row))}" for row in rows)

    def _typed(self, row: list[str]) -> list[str]:
        return [f"CAST({v} AS {kind}) AS {c}" for v, (c, kind) in zip(row, self.columns.items(), strict=True)]

    def _land(self, rows: str) -> None:
        self.spark.sql(rows).coalesce(1).write.mode("append").parquet(str(self.path))

    def _do(self, statement: str) -> None:
        self.spark.sql(statement).collect()


PARTITIONED_BY: Mapping[str, tuple[str, ...]] = {"a": ("g",), "b": ("k",), "c": ("g",), "d": ("k",)}
"""For inputs by partitions."""
