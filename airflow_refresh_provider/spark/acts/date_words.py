"""Words such as 'today' in a query: refused where the types beside them make Spark read them as dates."""

from __future__ import annotations

from pyspark.sql import SparkSession

from airflow_refresh_provider.core.query.facts import DateWord
from airflow_refresh_provider.ports.tasks import Source
from airflow_refresh_provider.spark.acts import content
from airflow_refresh_provider.spark.connect.faults import SPARK_ERRORS, FaultKind, fault_of, kind_of

_BYTES = "X'00'"
"""A value that is compared with text and with nothing that is a date: then the analysis of the query fails."""


def check(spark: SparkSession, source: Source) -> None:
    """Refuse a word that is read as a date. The query is analysed once for each word, and not run. Raises Invalid."""
    for word in source.date_words:
        try:
            _ = content.result(spark, source.model_copy(update={"query": _without(source, word)})).schema
        except SPARK_ERRORS as error:
            if kind_of(fault_of(error)) is not FaultKind.ANALYSIS:
                raise
            # Imported late: the SQL parser takes a third of a second.
            from airflow_refresh_provider.core.query.date_words import date_word_error

            raise date_word_error(_text(source), word) from None


def _without(source: Source, word: DateWord) -> str:
    text = _text(source)
    return f"{text[: word.start]}{_BYTES}{text[word.end :]}"


def _text(source: Source) -> str:
    return source.written or source.query
