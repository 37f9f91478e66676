"""The problems of a definition as text for its author: one line for each, with field, value and fix."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from airflow_refresh_provider.core.definition.names import IDENTIFIER, NAME, VIEW
from airflow_refresh_provider.core.text.wording import suggestion
from airflow_refresh_provider.errors import Invalid

_LONGEST_VALUE = 60

_LATER = {
    "schema": "is not supported yet: remove it, the schema is read from the table or the files",
    "table": "is not supported yet: give the table's location as path",
    "connection": "is not supported yet: only tables and files are read, give a path",
    "jdbc_table": "is not supported yet: only tables and files are read, give a path",
    "jdbc_query": "is not supported yet: only tables and files are read, give a path",
}

_PATTERNS = {
    NAME: "must be lower-case words of letters, digits and _, joined by dots, such as sales.open_orders",
    IDENTIFIER: "must be a plain name of letters, digits and _",
    VIEW: "must be a view name such as gold.open_orders, of letters, digits and _",
}

_KINDS = {
    "string_type": "must be text: put it in quotes",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "tuple_type": "must be a list, such as [a, b]",
    "dict_type": "must be a mapping of names to values",
    "model_type": "must be a mapping of fields to values",
    "model_attributes_type": "must be a mapping of fields to values",
    "time_delta_parsing": "must be a duration such as 15 minutes, 2 h or PT15M",
    "missing": "is required: add it",
}

_WITHOUT_VALUE = frozenset({"missing", "extra_forbidden", "credentials", "pinned"})
"""Kinds of problem whose value does not help, or may be a secret."""


def invalid(problems: Iterable[str], code: str = "definition_invalid") -> Invalid:
    """The one error for any number of problems."""
    return Invalid(code, "\n".join(problems), next="Correct the definition; docs/definition.md lists every field.")


def together(errors: Sequence[Invalid]) -> Invalid:
    """One error for several, with the code and the advice that all of them have, or those of any definition."""
    codes, nexts = {error.code for error in errors}, {error.next for error in errors}
    one = invalid((error.message for error in errors), codes.pop() if len(codes) == 1 else "definition_invalid")
    return Invalid(one.code, one.message, next=nexts.pop() if len(nexts) == 1 else one.next)


def problems(error: ValidationError, fields: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """One line for each thing that is wrong. `fields` are the known field names by the place they belong to."""
    found = error.errors(include_url=False)
    return tuple(line for details in found if not _follows(details, found) for line in _lines(details, fields))


def _follows(details: ErrorDetails, found: Iterable[ErrorDetails]) -> bool:
    """A list counts as too short when its items are wrong; the problems of its items are enough."""
    loc = details["loc"]
    deeper = (len(other["loc"]) > len(loc) and other["loc"][: len(loc)] == loc for other in found)
    return details["type"] == "too_short" and any(deeper)


def _lines(details: ErrorDetails, fields: Mapping[str, Collection[str]]) -> list[str]:
    text = _explained(details, fields)
    where = ".".join(str(part) for part in details["loc"] if part != "[key]")
    if not where:
        return text.split("\n")
    return [f"{where}: {text}{_shown(details)}"]


def _shown(details: ErrorDetails) -> str:
    """The value at fault, unless it does not help or may be a secret."""
    value = details["input"]
    parts = value if isinstance(value, list | tuple) else [value]
    if details["type"] in _WITHOUT_VALUE or "options" in details["loc"] or any(isinstance(p, dict) for p in parts):
        return ""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return f" (it is {text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + '...'})"


def _explained(details: ErrorDetails, fields: Mapping[str, Collection[str]]) -> str:
    kind, context = details["type"], details.get("ctx", {})
    match kind:
        case "extra_forbidden":
            return _unknown_field(details["loc"], fields)
        case "enum" | "literal_error":
            return f"must be {context['expected'].replace(chr(39), '')}"
        case "string_pattern_mismatch":
            return _PATTERNS[context["pattern"]]
        case "value_error":
            return str(context["error"])
        case "greater_than_equal":
            return f"must be {context['ge']} or more"
        case "less_than_equal":
            return f"must be {context['le']} or less"
        case "too_short":
            return "must not be empty"
        case "too_long" | "string_too_long":
            return f"must not be longer than {context['max_length']}"
        case _:
            return _KINDS.get(kind, details["msg"])


def _unknown_field(loc: tuple[int | str, ...], fields: Mapping[str, Collection[str]]) -> str:
    *parents, name = loc
    if parents and parents[0] == "inputs" and name in _LATER:
        return _LATER[str(name)]
    known = fields.get(str(parents[0]) if parents else "", ())
    return f"unknown field.{suggestion(str(name), known)}"
