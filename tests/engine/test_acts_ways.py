"""Every way to apply a change set, in both layouts, over the same list of changes."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.core.plan.plan import ChangeCounts
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.ports.tasks import Source
from tests.engine.acts import Lake, source


def _content(ids: str, v: str = "if(id % 5 = 0, NULL, id)") -> Source:
    """Rows with keys in another order than the columns, and with names that Delta uses inside its own plans."""
    query = (
        f"SELECT concat('k''', id % 7) AS k2, CAST({v} AS INT) AS v, id AS k1, "
        f"if(id % 3 = 0, NULL, array(id, NULL)) AS a, "
        f"CAST(id % 4 AS STRING) AS `path`, id AS `filePath`, 'x' AS `order`, id AS `rowIndexCol`, id AS dvFilePath "
        f"FROM range(60) WHERE {ids}"
    )
    return source(query, "k1", "k2")


_FIRST = _content("id BETWEEN 10 AND 29")
_UPSERTED = _content("id BETWEEN 10 AND 34", "if(id % 4 = 0, NULL, id)")
_MIXED = _content("id BETWEEN 20 AND 39", "if(id < 25, 0, id)")
_SHRUNK = _content("id BETWEEN 25 AND 39", "if(id < 25, 0, id)")
_UPDATED = _content("id BETWEEN 25 AND 39", "1")
_EMPTY = _content("false")

_ONE = [(_MIXED, ChangeCounts(inserted=10, updated=6, deleted=10))]
_UPSERTS = [(_UPSERTED, ChangeCounts(inserted=5, updated=7)), (_UPSERTED, ChangeCounts())]
_ALL = [
    *_UPSERTS,
    (_MIXED, ChangeCounts(inserted=5, updated=7, deleted=10)),
    (_SHRUNK, ChangeCounts(deleted=5)),
    (_UPDATED, ChangeCounts(updated=15)),
    (_EMPTY, ChangeCounts(deleted=15)),
    (_FIRST, ChangeCounts(inserted=20)),
]


@pytest.mark.parametrize(
    ("way", "by_vnode", "vectors", "changes"),
    [
        # The other ways: `test_rows_that_change_are_marked_and_written_and_no_others`.
        (Way.KEYED_REPLACE, True, True, _ONE),
        (Way.REPLACE_VNODES, True, True, _ONE),
        (Way.REPLACE_TABLE, False, True, _ONE),
        (Way.REWRITE, False, True, _ONE),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                (Way.MERGE, False, False, _ONE),
                (Way.MERGE, True, True, _ONE),
                (Way.REPLACE_ON, False, True, _UPSERTS),
                (Way.MERGE, False, True, _ALL),
                (Way.KEYED_REPLACE, False, True, _ALL),
                (Way.REPLACE_VNODES, True, True, _ALL),
                (Way.REPLACE_TABLE, False, True, _ALL),
            )
        ),
    ],
)
def test_after_each_change_the_target_equals_the_query_in_one_repeatable_commit(
    lake: Lake, way: Way, by_vnode: bool, vectors: bool, changes: list[tuple[Source, ChangeCounts]]
) -> None:
    properties = {"delta.enableDeletionVectors": str(vectors).lower()}
    target = lake.target(_FIRST, by_vnode=by_vnode, properties=properties)
    lake.load(target, _FIRST)

    for content, counts in changes:
        assert lake.refresh(target, content, way) == counts
