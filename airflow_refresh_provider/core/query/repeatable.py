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

_MOMENTS = ("now", "today", "tomorrow", "yesterday")
_OF_TEXT = (exp.Alias, exp.Select, exp.Concat, exp.ConcatWs, exp.DPipe, exp.Like)
"""Parents in which Spark does not cast text to a date."""

_CODE = "nondeterministic_query"


def check_repeatable(parsed: Parsed) -> None:
    """Refuse functions, samples and literals that change from run to run. Raises Invalid."""
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
    _check_moments(parsed)


def _check_samples(parsed: Parsed) -> None:
    if parsed.tree.find(exp.TableSample) is not None:
        raise complaint(
            parsed.text,
            next(t.start for t in parsed.tokens if t.token_type is TokenType.TABLE_SAMPLE),
            "TABLESAMPLE picks other rows when the query is run again",
            "Pick rows by their values, for example pmod(xxhash64(key), 100) < 10.",
            _CODE,
        )


def _check_moments(parsed: Parsed) -> None:
    """Refuse words for moments wherever Spark may read them as dates, implicit casts included."""
    for literal in parsed.tree.find_all(exp.Literal):
        if not literal.is_string or isinstance(literal.parent, _OF_TEXT) or not _is_moment(literal.this):
            continue
        raise complaint(
            parsed.text,
            int(literal.meta.get("start", 0)),
            f"'{literal.this}', read as a date, is another date at each run",
            "Write current_date() or current_timestamp(), which a run evaluates once, and add days to it. "
            f"Where the text itself is meant, write concat('{literal.this}').",
            _CODE,
        )


def _is_moment(text: str) -> bool:
    """Whether text is one of the words, a time zone after it allowed."""
    words = text.lower().split()
    return 0 < len(words) <= 2 and words[0] in _MOMENTS
