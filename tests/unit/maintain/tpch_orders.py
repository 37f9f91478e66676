"""A small TPC-H lake whose rows belong together, and what the refresh functions of the benchmark do to it.

RF1 brings orders with their lines, RF2 takes others away with theirs.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

from tests.unit.maintain.keyed import Inputs, Row
from tests.unit.maintain.tpch import TABLES

_CHOICES: dict[str, Sequence[Any]] = {"int": (0, 1, 2), "string": ("x", "y", "xy")}
_REGIONS, _NATIONS, _PEOPLE, _PARTS, _ORDERS = range(2), range(4), range(8), range(6), range(16)
_CAME, _GONE = range(16, 21), 4


def orders_come_and_go(seed: int) -> tuple[Inputs, Inputs]:
    """The lake before and after."""
    chance = random.Random(seed)
    lake: dict[str, list[Row]] = {
        "region": [_row(chance, "region", r_regionkey=k) for k in _REGIONS],
        "nation": [_row(chance, "nation", n_nationkey=k, n_regionkey=chance.choice(_REGIONS)) for k in _NATIONS],
        "supplier": [_row(chance, "supplier", s_suppkey=k, s_nationkey=chance.choice(_NATIONS)) for k in _PEOPLE],
        "customer": [_row(chance, "customer", c_custkey=k, c_nationkey=chance.choice(_NATIONS)) for k in _PEOPLE],
        "part": [_row(chance, "part", p_partkey=k) for k in _PARTS],
        "partsupp": [
            _row(chance, "partsupp", ps_partkey=part, ps_suppkey=supplier)
            for part in _PARTS
            for supplier in chance.sample(_PEOPLE, 3)
        ],
    }
    before, came = _orders(chance, _ORDERS, lake["partsupp"]), _orders(chance, _CAME, lake["partsupp"])
    gone = set(chance.sample(_ORDERS, _GONE))
    after = {name: [row for row in rows if row[0] not in gone] + came[name] for name, rows in before.items()}
    return lake | before, lake | after


def _orders(chance: random.Random, keys: Iterable[int], supplied: Sequence[Row]) -> dict[str, list[Row]]:
    """Orders and their lines; both have the key of the order first."""
    orders, lines = [], []
    for key in keys:
        orders.append(_row(chance, "orders", o_orderkey=key, o_custkey=chance.choice(_PEOPLE)))
        for number in range(chance.randint(1, 4)):
            part, supplier, *_ = chance.choice(supplied)
            line = {"l_orderkey": key, "l_linenumber": number, "l_partkey": part, "l_suppkey": supplier}
            lines.append(_row(chance, "lineitem", **line))
    return {"orders": orders, "lineitem": lines}


def _row(chance: random.Random, table: str, **keys: int) -> Row:
    columns = TABLES[table].items()
    return tuple(keys[name] if name in keys else chance.choice(_CHOICES[kind]) for name, kind in columns)
