"""Refusing queries that may give another result when run again on the same data.

A resumed run evaluates its query again and must get the same rows. Clock functions are not refused, they are bound.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from airflow_refresh_provider.core.query.parse import Parsed, complaint

CHANGING = frozenset(
    {
        "rand", "randn", "random", "randstr", "uniform", "uuid", "shuffle", "monotonically_increasing_id",
        "spark_partition_id", "input_file_name", "input_file_block_start", "input_file_block_length", "reflect",
        "java_method", "try_reflect", "aes_encrypt",
    }
)  # fmt: skip
"""Functions whose values change from run to run."""

_CODE = "nondeterministic_query"


def check_repeatable(parsed: Parsed) -> None:
    """Refuse functions and samples that change from run to run. Raises Invalid."""
    for call in parsed.tree.find_all(exp.Func):
        if "start" not in call.meta:
            continue
        name = parsed.text[int(call.meta["start"]) : int(call.meta["end"]) + 1].strip("`").lower()
        if name in CHANGING:
            raise complaint(
                parsed.text,
                int(call.meta["start"]),
                f"{name} gives other values when the query is run again",
                "Leave it out, or compute the value from columns (for example with xxhash64).",
                _CODE,
            )
    _check_samples(parsed)


def _check_samples(parsed: Parsed) -> None:
    if parsed.tree.find(exp.TableSample) is not None:
        raise complaint(
            parsed.text,
            next(t.start for t in parsed.tokens if t.token_type is TokenType.TABLE_SAMPLE),
            "TABLESAMPLE picks other rows when the query is run again",
            "Pick rows by their values, for example pmod(xxhash64(key), 100) < 10.",
            _CODE,
        )
