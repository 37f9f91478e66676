"""What a small change of a query would win, or what it has to correct, as data."""

from __future__ import annotations

from enum import StrEnum

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.text.stored import Stored


class AdviceKind(StrEnum):
    """What is to be changed."""

    CORRECT_COLUMN = "correct_column"
    QUALIFY_COLUMNS = "qualify_columns"
    ADD_COLUMN = "add_column"
    SPLIT = "split"
    NOT_EXISTS = "not_exists"


class Advice(Stored):
    """A change of a definition that lets it follow more of its inputs, or that it needs to be computed at all.

    `definitions` are those that take its place: one, or two where a query inside of it becomes a definition of its
    own. Their results have the rows that it has now, with a column more where one is added; with NOT EXISTS as long as
    what is compared is never NULL.
    """

    kind: AdviceKind
    text: str
    definitions: tuple[Definition, ...] = ()
