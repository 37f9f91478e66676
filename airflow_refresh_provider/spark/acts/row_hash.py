"""The hash of a row, as SQL text.

Spark's hash passes over NULLs and refuses maps and variants. Here values with parts are taken apart until only plain
ones are left, and the sizes of collections and a mask of what is NULL are hashed beside them, so that equal values
always hash alike and nothing can vanish or change places: -0.0 is 0.0, NaN is NaN, entries of a map have no order.
"""

from __future__ import annotations

from collections.abc import Iterable

_MASK_BITS = 62


def hashed(values: Iterable[tuple[str, str]], depth: int = 0) -> str:
    """The 64-bit hash of some values, each an SQL expression and its Spark type.

    `depth` counts the collections around them, whose elements need names of their own.
    """
    plain, tested = _taken_apart(values, depth)
    masks = (_mask(tested[i : i + _MASK_BITS]) for i in range(0, len(tested), _MASK_BITS))
    return f"xxhash64({', '.join((*plain, *masks))})" if tested else "0L"


def split(text: str, separator: str) -> list[str]:
    """The parts of a type's text between separators that stand neither in brackets nor in a quoted name."""
    parts, depth, quoted = [""], 0, False
    for char in text:
        if char == "`":
            quoted = not quoted
        elif not quoted:
            depth += (char in "<(") - (char in ">)")
        if char == separator and not depth and not quoted:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def _taken_apart(values: Iterable[tuple[str, str]], depth: int) -> tuple[list[str], list[str]]:
    """What is hashed, and what may be NULL: the values themselves and those that they consist of."""
    plain: list[str] = []
    tested: list[str] = []
    for value, type_name in values:
        kind, _, rest = type_name.partition("<")
        inner, element = rest.removesuffix(">"), f"e{depth}"
        tested.append(value)
        match kind:
            case "struct":
                fields = (split(field, ":") for field in split(inner, ","))
                parts = _taken_apart([(f"{value}.{_quoted(name)}", part) for name, part in fields], depth)
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
    """A bit for each value that is NULL. Mostly none is, which is found out first."""
    tests = [f"{value} IS NULL" for value in values]
    bits = " | ".join(f"IF({test}, {1 << i}L, 0L)" for i, test in enumerate(tests))
    return f"IF({' OR '.join(tests)}, {bits}, 0L)"


def _quoted(name: str) -> str:
    return name if name.startswith("`") else f"`{name}`"
