"""How a query follows its inputs, as text: by which values, and which inputs are read whole for it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from airflow_refresh_provider.core.maintain.plan import Maintenance, Route
from airflow_refresh_provider.core.maintain.temporal_sql import shown
from airflow_refresh_provider.core.text.stored import Stored

_COLUMN = re.compile(r"`(h\d+)`\.`((?:[^`]|``)*)`|\b(h\d+)\.`((?:[^`]|``)*)`")
_QUOTED = re.compile(r"`([A-Za-z_][A-Za-z0-9_]*)`")


ONLY_ADDED_UP = "adding up its changed rows"
"""How an input is followed whose rows lead to no value of the result."""


class ExplainedInput(Stored):
    """One input. `by`: how the rows of the result are found that its changes affect; null where that is not possible.

    `reason`: why not. `read_whole`: all of its rows are read also where only a part of the result is computed.
    `added_up`: where it alone has changed, its changed rows are added to the groups of the result. `temporal`: the
    conditions by which its rows also count as changed once time has passed.
    """

    name: str
    by: str | None = None
    reason: str | None = None
    read_whole: bool = False
    added_up: bool = False
    temporal: tuple[str, ...] = ()

    @property
    def followed(self) -> bool:
        """Whether a change of it is applied without computing the whole result."""
        return self.by is not None


def explained(found: Maintenance, inputs: tuple[str, ...]) -> tuple[ExplainedInput, ...]:
    """Each input of an analysed query."""
    whole = {use.input for use in found.uses if use.restrictions is None}
    return tuple(_explained(found, name, read_whole=name in whole) for name in inputs)


def _explained(found: Maintenance, name: str, *, read_whole: bool) -> ExplainedInput:
    if obstacle := found.unfollowed.get(name):
        return ExplainedInput(name=name, reason=str(obstacle), read_whole=read_whole)
    if name in found.only_added_up:
        return ExplainedInput(name=name, by=ONLY_ADDED_UP, read_whole=read_whole, added_up=True)
    ways = dict.fromkeys(_way(route, found.anchors) for route in found.routes if route.input == name)
    return ExplainedInput(
        name=name,
        by="; or ".join(ways) or "no row of it is read",
        read_whole=read_whole,
        added_up=found.sums is not None and name in found.sums.inputs,
        temporal=tuple(shown(one) for one in found.temporal if one.input == name),
    )


def _way(route: Route, anchors: tuple[str, ...]) -> str:
    """The rows that are computed again, by a changed row: `c_custkey = o_custkey`."""
    inputs = {"h0": None, **{hop.alias: hop.input for hop in route.hops}}
    values = (_shown(value, inputs) for value in route.values)
    rows = " and ".join(a if a == v else f"{a} = {v}" for a, v in zip(anchors, values, strict=True))
    hops = (f"{hop.input} ({_shown(hop.on, inputs)})" for hop in route.hops)
    return f"{rows}, joined with {', '.join(hops)}" if route.hops else rows


def _shown(sql: str, inputs: Mapping[str, str | None]) -> str:
    """An expression with the names of inputs for those of hops, and with few quotes."""

    def column(match: re.Match[str]) -> str:
        alias, name = match[1] or match[3], match[2] or match[4]
        of = inputs.get(alias)
        return f"{of}.`{name}`" if of else f"`{name}`"

    return _QUOTED.sub(r"\1", _COLUMN.sub(column, sql)).replace(" IS NOT DISTINCT FROM ", " = ")
