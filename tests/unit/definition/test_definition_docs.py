"""The docs of definitions say what the model says.

`python -m tests.unit.definition.test_definition_docs` rewrites them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.field_docs import definition_schema, field_tables
from airflow_refresh_provider.definition_files import load_definitions

DOCS = Path(__file__).parents[3] / "docs"
PAGE = DOCS / "definition.md"
SCHEMA = DOCS / "definition.schema.json"
FIELDS = re.compile(r"(?<=<!-- fields: begin -->\n).*?(?=<!-- fields: end -->)", re.DOTALL)
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)


def schema_text() -> str:
    return json.dumps(definition_schema(), indent=2, ensure_ascii=False) + "\n"


def page_text() -> str:
    return FIELDS.sub(lambda _: f"\n{field_tables()}\n\n", PAGE.read_text())


def test_the_page_lists_every_field_as_the_model_has_it() -> None:
    assert FIELDS.search(PAGE.read_text()), "the page has lost its marks"
    assert PAGE.read_text() == page_text()


def test_the_schema_file_is_the_models_schema() -> None:
    assert SCHEMA.read_text() == schema_text()


def test_the_tables_leave_no_field_out() -> None:
    for name, field in Definition.model_fields.items():
        assert f"| `{field.alias or name}` |" in field_tables()
        assert field.description


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_every_example_on_the_page_is_a_definition(example: str, tmp_path: Path) -> None:
    (tmp_path / "example.yaml").write_text(example)
    assert load_definitions(tmp_path / "example.yaml", strict=True)
    jsonschema.validate(yaml.safe_load(example), definition_schema())


def test_the_page_has_examples() -> None:
    assert len(EXAMPLES) >= 3


@pytest.mark.parametrize("field", [{"tagret": "/x"}, {"query_file": "q.sql"}, {"layout": "nodes"}, {"keys": []}])
def test_the_schema_refuses_what_the_model_refuses(field: dict[str, object]) -> None:
    good = yaml.safe_load(EXAMPLES[0])
    jsonschema.validate(good, definition_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(good | field, definition_schema())


if __name__ == "__main__":
    PAGE.write_text(page_text())
    SCHEMA.write_text(schema_text())
