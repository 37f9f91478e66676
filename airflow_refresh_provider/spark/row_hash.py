"""What a value contributes to the hash of its row, as SQL text.

Spark's hash passes over NULLs and refuses maps and variants. Here every value stands beside a mark of whether it is
NULL, and values with parts are taken apart until only plain ones are left, so that equal values always hash alike and a
NULL can neither vanish nor change places: -0.0 is 0.0, NaN is NaN, and the entries of a map have no order.
"""

from __future__ import annotations


def inputs(value: str, type_name: str, depth: int = 0) -> tuple[str, ...]:
    """The arguments of a hash function that stand for a value, an SQL expression of a Spark type.

    `depth` counts the collections around it, whose elements need names of their own.
    """
    kind, _, rest = type_name.partition("<")
    inner, element = rest.removesuffix(">"), f"e{depth}"
    match kind:
        case "struct":
            fields = (split(field, ":") for field in split(inner, ","))
            shown = tuple(i for name, part in fields for i in inputs(f"{value}.{_quoted(name)}", part, depth))
        case "array":
            shown = (f"transform({value}, {element} -> {_hash(inputs(element, inner, depth + 1))})",)
        case "map":
            key, entry = split(inner, ",")
            both = (*inputs(f"{element}.key", key, depth + 1), *inputs(f"{element}.value", entry, depth + 1))
            shown = (f"array_sort(transform(map_entries({value}), {element} -> {_hash(both)}))",)
        case "variant":
            shown = (f"to_json({value})", f"schema_of_variant({value})")
        case _:
            shown = (value,)
    return (*shown, f"{value} IS NULL")


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


def _hash(arguments: tuple[str, ...]) -> str:
    return f"xxhash64({', '.join(arguments)})"


def _quoted(name: str) -> str:
    return name if name.startswith("`") else f"`{name}`"
