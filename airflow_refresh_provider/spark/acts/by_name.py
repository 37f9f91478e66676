"""A nested value in another type, field by field, as SQL text.

A cast of a struct goes by position and asks for as many fields. The fields of a query's result may be in another order
than in the target, which has new ones at its end.
"""

from __future__ import annotations

from airflow_refresh_provider.core.text.type_text import fields, opened, split, unquoted


def converted(value: str, old: str, new: str, depth: int = 0) -> str:
    """The value, of type `old`, as the type `new`. Fields that it lacks are NULL.

    `depth`: how many collections it is nested in, each with its own lambda variable.
    """
    if _same_places(old, new):
        return f"CAST({value} AS {new})"
    (kind, inner), (_, becomes) = opened(old), opened(new)
    item, of = f"i{depth}", f"v{depth}"
    match kind:
        case "struct":
            result = _struct(value, inner, becomes, depth)
        case "array":
            result = f"transform({value}, {item} -> {converted(item, inner, becomes, depth + 1)})"
        case _:
            key, entry = split(inner, ",")
            new_key, new_entry = split(becomes, ",")
            keyed = f"transform_keys({value}, ({item}, {of}) -> {converted(item, key, new_key, depth + 1)})"
            result = f"transform_values({keyed}, ({item}, {of}) -> {converted(of, entry, new_entry, depth + 1)})"
    return f"CAST({result} AS {new})"


def _struct(value: str, inner: str, becomes: str, depth: int) -> str:
    """Each field of the new type from the field of this name; NULL stays NULL."""
    found = {unquoted(name).lower(): (name, type_) for name, type_ in fields(inner)}
    parts = []
    for name, type_ in fields(becomes):
        old = found.get(unquoted(name).lower())
        part = converted(f"{value}.{old[0]}", old[1], type_, depth) if old else f"CAST(NULL AS {type_})"
        parts.append(f"{part} AS {name}")
    return f"IF({value} IS NULL, NULL, struct({', '.join(parts)}))"


def _same_places(old: str, new: str) -> bool:
    """Whether a cast by position is one by name."""
    (kind, inner), (new_kind, becomes) = opened(old), opened(new)
    if kind != new_kind:
        return True
    match kind:
        case "struct":
            some, others = fields(inner), fields(becomes)
            names = [[unquoted(name).lower() for name, _ in side] for side in (some, others)]
            return names[0] == names[1] and all(map(_same_places, (t for _, t in some), (t for _, t in others)))
        case "array":
            return _same_places(inner, becomes)
        case "map":
            return all(map(_same_places, split(inner, ","), split(becomes, ",")))
        case _:
            return True
