"""One input that changes step by step, and the definition of a target that keeps up with it.

The sizes are chosen so that every change takes several chunks, unless the kind wants one commit: about 650 of 2,000
rows change in a step, chunks have 100 to 210. After four steps every row has changed. The input is written by delta-rs
only, the target by Spark only, but for seals and a small one.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from deltalake import DeltaTable, write_deltalake

from airflow_refresh_provider.core.definition.choices import Chunking
from airflow_refresh_provider.core.definition.definition import Definition

NAME = "items"
CHUNK_ROWS = 150
_COLUMNS = "id, grp, name, amount"


@dataclass(frozen=True)
class Kind:
    """A way to lay the target out, and the size of the input; `given` are fields of the definition.

    `moved` keys leave, and as many come, in each step. `wide` rows make a target that is too large for the client
    to rewrite it.
    """

    name: str
    given: tuple[tuple[str, Any], ...]
    rows: int = 2_400
    moved: int = 80
    wide: bool = False

    def __str__(self) -> str:
        return self.name


PLAIN = Kind("plain", (("vnodes", 3),))
COPIED = Kind("copied", (("vnodes", 3), ("deletion_vectors", False)))
CLUSTERED = Kind("clustered", (*PLAIN.given, ("cluster_by", ("grp",))))
"""A target to which delta-rs does not commit."""
VNODE = Kind("vnode", (("vnodes", 2), ("layout", "vnode")))

_IN_ONE = (("visibility", "whole"), ("chunking", Chunking()))
_GROUPED = "SELECT id, max(grp) AS grp, max(name) AS name, max(amount) AS amount FROM items WHERE grp <> 3 GROUP BY id"
WHOLE = Kind("whole", (("vnodes", 4), *_IN_ONE), wide=True)
"""A definition that leaves everything to its defaults: a change is one commit."""
SMALL = Kind("small", WHOLE.given)
"""As `WHOLE`, but the client rewrites the target."""
WHOLE_VNODES = Kind("whole vnodes", (*VNODE.given, *_IN_ONE))
UPSERTED = Kind("upserted", WHOLE.given, moved=0, wide=True)
REWRITTEN = Kind("rewritten", WHOLE.given, rows=12_500)
KEYED = Kind("keyed", (*PLAIN.given, ("query", _GROUPED), ("mode", "incremental"), ("verify_share", 0.05)))
"""An aggregate that follows its input by touched values; those of the rest are sampled."""
REPLACED = Kind("replaced", (*WHOLE.given, ("query", _GROUPED)), rows=12_500, wide=True)


def in_turn(*found: Any, first: Kind | None = None) -> list[tuple[Kind, Any]]:
    """Each of them with one kind, plain and vnode taking turns."""
    kinds = (VNODE, PLAIN) if first is VNODE else (PLAIN, VNODE)
    return list(zip(cycle(kinds), found, strict=False))


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
        rows = _rows(self.kind, self.step)
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


def _rows(kind: Kind, step: int) -> pa.Table:
    ids = range(step * kind.moved, step * kind.moved + kind.rows)
    touched = [step - (step - i) % 4 for i in ids]  # each step changes every fourth row
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "grp": pa.array([i % 7 for i in ids], pa.int32()),
            "name": pa.array([_text(kind, i, t) for i, t in zip(ids, touched, strict=True)]),
            "amount": pa.array([i * 1000 + t for i, t in zip(ids, touched, strict=True)], pa.int64()),
        }
    )


def _text(kind: Kind, id: int, touched: int) -> str | None:
    if id % 5 == 0:
        return None
    text = f"item {id} of {touched}"
    return f"{text} {hashlib.shake_128(text.encode()).hexdigest(100)}" if kind.wide else text
