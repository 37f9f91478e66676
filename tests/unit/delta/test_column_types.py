"""The types of a Delta log in the words of Spark."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

from airflow_refresh_provider.core.definition.columns import Column
from airflow_refresh_provider.delta.tables.column_types import columns_of
from airflow_refresh_provider.spark.acts.ddl import type_text

SIMPLE = [
    BinaryType(),
    BooleanType(),
    ByteType(),
    ShortType(),
    IntegerType(),
    LongType(),
    FloatType(),
    DoubleType(),
    DecimalType(38, 18),
    StringType(),
    StringType("UTF8_LCASE"),
    StringType("UNICODE_CI"),
    DateType(),
    TimestampType(),
    TimestampNTZType(),
    VariantType(),
]
NESTED = [
    ArrayType(LongType()),
    MapType(StringType(), ArrayType(StringType("UNICODE"))),
    MapType(StringType("UTF8_LCASE"), StringType()),
    StructType([StructField("a b", ShortType()), StructField("it`s", ArrayType(StringType("UNICODE")))]),
    ArrayType(StructType([StructField("x", MapType(StringType(), StructType([StructField("y", ByteType())])))])),
]


@pytest.mark.parametrize("kind", [*SIMPLE, *NESTED], ids=lambda kind: str(kind.simpleString()))
def test_a_type_is_called_as_spark_calls_it(kind: DataType) -> None:
    schema = StructType([StructField("c", kind)])
    assert columns_of(schema.jsonValue()) == (Column(name="c", type=type_text(kind)),)


@pytest.mark.parametrize("bounded", ["char(5)", "varchar(5)"])
def test_text_of_bounded_length_is_text(bounded: str) -> None:
    field: dict[str, Any] = {"name": "c", "type": "string", "metadata": {"__CHAR_VARCHAR_TYPE_STRING": bounded}}
    assert columns_of({"fields": [field]}) == (Column(name="c", type="string"),)
