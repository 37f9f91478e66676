"""Which of many definitions a command is about."""

from __future__ import annotations

import re

import pytest

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.selection import Selection, selected
from airflow_refresh_provider.errors import Invalid
from tests.contract.samples import record

TAGS = {"sales_eu": ("nightly", "sales"), "sales_us": ("sales",), "stock": ("nightly",), "plain": ()}


def made(name: str) -> Definition:
    return record(name).definition.model_copy(update={"tags": TAGS[name]})


ALL = [made(name) for name in TAGS]


@pytest.mark.parametrize(
    ("selection", "names"),
    [
        (Selection(every=True), ["sales_eu", "sales_us", "stock", "plain"]),
        (Selection(("stock",)), ["stock"]),
        (Selection(("sales_*",)), ["sales_eu", "sales_us"]),
        (Selection(("stock", "sales_?u")), ["sales_eu", "stock"]),
        (Selection(tags=("nightly",)), ["sales_eu", "stock"]),
        (Selection(tags=("nightly", "sales")), ["sales_eu", "sales_us", "stock"]),
        (Selection(("s*",), ("nightly",)), ["sales_eu", "stock"]),
        (Selection(tags=("sales",), every=True), ["sales_eu", "sales_us"]),
    ],
)
def test_names_patterns_and_tags_select(selection: Selection, names: list[str]) -> None:
    assert [definition.name for definition in selected(selection, ALL)] == names


@pytest.mark.parametrize(
    ("selection", "code", "said"),
    [
        (Selection(), "usage", "name definitions"),
        (Selection(("stock",), every=True), "usage", "exclude each other"),
        (Selection(("absent",)), "unknown_name", "no definition is named 'absent'"),
        (Selection(("sales_eu", "z*")), "unknown_name", "no definition matches 'z*'"),
        (Selection(tags=("weekly",)), "unknown_name", "has the tag 'weekly'"),
        (Selection(("stok",)), "unknown_name", "is named 'stok'. Did you mean stock?"),
        (Selection(tags=("nightli",)), "unknown_name", "Did you mean nightly?"),
    ],
)
def test_what_selects_nothing_is_refused(selection: Selection, code: str, said: str) -> None:
    with pytest.raises(Invalid, match=re.escape(said)) as refused:
        selected(selection, ALL)
    assert refused.value.code == code


def test_an_error_names_where_definitions_were_looked_for() -> None:
    for selection in (Selection(("absent",)), Selection(tags=("weekly",))):
        with pytest.raises(Invalid, match=" in /control"):
            selected(selection, ALL, where=" in /control")


def test_one_definition_by_its_name_is_no_group() -> None:
    assert Selection(("stock",)).one == "stock"
    assert [s.one for s in (Selection(("s*",)), Selection(("a", "b")), Selection(("a",), ("t",)))] == [None] * 3
