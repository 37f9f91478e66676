"""Views of the catalogue whose rows have keys, as definitions need them, and those of others made so."""

from __future__ import annotations

from tests.unit.maintain.keyed import whole
from tests.unit.maintain.test_catalogue import inputs_of

KEYED: dict[str, tuple[str, ...]] = {
    "SELECT k, count(*) n, sum(v) s FROM a GROUP BY k": ("k",),
    "SELECT g + 1 AS x, max(v) m FROM a GROUP BY g + 1": ("x",),
    "SELECT k % 2 AS x, count(DISTINCT v) m FROM a WHERE v > 0 GROUP BY k % 2": ("x",),
    "SELECT g, h, min(v) m FROM a GROUP BY g, h HAVING count(*) > 1": ("g", "h"),
    "SELECT a.h, count(*) n FROM a JOIN b ON a.k = b.k JOIN c ON b.g = c.g GROUP BY a.h": ("h",),
    "SELECT c.u, sum(a.v) s FROM a JOIN b ON a.k = b.k JOIN c ON b.g = c.g GROUP BY c.u": ("u",),
    "SELECT a.k, count(b.w) n FROM a LEFT JOIN b ON a.k = b.k GROUP BY a.k": ("k",),
    "SELECT b.k, count(a.v) n FROM a RIGHT JOIN b ON a.k = b.k GROUP BY b.k": ("k",),
    "SELECT coalesce(a.k, b.k) x, count(*) n FROM a FULL JOIN b ON a.k = b.k GROUP BY coalesce(a.k, b.k)": ("x",),
    "SELECT x, count(*) n FROM (SELECT k x FROM a UNION ALL SELECT g FROM b) t GROUP BY x": ("x",),
    "SELECT x.k, count(*) n FROM a x JOIN a y ON x.g = y.h GROUP BY x.k": ("k",),
    "SELECT s, count(*) n FROM a GROUP BY s": ("s",),
    "SELECT CASE WHEN g > 1 THEN 'hi' ELSE s END c, count(*) n FROM a GROUP BY CASE WHEN g > 1 THEN 'hi' ELSE s END": (
        "c",
    ),
    "SELECT a.g, a.h, count(*) n FROM a JOIN b ON a.g = b.g AND a.h = b.h GROUP BY a.g, a.h": ("g", "h"),
    "SELECT x, sum(n) t FROM (SELECT k x, count(*) n FROM a GROUP BY k UNION ALL SELECT k, count(*) FROM b "
    "GROUP BY k) y GROUP BY x": ("x",),
    "SELECT k, count(*) n, min(v) l, max(v) m, avg(v) a FROM a GROUP BY ALL": ("k",),
    "SELECT p.x, count(*) n FROM d GROUP BY p.x": ("x",),
    "SELECT d.p.y AS y, d.p.x AS x, sum(v) s FROM d GROUP BY d.p.y, d.p.x": ("y", "x"),
    "SELECT b.k, max(d.v) m FROM b LEFT JOIN d ON d.p.x = b.k AND d.p.y = b.s GROUP BY b.k": ("k",),
    "SELECT c.u, count(b.k) n FROM c LEFT JOIN (a JOIN b ON a.k <=> b.k) ON a.g = c.g GROUP BY c.u": ("u",),
    "SELECT a.k, max(c.u) m FROM a LEFT JOIN (b JOIN c ON b.g = c.g) ON a.k = b.k GROUP BY a.k": ("k",),
    "WITH x AS (SELECT k, v FROM a), y AS (SELECT k, max(v) m FROM x GROUP BY k) SELECT y.k, y.m, "
    "count(b.w) n FROM y LEFT JOIN b ON y.k = b.k GROUP BY y.k, y.m": ("k",),
    "WITH x AS (SELECT k, sum(v) t FROM a GROUP BY k) SELECT k, t FROM x WHERE t > (SELECT avg(w) FROM b "
    "WHERE b.k = x.k)": ("k",),
    "SELECT * FROM (SELECT k, v, g, row_number() OVER (PARTITION BY k ORDER BY v, g, h, s) r FROM a) t WHERE r = 1": (
        "k",
    ),
    "SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v, g, h, s) r FROM a": ("k", "r"),
    "SELECT k, max(w) m FROM a NATURAL LEFT JOIN (SELECT k, w FROM b) b GROUP BY k": ("k",),
}
"""View -> columns that no two of its rows have in common, unless one of them is NULL."""

COUNTED = (
    "SELECT a.k, b.w FROM a LEFT JOIN b ON a.k = b.k WHERE b.w IS NULL",
    "SELECT a.k, b.w, c.u FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON b.g = c.g",
    "SELECT coalesce(a.k, b.k) x, c.u FROM a FULL JOIN b ON a.k = b.k LEFT JOIN c ON c.k = coalesce(a.k, b.k)",
    "SELECT k, v FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.w > a.v)",
    "SELECT k, v FROM a EXCEPT SELECT k, w FROM b",
    "SELECT k, v FROM a UNION SELECT g, w FROM b",
    "SELECT a.k, a.v FROM a LEFT ANTI JOIN b ON a.k = b.k",
    "SELECT k, (SELECT max(w) FROM b WHERE b.k = a.k) m FROM a",
    "SELECT k, v FROM a WHERE v = (SELECT max(w) FROM b WHERE b.g = a.g)",
    "SELECT a.k, b.w FROM a LEFT JOIN b ON a.k <=> b.k",
    "SELECT g, k, v FROM a QUALIFY row_number() OVER (PARTITION BY g, k ORDER BY v, h, s) <= 2",
    "WITH t AS (SELECT k, g, sum(v) m FROM a GROUP BY k, g) SELECT x.k, x.m, y.m z FROM t x JOIN t y ON x.k = y.g",
    "SELECT d.p.x AS x, d.k, b.w FROM d LEFT JOIN b ON d.p.x = b.k",
    "SELECT k, s, 'a' src FROM a UNION SELECT k, s, 'b' FROM b UNION SELECT k, NULL, 'c' FROM c",
)
"""Views whose rows have no key: their rows are counted, NULL as a value of its own."""

_TEXT = ("s", "src")


def with_keys(view: str) -> tuple[str, tuple[str, ...]]:
    """The query of a definition, and its keys."""
    if keys := KEYED.get(view):
        return f"SELECT * FROM ({view}) WHERE {' AND '.join(f'{key} IS NOT NULL' for key in keys)}", keys
    columns, _ = whole({name: [] for name in inputs_of(view)}, view)
    values = {c: f"coalesce({c}, {repr('-') if c in _TEXT else -1})" for c in columns}
    chosen = ", ".join(f"{value} AS {c}" for c, value in values.items())
    query = f"SELECT {chosen}, count(*) AS copies FROM ({view}) GROUP BY {', '.join(values.values())}"
    return query, tuple(columns)
