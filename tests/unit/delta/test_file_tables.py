"""Files and deletion vectors named by where they are, as any other table has to name them."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.delta.tables.file_tables import named_elsewhere

VECTOR = {
    "storageType": "u",
    "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
    "offset": 4,
    "sizeInBytes": 40,
    "cardinality": 6,
}


@pytest.mark.parametrize(
    ("location", "root"),
    [("/data/a b/ü", "file:///data/a%20b/%C3%BC"), ("s3a://lake/a b", "s3a://lake/a%20b")],
)
def test_what_lies_beside_its_table_is_named_in_full(location: str, root: str) -> None:
    file = {"path": "day=1/x%20y.parquet", "size": 1, "partitionValues": {"day": "1"}, "deletionVector": VECTOR}
    named = named_elsewhere(file, location)
    assert named["path"] == f"{root}/day=1/x%20y.parquet"
    assert named["deletionVector"] == VECTOR | {
        "storageType": "p",
        "pathOrInlineDv": f"{root}/ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin",
    }


@pytest.mark.parametrize("path", ["s3a://lake/other/x.parquet", "file:///other/x.parquet", "/other/x.parquet"])
def test_what_lies_elsewhere_keeps_its_name(path: str) -> None:
    vector = {"storageType": "i", "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"}
    named = named_elsewhere({"path": path, "size": 1, "partitionValues": {}, "deletionVector": vector}, "/here")
    assert (named["path"], named["deletionVector"]) == (path, vector)
