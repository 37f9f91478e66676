"""Scripts of SQL in files of others: the statements of .sql, .slt, .yaml, .groovy and .py files, in their order.

Files that belong together are one script: `x_schema.sql`, `x_data.sql` and `x_query.sql`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import sqlglot
import yaml
from sqlglot.errors import SqlglotError

_DIALECTS = {".sql": "spark", ".slt": "risingwave", ".part": "risingwave", ".yaml": "risingwave", ".groovy": "doris"}
"""Where the folder has no other. Python files with SQL in them are read as PostgreSQL's."""
_REFERENCE = re.compile(r"\{\{\s*(?:ref|source)\(\s*(?:['\"][^'\"]*['\"]\s*,\s*)?['\"](\w+)['\"]\s*\)\s*\}\}")
_TEMPLATE = re.compile(r"\{[{%#]")
_PART = re.compile(r"_(schema|data|query)$")
_PARTS = ("schema", "data", "query")
_QUOTED = re.compile(r"\"\"\"(.*?)\"\"\"|\bsql\s*\(?\s*\"([^\"\n]+)\"", flags=re.DOTALL)
_RECORD = re.compile(r"^(?:statement|query)\b.*\n((?:(?!----).+\n?)*)", flags=re.MULTILINE)
_IN_A_CALL = re.compile(r"create_immv\s*\(\s*'[^']*'\s*,\s*'((?:[^']|'')*)'", flags=re.IGNORECASE)


@dataclass(frozen=True)
class Script:
    """Statements in the dialect of SQL that sqlglot calls so."""

    dialect: str
    statements: tuple[str, ...]


def scripts_in(folder: str) -> Iterator[Script]:
    """The scripts of all files; `folder` may begin with a dialect and a colon. Files with templates are left."""
    dialect, _, path = folder.rpartition(":")
    files = sorted(file for file in Path(path).rglob("*") if file.suffix in {*_DIALECTS, ".py"})
    for _, some in groupby(files, key=_without_part):
        together = sorted(some, key=_part)
        kind = dialect or _DIALECTS.get(together[0].suffix, "postgres")
        for texts in _scripts(together):
            statements = [_called(s) for text in texts for s in statements_of(text, kind)]
            yield Script(kind, tuple(s.strip() for s in statements if s.strip()))


def statements_of(text: str, dialect: str) -> list[str]:
    """A text cut at its semicolons, those in strings and comments left out."""
    try:
        tokens = sqlglot.Dialect.get_or_raise(dialect).tokenize(text)
    except SqlglotError:
        return text.split(";")
    cuts = [-1, *(t.start for t in tokens if t.token_type is sqlglot.TokenType.SEMICOLON), len(text)]
    return [text[start + 1 : end] for start, end in pairwise(cuts)]


def _without_part(file: Path) -> str:
    return str(file.with_name(_PART.sub("", file.stem) + file.suffix))


def _part(file: Path) -> int:
    found = _PART.search(file.stem)
    return _PARTS.index(found[1]) if found else len(_PARTS)


def _scripts(files: list[Path]) -> list[list[str]]:
    """The texts of the scripts in files that belong together."""
    texts = [_REFERENCE.sub(r"\1", file.read_text(encoding="utf-8", errors="replace")) for file in files]
    match files[0].suffix:
        case ".sql":
            return [[text for text in texts if not _TEMPLATE.search(text)]]
        case ".slt" | ".part":
            return [_RECORD.findall(text) for text in texts]
        case ".yaml":
            return [script for text in texts for script in _of_yaml(text)]
        case _:
            return [[one or other for one, other in _QUOTED.findall(text)] for text in texts]


def _of_yaml(text: str) -> list[list[str]]:
    """A list of cases with `sql`, some after the cases that `before` names."""
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError:
        return []
    cases: list[dict[str, Any]] = [c for c in found if isinstance(c, dict) and "sql" in c] if found else []
    named = {case["id"]: str(case["sql"]) for case in cases if "id" in case}
    return [[*(named.get(name, "") for name in case.get("before", ())), str(case["sql"])] for case in cases]


def _called(statement: str) -> str:
    """The query that a call makes a view of, else the statement."""
    found = _IN_A_CALL.search(statement)
    return found[1].replace("''", "'") if found else statement
