"""Jinja templates in definitions, which are not rendered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


def is_template(text: str) -> bool:
    """Whether text is a template."""
    return "{{" in text or "{%" in text


def templated(value: object, field: str = "") -> Iterator[str]:
    """The fields of a value whose text is a template, with those that they lie in before a dot."""
    if isinstance(value, str):
        if is_template(value):
            yield field
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from templated(part, f"{field}.{key}" if field else str(key))
    elif isinstance(value, list):
        for part in value:
            yield from templated(part, field)
