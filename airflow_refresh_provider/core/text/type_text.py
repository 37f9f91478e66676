"""The text of Spark types, such as "struct<`a`:int,`b`:array<string>>": split into its parts."""

from __future__ import annotations


def split(text: str, separator: str) -> list[str]:
    """The parts of a type's text between separators, those inside brackets and quoted names left out."""
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


def fields(inner: str) -> list[tuple[str, str]]:
    """The fields of a struct by the text between its brackets: quoted names, and types."""
    return [(_quoted(name), kind) for name, kind in (split(field, ":") for field in split(inner, ","))]


def opened(text: str) -> tuple[str, str]:
    """The kind of a type in lower case ("struct", "array", "map", or the whole text), and what its brackets hold."""
    kind, bracket, rest = text.partition("<")
    return kind.strip().lower(), rest.removesuffix(">") if bracket else ""


def unquoted(name: str) -> str:
    """A field's name without its backticks."""
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _quoted(name: str) -> str:
    return name if name.startswith("`") else f"`{name}`"
