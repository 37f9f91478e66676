"""Whether two values are equal within a relative tolerance, as SQL text.

NaN is near NaN only, an infinity only itself, -0.0 is near 0.0, and NULL is near NULL. Numbers of different signs are
not near each other, and so nothing but zero is near zero. In nested values every number has to be near its counterpart,
and everything else has to be equal.
"""

from __future__ import annotations

from airflow_refresh_provider.core.definition.columns import floating
from airflow_refresh_provider.core.text.type_text import fields, opened, split


def near(left: str, right: str, type_name: str, tolerance: float, depth: int = 0) -> str:
    """A condition that is never NULL. `depth`: how many collections the values are nested in."""
    if not floating(type_name):
        return f"({left} <=> {right})"
    (kind, inner), x, y = opened(type_name), f"x{depth}", f"y{depth}"
    match kind:
        case "struct":
            parts = [near(f"{left}.{n}", f"{right}.{n}", t, tolerance, depth) for n, t in fields(inner)]
            return _both(left, right, " AND ".join(parts))
        case "array":
            element = near(x, y, inner, tolerance, depth + 1)
            same = f"forall(zip_with({left}, {right}, ({x}, {y}) -> {element}), {x} -> {x})"
            return _both(left, right, f"size({left}) = size({right}) AND {same}")
        case "map":
            of_key = f"try_element_at({right}, {x}.key)"
            value = near(f"{x}.value", of_key, split(inner, ",")[1], tolerance, depth + 1)
            same = f"forall(map_entries({left}), {x} -> map_contains_key({right}, {x}.key) AND {value})"
            return _both(left, right, f"size({left}) = size({right}) AND {same}")
        case _:
            return f"({left} <=> {right} OR coalesce({_close(left, right, tolerance)}, false))"


def _close(left: str, right: str, tolerance: float) -> str:
    """The signs rule out opposite infinities; with one infinity the left side is infinite and the right one is not."""
    a, b = f"CAST({left} AS DOUBLE)", f"CAST({right} AS DOUBLE)"
    return f"sign({a}) = sign({b}) AND abs({a} - {b}) <= {tolerance!r}D * least(abs({a}), abs({b}))"


def _both(left: str, right: str, same: str) -> str:
    return f"IF({left} IS NULL OR {right} IS NULL, {left} IS NULL AND {right} IS NULL, {same})"
