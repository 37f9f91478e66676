"""The types that a table has by its log are those that Spark reads it with."""

from __future__ import annotations

from airflow_refresh_provider.spark.acts import ddl
from tests.engine.acts import Lake

_COLUMNS = ", ".join(
    f"`c {n}` {kind}"
    for n, kind in enumerate((
        "BINARY", "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(38,18)", "DATE",
        "TIMESTAMP", "TIMESTAMP_NTZ", "STRING", "STRING COLLATE UTF8_LCASE", "CHAR(4)", "VARCHAR(4)", "VARIANT",
        "ARRAY<STRING COLLATE UNICODE>", "MAP<STRING, ARRAY<SMALLINT>>", "ARRAY<VARCHAR(4)>",
        "STRUCT<`it``s`: TINYINT, `a b`: STRUCT<`c`: STRING COLLATE UNICODE_CI, d: DECIMAL(5,0)>>",
        "ARRAY<STRUCT<m: MAP<STRING COLLATE UTF8_LCASE, BIGINT>>>",
    ))
)  # fmt: skip


def test_a_table_has_the_columns_and_types_that_spark_reads(lake: Lake) -> None:
    place = lake.place()
    mapped = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    lake.spark.conf.set("spark.databricks.delta.schema.typeCheck.enabled", "false")  # Delta refuses collations
    lake.spark.sql(f"CREATE TABLE delta.`{place.replace('`', '``')}` ({_COLUMNS}) USING delta {mapped}").collect()
    facts = lake.log.facts(place)
    assert facts is not None
    assert facts.types == ddl.columns_of(lake.spark.read.format("delta").load(place).schema)
    assert facts.columns == tuple(column.name for column in facts.types)
