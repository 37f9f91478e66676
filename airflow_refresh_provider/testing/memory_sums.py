"""Results that are added up, in memory: what a group has after some of its rows went and others came."""

from __future__ import annotations

from typing import Any

from airflow_refresh_provider.core.definition.columns import DOUBTFUL, OP
from airflow_refresh_provider.core.maintain.exact_sums import MOST_DOUBLE
from airflow_refresh_provider.core.maintain.plan import Sums
from airflow_refresh_provider.ports.tasks import WindowTask
from airflow_refresh_provider.testing.memory_rows import WAS, key_of, with_hashes
from airflow_refresh_provider.testing.memory_table import Rows

Group = dict[str, Any]
"""The columns of a group, in lower case; empty where there is none."""


def added_up_changes(went: Rows, came: Rows, found: Rows, sums: Sums, task: WindowTask) -> Rows:
    """The staged change set: a row for each group that has changed, or that is in doubt."""
    keys = task.source.keys
    sides = [{key_of(row, keys): row for row in rows} for rows in (found, went, came)]
    spelled = {c.name.lower(): c.name for c in task.target.columns}
    changes = []
    for key in dict.fromkeys((*sides[1], *sides[2])):
        now, old, new = ({n.lower(): v for n, v in side.get(key, {}).items()} for side in sides)
        op, row = added_up(now, old, new, sums)
        if op and (task.deletes or op != "D"):
            named = {spelled[name]: value for name, value in row.items()}
            op = DOUBTFUL if None in key else op
            changes.append({**with_hashes(named, task.target, keys), OP: op, WAS: sides[0].get(key)})
    return tuple(changes)


def added_up(now: Group, went: Group, came: Group, sums: Sums) -> tuple[str, Group]:
    """The operation, '' for none, and the row of a group."""
    new = {**went, **came, **{name: _total(name, now, went, came) for name in (sums.rows, *sums.counts)}}
    for name, by in sums.sums.items():
        has_value = new[by] > 0 if by else any(side.get(name) is not None for side in (now, went, came))
        new[name] = _total(name, now, went, came) if has_value else None
    new |= {name: _average(new[of], new[sums.counted(name)]) for name, of in sums.averages.items()}
    for names, furthest in ((sums.least, min), (sums.greatest, max)):
        new |= {name: furthest(_values(name, now, came), default=None) for name in names}
    if _doubtful(now, went, came, new, sums):
        return DOUBTFUL, new
    if not _is_there(new, sums):
        return ("D" if now else ""), new
    return ("I" if not now else "U" if new != now else ""), new


def _average(total: Any, counted: int) -> Any:
    return total / counted if counted else None


def _is_there(new: Group, sums: Sums) -> bool:
    return sums.whole or bool(new[sums.rows])


def _total(name: str, now: Group, went: Group, came: Group) -> Any:
    return (now.get(name) or 0) + (came.get(name) or 0) - (went.get(name) or 0)


def _values(name: str, *sides: Group) -> list[Any]:
    return [side[name] for side in sides if side.get(name) is not None]


def _doubtful(now: Group, went: Group, came: Group, new: Group, sums: Sums) -> bool:
    if (went and not now) or any(new[name] < 0 for name in (sums.rows, *sums.counts)):
        return True
    if not _is_there(new, sums):
        return False
    if any(isinstance(new[of], int) and abs(new[of]) >= MOST_DOUBLE for of in sums.averages.values()):
        return True
    if any(by is None and went.get(name) is not None for name, by in sums.sums.items()):
        return True
    return any(_lost(name, now, went, came, 1) for name in sums.least) or any(
        _lost(name, now, went, came, -1) for name in sums.greatest
    )


def _lost(name: str, now: Group, went: Group, came: Group, sign: int) -> bool:
    """Whether the end of a group may have gone, and nothing came that is as far out; `sign` is -1 for the greatest."""
    gone, there, new = went.get(name), now.get(name), came.get(name)
    if gone is None:
        return False
    passed = there is None or _passes(gone, there, sign)
    return passed and not (new is not None and _passes(new, gone, sign))


def _passes(one: Any, other: Any, sign: int) -> bool:
    return bool(one <= other) if sign > 0 else bool(one >= other)
