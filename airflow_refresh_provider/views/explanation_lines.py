"""How a definition follows its inputs, and what a change of it would win: as lines, and as Markdown for a DAG."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import indent
from typing import Any

import yaml

from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.mode import Mode
from airflow_refresh_provider.core.maintain.advised import Advice, AdviceKind
from airflow_refresh_provider.core.maintain.explained import ONLY_ADDED_UP, ExplainedInput
from airflow_refresh_provider.core.query.facts import NOT_SUPPORTED
from airflow_refresh_provider.core.run.explanation import Explanation, Follows
from airflow_refresh_provider.core.text.wording import listed

REFUSED = "mode incremental is refused"
_NOT_READ = "As far as the text of the query says; columns that it compares are taken to have one type."


def followed(value: Explanation) -> str:
    """The inputs whose changes are followed."""
    if value.follows is Follows.EVERY_INPUT:
        return "every input"
    names = [one.name for one in value.inputs if one.followed]
    if any(one.kind is AdviceKind.QUALIFY_COLUMNS for one in value.advice):
        return f"{listed(names)}, others not known" if names else "not known"
    return listed(names) if names else "no input"


def how_followed(one: ExplainedInput, value: Explanation) -> str:
    """What is done when an input has changed."""
    if not one.followed:
        return f"{_unfollowed(value)}: {short_reason(one)}"
    if value.row_wise:
        return f"applied {one.by}"
    if one.by == ONLY_ADDED_UP:
        return "add them to the result; where that does not do, compute everything"
    whole = f"; {one.name} is read whole" if one.read_whole else ""
    time = f", and as time passes for {' and '.join(one.temporal)}" if one.temporal else ""
    recompute = f"recompute the rows by {one.by}{whole}{time}"
    return f"add them to their groups; where that does not do, {recompute}" if one.added_up else recompute


def _unfollowed(value: Explanation) -> str:
    return f"not followed, so {REFUSED}" if value.mode is Mode.INCREMENTAL else "compute everything"


def short_reason(one: ExplainedInput) -> str:
    """Why an input is not followed, where that it is not is said already."""
    return (one.reason or "").removesuffix(NOT_SUPPORTED)


def unfollowed_lines(value: Explanation) -> Iterator[str]:
    """Why inputs are not followed, those with one reason together."""
    by_reason: dict[str, list[str]] = {}
    for one in value.inputs:
        if not one.followed:
            by_reason.setdefault(short_reason(one), []).append(one.name)
    for reason, names in by_reason.items():
        what = f"are {_unfollowed(value)}" if value.mode is Mode.INCREMENTAL else "have everything computed"
        yield f"changes of {listed(names)} {what}: {reason}"


def advice_lines(value: Explanation) -> Iterator[str]:
    """What would be won, with the definitions that take the place of this one."""
    for one in value.advice:
        yield f"{value.name}: advice: {one.text}"
        if one.definitions:
            yield indent(_documents(one), "    ").rstrip()


def markdown(value: Explanation) -> str:
    """How each input is followed, as a part of a page."""
    lines = [f"- changes of `{one.name}`: {how_followed(one, value)}" for one in value.inputs]
    if value.assumed:
        lines += ["", _NOT_READ]
    return "\n".join([*lines, ""])


def _documents(advice: Advice) -> str:
    return "---\n".join(map(as_yaml, advice.definitions))


def as_yaml(definition: Definition) -> str:
    """A definition as its file, without what is by default."""
    given = definition.model_dump(mode="json", exclude_defaults=True)
    return yaml.dump(given, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


_LONG = 100
"""Characters of a text that is a block of its own; a plain one would be broken into lines."""


class _Dumper(yaml.SafeDumper):
    """Queries as blocks, and lists within a line."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar(
        "tag:yaml.org,2002:str", value, style="|" if "\n" in value or len(value) > _LONG else None
    )


def _list(dumper: yaml.SafeDumper, value: list[Any]) -> yaml.SequenceNode:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=True)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)
