"""Which tables are small."""

import pytest

from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.core.plan.small_tables import MOST_BYTES, MOST_ROWS, is_small


def table(*types: str) -> tuple[Column, ...]:
    return tuple(Column(name=f"c{n}", type=kind) for n, kind in enumerate(types))


PLAIN = table("bigint", "string", "decimal(10,2)", "timestamp", "double", "binary")


@pytest.mark.parametrize(
    ("rows", "size", "columns", "small"),
    [
        (1, 1_000, PLAIN, True),
        (MOST_ROWS, MOST_BYTES, PLAIN, True),
        (MOST_ROWS + 1, 1_000, PLAIN, False),
        (1, MOST_BYTES + 1, PLAIN, False),
        (0, 0, PLAIN, False),
        (None, 1_000, PLAIN, False),
        (1, None, PLAIN, False),
        *((1, 1_000, table("int", kind), False) for kind in ("string collate utf8_lcase", "timestamp_ntz", "variant")),
        *(
            (1, 1_000, table(kind), False)
            for kind in ("array<int>", "struct<`a`:int>", "map<string,int>", "interval day")
        ),
    ],
)
def test_a_small_table_has_few_rows_of_plain_types(
    rows: int | None, size: int | None, columns: tuple[Column, ...], small: bool
) -> None:
    assert is_small(rows, size, columns) is small
