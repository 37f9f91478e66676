"""Which definitions are upstream and downstream of one, and by how many steps."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from airflow_refresh_provider.core.definition.definition import Definition

Steps = dict[str, int]
"""Name -> the fewest steps to it, in the order in which they were found."""


def lineage(definitions: Collection[Definition], name: str) -> tuple[Steps, Steps]:
    """Those upstream and those downstream of a definition; it is not among them, even in a circle."""
    makers = {definition.target: definition.name for definition in definitions}
    above = {d.name: [makers[read.path] for read in d.inputs.values() if read.path in makers] for d in definitions}
    below: dict[str, list[str]] = {d.name: [] for d in definitions}
    for reader, made in above.items():
        for maker in dict.fromkeys(made):
            below[maker].append(reader)
    return _reached(above, name), _reached(below, name)


def _reached(next_to: Mapping[str, Iterable[str]], name: str) -> Steps:
    found: Steps = {}
    level, steps = [name], 0
    while level:
        steps += 1
        level = [n for n in dict.fromkeys(n for one in level for n in next_to.get(one, ())) if n not in found]
        level = [n for n in level if n != name]
        found |= dict.fromkeys(level, steps)
    return found
