"""The hash of a row, as SQL text.

Spark's hash skips NULLs and does not accept maps and variants. Here nested values are split into plain ones, and the
sizes of collections and a bit mask of NULLs are hashed as well. Equal values have equal hashes (-0.0 and 0.0, NaN and
NaN, maps whatever the order of their entries), and values that moved to another place or became NULL have others.
"""

from __future__ import annotations

from collections.abc import Iterable

from airflow_refresh_provider.core.text.type_text import fields, opened, split

_MASK_BITS = 62


def hashed(values: Iterable[tuple[str, str]], depth: int = 0) -> str:
    """The 64-bit hash of some values, each an SQL expression and its Spark type.

    `depth`: how many collections they are nested in, each with its own lambda variable.
    """
    plain, tested = _flattened(values, depth)
    masks = (_mask(tested[i : i + _MASK_BITS]) for i in range(0, len(tested), _MASK_BITS))
    return f"xxhash64({', '.join((*plain, *masks))})" if tested else "0L"


def _flattened(values: Iterable[tuple[str, str]], depth: int) -> tuple[list[str], list[str]]:
    """The expressions to hash, and those that may be NULL: the values and their fields."""
    plain: list[str] = []
    tested: list[str] = []
    for value, type_name in values:
        (kind, inner), element = opened(type_name), f"e{depth}"
        tested.append(value)
        match kind:
            case "struct":
                parts = _flattened([(f"{value}.{name}", part) for name, part in fields(inner)], depth)
                plain += parts[0]
                tested += parts[1]
            case "array":
                elements = f"transform({value}, {element} -> {hashed([(element, inner)], depth + 1)})"
                plain += (elements, f"size({value})")
            case "map":
                key, entry = split(inner, ",")
                both = hashed([(f"{element}.key", key), (f"{element}.value", entry)], depth + 1)
                entries = f"array_sort(transform(map_entries({value}), {element} -> {both}))"
                plain += (entries, f"size({value})")
            case "variant":
                plain += (f"to_json({value})", f"schema_of_variant({value})")
            case _:
                plain.append(value)
    return plain, tested


def _mask(values: list[str]) -> str:
    """A bit for each value that is NULL. Mostly none is, which is tested first."""
    tests = [f"{value} IS NULL" for value in values]
    bits = " | ".join(f"IF({test}, {1 << i}L, 0L)" for i, test in enumerate(tests))
    return f"IF({' OR '.join(tests)}, {bits}, 0L)"
