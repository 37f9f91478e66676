"""What the docs and editors say about definitions, taken from the model itself: a JSON Schema and tables of fields."""

from __future__ import annotations

import json
from enum import Enum

from pydantic.fields import FieldInfo

from airflow_refresh_provider.core.definition.definition import Definition, parts
from airflow_refresh_provider.core.text.stored import Stored

_QUERY_FILE = "Instead of `query`: a file with the query, its path relative to this file."


def definition_schema() -> dict[str, object]:
    """The JSON Schema of one definition as it is written in YAML."""
    schema = Definition.model_json_schema(by_alias=True)
    schema["properties"]["query_file"] = {"type": "string", "title": "Query File", "description": _QUERY_FILE}
    schema["oneOf"] = [{"required": [field]} for field in ("query", "query_file", "from")]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def field_tables() -> str:
    """Markdown: a table of all fields, and one for each field that has fields of its own."""
    return "\n\n".join(_table(place, model) for place, model in parts().items())


def _table(place: str, model: type[Stored]) -> str:
    rows = [_row(field.alias or name, field) for name, field in model.model_fields.items()]
    if model is Definition:
        rows.insert(3, f"| `query_file` | | {_QUERY_FILE} |")
    heading = f"### `{place}`" if place else "### All fields"
    return "\n".join([heading, "", "| field | default | meaning |", "|---|---|---|", *rows])


def _row(name: str, field: FieldInfo) -> str:
    return f"| `{name}` | {_default(field)} | {field.description} |"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    match field.default:
        case None | () | {}:
            return ""
        case Stored():
            return "see below"
        case Enum() as member:
            return f"`{member.value}`"
        case str() as text:
            return f"`{text}`"
        case value:
            return f"`{json.dumps(value)}`"
