"""Which definitions upstream of others have changes to apply: a refresh reads what these have last published."""

from __future__ import annotations

from functools import cache

from airflow_refresh_provider.core.timing.cascade import located, with_upstream
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.report.observation import observe


class ChangedUpstream:
    """Of all definitions in one view: each is looked at once, and only if another reads its target."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._records = {record.name: record for record in ports.store.records()}
        self._located = located((record.definition for record in self._records.values()), ports.environment)
        self._has_changes = cache(self._look)

    def of(self, name: str) -> tuple[str, ...]:
        """Those that a cascade would refresh before a definition, by name; one that cannot be read is left out."""
        above = with_upstream([name], self._located)
        return tuple(one.name for one in above if one.name != name and self._has_changes(one.name))

    def _look(self, name: str) -> bool:
        record = self._records[name]
        published = record.published
        if published is None or published.definition_hash != record.definition.hash:
            return True
        seen = observe(self._ports, record)
        return seen.replaced is not None or bool(seen.inputs and seen.inputs.behind)
