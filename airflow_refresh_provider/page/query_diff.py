"""The lines of a query that have changed."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import unified_diff

from airflow_refresh_provider.core.run.query_change import QueryChange

_AROUND = 2
_KINDS = {"+": "added", "-": "removed", "@": "left_out"}
_HEADER = 2


@dataclass(frozen=True)
class DiffLine:
    """A line with its sign; `kind` is `added`, `removed`, `same`, or `left_out` where lines without a change are."""

    kind: str
    text: str


def diff(change: QueryChange) -> list[DiffLine]:
    """The changed lines of a query, with some before and after them."""
    before, after = change.before.splitlines(), change.after.splitlines()
    lines = list(unified_diff(before, after, lineterm="", n=_AROUND))[_HEADER:]
    return [DiffLine(_KINDS.get(line[0], "same"), "…" if line[0] == "@" else line) for line in lines]
