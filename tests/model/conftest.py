"""Queries of the model are parsed once, not in every schedule."""

from collections.abc import Iterator
from functools import cache

import pytest

from airflow_refresh_provider.core.query import query


@pytest.fixture(autouse=True, scope="session")
def _parsed_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query, "analyse", cache(query.analyse))
        yield
