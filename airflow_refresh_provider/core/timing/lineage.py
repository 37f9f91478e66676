"""Which definitions are upstream and downstream of one, by how many steps, and what else they read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from airflow_refresh_provider.core.definition.definition import Definition

Steps = dict[str, int]
"""Name -> the fewest steps to it, in the order in which they were found."""


def reads(definitions: Collection[Definition]) -> dict[str, tuple[str, ...]]:
    """Name -> the definitions that make its inputs."""
    makers = {definition.target: definition.name for definition in definitions}
    found = {}
    for definition in definitions:
        made = [makers[read.path] for read in definition.inputs.values() if read.path in makers]
        found[definition.name] = tuple(dict.fromkeys(made)) if made else ()
    return found


def sources(definitions: Collection[Definition], readers: Collection[str]) -> dict[str, list[tuple[str, str]]]:
    """Place that no definition makes -> the readers among these, each with the name of its input."""
    made = {definition.target for definition in definitions}
    found: dict[str, list[tuple[str, str]]] = {}
    for definition in definitions:
        if definition.name in readers:
            for name, read in definition.inputs.items():
                if read.path not in made:
                    found.setdefault(read.path, []).append((definition.name, name))
    return found


def lineage(above: Mapping[str, Iterable[str]], name: str) -> tuple[Steps, Steps]:
    """Those upstream and those downstream of a definition; it is not among them, even in a circle. `above` is what each
    of all definitions reads.
    """
    below: dict[str, list[str]] = {}
    for reader, made in above.items():
        for maker in made:
            below.setdefault(maker, []).append(reader)
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
