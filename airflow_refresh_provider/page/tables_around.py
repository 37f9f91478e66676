"""The tables around a definition, and what they say of themselves: definitions, and inputs that no definition makes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from airflow_refresh_provider.core.run.health import Health
from airflow_refresh_provider.core.run.overview import DefinitionDetail, Neighbour, Source
from airflow_refresh_provider.page import shown

_SOURCE = "input "
"""Before the place of an input that no definition makes: no name of a definition has a space."""
_LAGGING = frozenset({Health.LATE, Health.BEHIND})


@dataclass(frozen=True)
class Table:
    """A table around a definition, or its own. `steps` are the fewest, negative for one upstream; `reads` are keys of
    others; `full` is all of its name, `says` its state in words, `kind` the class of its colour.
    """

    key: str
    label: str
    steps: int
    says: str
    kind: str
    reads: tuple[str, ...]
    full: str

    @property
    def name(self) -> str | None:
        """The definition that it links to."""
        return None if self.steps == 0 or self.key.startswith(_SOURCE) else self.key


def tables_around(found: DefinitionDetail) -> list[Table]:
    """Its own table, then those upstream and downstream of it, then the inputs that no definition makes, each once."""
    own, upstream = found.status, {one.name: one.steps for one in found.upstream}
    read_by = _sources_by_reader(found.sources)
    tables = [_table(own.name, 0, shown.status(own), f"own {shown.tone(own.health)}", found.reads, read_by)]
    tables += [_of(one, -one.steps, read_by) for one in found.upstream]
    tables += [_of(one, one.steps, {}) for one in found.downstream if one.name not in upstream]
    return tables + [
        _of_source(one, 1 + min(upstream.get(reader, 0) for reader in one.readers)) for one in found.sources
    ]


def _sources_by_reader(sources: Iterable[Source]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for source in sources:
        for reader in source.readers:
            found.setdefault(reader, []).append(_SOURCE + source.path)
    return found


def _of(one: Neighbour, steps: int, read_by: dict[str, list[str]]) -> Table:
    behind = f", {shown.short(one.lag_seconds)}" if one.lag_seconds and one.health in _LAGGING else ""
    says = f"{shown.word(one.health)}{behind}"
    return _table(one.name, steps, says, shown.tone(one.health), one.reads, read_by)


def _table(name: str, steps: int, says: str, kind: str, reads: tuple[str, ...], read_by: dict[str, list[str]]) -> Table:
    return Table(name, name, steps, says, kind, (*reads, *read_by.get(name, ())), name)


def _of_source(source: Source, steps: int) -> Table:
    return Table(_SOURCE + source.path, source.name, -steps, "input", "source", (), f"{source.name} ({source.path})")
