"""One input that changes step by step, and the definition of a target that keeps up with it.

The sizes are chosen so that every change takes several chunks: about 650 of 2,000 rows change in a step, chunks have
about 115. The input is written by delta-rs only, the target by Spark only.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from deltalake import DeltaTable, write_deltalake

from airflow_refresh_provider.core.definition import Definition

NAME = "items"
ROWS = 2_400
CHUNK_ROWS = 115
_MOVED = 80  # keys that leave, and keys that come, in each step
_COLUMNS = "id, grp, name, amount"


@dataclass(frozen=True)
class Kind:
    """A way to lay the target out; `given` are fields of its definition."""

    name: str
    given: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        return self.name


PLAIN = Kind("plain", (("vnodes", 4),))
COPIED = Kind("copied", (("vnodes", 4), ("deletion_vectors", False)))
VNODE = Kind("vnode", (("vnodes", 2), ("layout", "vnode")))


def in_turn(*found: Any) -> list[tuple[Kind, Any]]:
    """Each of them with one kind, plain and vnode taking turns."""
    return list(zip(cycle((PLAIN, VNODE)), found, strict=False))


class Lake:
    """The input, and what the target is to hold."""

    def __init__(self, folder: Path, kind: Kind) -> None:
        self.input = str(folder / "silver" / "items")
        self.target = str(folder / "gold" / "items")
        self.kind = kind
        self.step = 0

    def definition(self, **changes: Any) -> Definition:
        """The definition of the target."""
        given: dict[str, Any] = {
            "name": NAME,
            "target": self.target,
            "query": f"SELECT {_COLUMNS} FROM items WHERE grp <> 3",
            "inputs": {"items": {"path": self.input}},
            "keys": ["id"],
            "visibility": "live",
            "chunking": {"one_commit_up_to": CHUNK_ROWS, "chunk_rows": CHUNK_ROWS},
        }
        return Definition.build(**(given | dict(self.kind.given) | changes))

    def change(self, files: int = 1) -> None:
        """The next state of the input: other values, keys that leave, keys that come; one commit for each file."""
        self.step += 1
        rows = _rows(self.step)
        share = -(-len(rows) // files)
        for i in range(files):
            part = rows.slice(i * share, share)
            write_deltalake(self.input, part, mode="append" if i else "overwrite")

    def version(self) -> int:
        """The input's newest version."""
        return DeltaTable(self.input).version()

    def wanted(self, version: int) -> str:
        """What the target is to hold at a version of the input, as SQL of its own."""
        return f"SELECT {_COLUMNS} FROM delta.`{self.input}` VERSION AS OF {version} WHERE NOT grp = 3"

    def found(self, version: int | None = None) -> str:
        """What the target holds, now or at a version, as SQL."""
        at = "" if version is None else f" VERSION AS OF {version}"
        return f"SELECT {_COLUMNS} FROM delta.`{self.target}`{at}"


def _rows(step: int) -> pa.Table:
    ids = range(step * _MOVED, step * _MOVED + ROWS)
    touched = [step - (step - i) % 4 for i in ids]  # each step changes every fourth row
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "grp": pa.array([i % 7 for i in ids], pa.int32()),
            "name": pa.array([None if i % 5 == 0 else f"item {i} of {t}" for i, t in zip(ids, touched, strict=True)]),
            "amount": pa.array([i * 1000 + t for i, t in zip(ids, touched, strict=True)], pa.int64()),
        }
    )
