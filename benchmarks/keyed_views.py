"""The queries of the keyed benchmark, over tables that change together."""

from __future__ import annotations

import re
from dataclasses import dataclass

FEEDS = ("lineitem", "orders", "customer")
"""The inputs that keep a change data feed."""
SALES = "sales"
"""Lines, partitioned by day, without a feed."""
_AFTER_WHERE = re.compile(r" (?=GROUP BY|QUALIFY)|$")


@dataclass(frozen=True)
class View:
    """A query and its keys; `title` is for people.

    `changed` restricts it to the last changes, as people write incremental models; `changed_x` are those of x.
    """

    title: str
    query: str
    keys: tuple[str, ...]
    changed: str | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        """The tables that it reads."""
        return tuple(name for name in (*FEEDS, SALES) if _reading(name).search(self.query))

    def over(self, tables: dict[str, str]) -> str:
        """The query over other names of its tables."""
        return _over(self.query, tables)

    def changed_over(self, tables: dict[str, str]) -> str | None:
        """The query of the last changes, over other names of its tables."""
        if self.changed is None:
            return None
        restricted = _AFTER_WHERE.sub(f" WHERE {self.changed} ", self.query, count=1)
        return _over(restricted, tables)


def _over(query: str, tables: dict[str, str]) -> str:
    for name, other in tables.items():
        query = _reading(name).sub(other, query)
    return query


def _reading(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<=\bFROM ){name}\b|(?<=\bJOIN ){name}\b")


VIEWS = {
    "aggregate": View(
        "lines of each order, GROUP BY the order",
        "SELECT l_orderkey, count(*) AS lines, sum(l_extendedprice * (1 - l_discount)) AS revenue, "
        "max(l_shipdate) AS shipped FROM lineitem GROUP BY l_orderkey",
        ("l_orderkey",),
        changed="l_orderkey IN (SELECT l_orderkey FROM changed_lineitem)",
    ),
    "sums": View(
        "lines by ship mode, 7 groups, added up from the changed rows",
        "SELECT l_shipmode, count(*) AS lines, count(l_extendedprice) AS priced, sum(l_extendedprice) AS revenue "
        "FROM lineitem GROUP BY l_shipmode",
        ("l_shipmode",),
    ),
    "join": View(
        "lines with their order and customer",
        "SELECT l.l_orderkey, l.l_linenumber, l.l_quantity, l.l_extendedprice, o.o_orderdate, o.o_orderpriority, "
        "c.c_custkey, c.c_name, c.c_mktsegment FROM lineitem l JOIN orders o ON l.l_orderkey = o.o_orderkey "
        "JOIN customer c ON o.o_custkey = c.c_custkey",
        ("l_orderkey", "l_linenumber"),
        changed="l.l_orderkey IN (SELECT l_orderkey FROM changed_lineitem UNION SELECT o_orderkey FROM changed_orders)",
    ),
    "latest": View(
        "newest order of each customer, QUALIFY row_number() = 1",
        "SELECT o_custkey, o_orderkey, o_orderdate, o_totalprice FROM orders QUALIFY row_number() OVER "
        "(PARTITION BY o_custkey ORDER BY o_orderdate DESC, o_orderkey DESC) = 1",
        ("o_custkey",),
        changed="o_custkey IN (SELECT o_custkey FROM changed_orders)",
    ),
    "months": View(
        "sales by month, over a table partitioned by day without a feed, a new day",
        "SELECT trunc(l_shipdate, 'MM') AS month, count(DISTINCT l_orderkey) AS orders, "
        "sum(l_extendedprice * (1 - l_discount)) AS revenue FROM sales GROUP BY trunc(l_shipdate, 'MM')",
        ("month",),
    ),
    "q3": View(
        "TPC-H 3, without its limit",
        "SELECT l.l_orderkey, o.o_orderdate, o.o_shippriority, sum(l.l_extendedprice * (1 - l.l_discount)) AS revenue "
        "FROM customer c JOIN orders o ON c.c_custkey = o.o_custkey JOIN lineitem l ON l.l_orderkey = o.o_orderkey "
        "WHERE c.c_mktsegment = 'BUILDING' AND o.o_orderdate < DATE '1995-03-15' AND l.l_shipdate > DATE '1995-03-15' "
        "GROUP BY l.l_orderkey, o.o_orderdate, o.o_shippriority",
        ("l_orderkey",),
    ),
    "q18": View(
        "TPC-H 18, without its limit",
        "SELECT c.c_name, c.c_custkey, o.o_orderkey, o.o_orderdate, o.o_totalprice, sum(l.l_quantity) AS quantity "
        "FROM customer c JOIN orders o ON c.c_custkey = o.o_custkey JOIN lineitem l ON o.o_orderkey = l.l_orderkey "
        "WHERE o.o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 300) "
        "GROUP BY c.c_name, c.c_custkey, o.o_orderkey, o.o_orderdate, o.o_totalprice",
        ("o_orderkey",),
    ),
}

SIMPLE = ("aggregate", "sums", "join", "latest")
REPORTS = ("months", "q3", "q18")
