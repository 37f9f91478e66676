"""Text such as 'today', which is another date at each run where Spark reads it as one, and plain text elsewhere.

Which of the two it is depends on the types beside it. Where the query alone does not say, the word is found here, and
the engine asks Spark for the types before each run.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from airflow_refresh_provider.core.query.facts import DateWord
from airflow_refresh_provider.core.query.parse import Parsed, complaint
from airflow_refresh_provider.errors import Invalid

_WORDS = ("now", "today", "tomorrow", "yesterday")
_OF_TEXT = (exp.Alias, exp.Select, exp.Concat, exp.ConcatWs, exp.DPipe, exp.Like, exp.ILike, exp.RegexpLike)
"""Parents in which Spark does not cast text to a date."""
_OF_ANY_TYPE = (
    exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In, exp.If,
    exp.Case, exp.Coalesce, exp.Nullif,
)  # fmt: skip
"""Parents in which it has the type of the other operands."""


def date_words(parsed: Parsed) -> tuple[DateWord, ...]:
    """The words whose type only Spark knows. Raises Invalid for one that is certainly a date."""
    return tuple(sorted(_found(parsed), key=lambda word: word.start))


def date_word_error(query: str, word: DateWord) -> Invalid:
    """The error for a word that is read as a date."""
    return complaint(
        query,
        word.start,
        f"'{word.text}', read as a date, is another date at each run",
        "Write current_date() or current_timestamp(), which a run evaluates once, and add days to it. "
        f"Where the text itself is meant, write concat('{word.text}').",
        "nondeterministic_query",
    )


def _found(parsed: Parsed) -> Iterator[DateWord]:
    for literal in parsed.tree.find_all(exp.Literal):
        parent = _parent(literal)
        if not literal.is_string or isinstance(parent, _OF_TEXT) or not _is_date(literal.this):
            continue
        start, end = (int(literal.meta.get(side, 0)) for side in ("start", "end"))
        word = DateWord(text=literal.this, start=start, end=end + 1)
        if "start" not in literal.meta or not isinstance(parent, _OF_ANY_TYPE) or _beside_date(parent):
            raise date_word_error(parsed.text, word)
        yield word


def _parent(literal: exp.Expr) -> exp.Expr | None:
    parent = literal.parent
    while isinstance(parent, exp.Paren | exp.Tuple):
        parent = parent.parent
    return parent


def _beside_date(parent: exp.Expr) -> bool:
    """Whether an operand is written as a date or a timestamp."""
    casts = (part for part in parent.iter_expressions() if isinstance(part, exp.Cast))
    return any(cast.to.this in exp.DataType.TEMPORAL_TYPES for cast in casts)


def _is_date(text: str) -> bool:
    """Whether text is one of the words, a time zone after it allowed."""
    words = text.lower().split()
    return 0 < len(words) <= 2 and words[0] in _WORDS
