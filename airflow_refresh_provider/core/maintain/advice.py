"""Small changes of a query with which its result would follow more of its inputs, or that it needs.

Each change is made and analysed before it is advised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.maintain import adding, missing, not_in, splitting
from airflow_refresh_provider.core.maintain.advised import Advice, AdviceKind
from airflow_refresh_provider.core.maintain.analysis import UNEXPECTED
from airflow_refresh_provider.core.maintain.assumed import Unresolved
from airflow_refresh_provider.core.maintain.plan import Maintenance
from airflow_refresh_provider.core.text.wording import counted, listed
from airflow_refresh_provider.errors import Invalid

_InputTypes = Mapping[str, Mapping[str, str]]


def advice(
    definition: Definition, inputs: _InputTypes, found: Maintenance, unresolved: tuple[Unresolved, ...] = ()
) -> tuple[Advice, ...]:
    """What to change in a definition whose query has this analysis, over inputs with these columns and types.

    `unresolved` are columns of which is not known which input has them.
    """
    return tuple(_all(definition, inputs, found, unresolved))


def _all(
    definition: Definition, inputs: _InputTypes, found: Maintenance, unresolved: tuple[Unresolved, ...]
) -> Iterator[Advice]:
    if not unresolved and (wrong := missing.advised(definition.query_text, inputs)):
        yield wrong
    if not found.unfollowed:
        return
    if unresolved:
        yield Advice(kind=AdviceKind.QUALIFY_COLUMNS, text=_qualify(unresolved))
    for rule in (not_in.advised, adding.advised, splitting.advised):
        try:
            one = rule(definition, inputs, found)
        except (Invalid, *UNEXPECTED):  # the changed text is no query, or none that is understood
            continue
        if one:
            yield one


def _qualify(unresolved: tuple[Unresolved, ...]) -> str:
    first, others = unresolved[0], len(unresolved) - 1
    place = f"line {first.line}, column {first.column}"
    more = f"; the same holds for {counted(others, 'other')}" if others else ""
    if first.name == "*":
        return f"list the columns of {listed(first.sources)} ({place}): which they are is not in the text{more}"
    of = listed(first.sources, "or")
    return f"qualify your columns: whether {first.name} ({place}) is of {of} is not in the text{more}"
