"""A cascade in one process: definitions and those upstream refreshed in order, at one set of outer input versions.

The versions of the inputs that no definition writes are read once and handed to every refresh as its pins; a target is
read as its own definition has just published it. A failed refresh stops those downstream of it and no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from airflow_refresh_provider.core.changes.pins import Pin, VersionVector
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import Outcome, RefreshesResult, RefreshStep, RunResult
from airflow_refresh_provider.core.timing.cascade import (
    Link,
    bases,
    failed_upstream,
    located,
    ordered,
    summary_of,
    with_upstream,
)
from airflow_refresh_provider.errors import Failed, Invalid, RefreshError, Refused
from airflow_refresh_provider.ports.bundle import Ports
from airflow_refresh_provider.runner.facts import pinned_inputs
from airflow_refresh_provider.runner.facts.records import registered
from airflow_refresh_provider.runner.steps.one_process import refresh


def pinned(ports: Ports, reads: Iterable[tuple[str, Input]]) -> VersionVector:
    """The pins of some inputs, by location. One that cannot be read is left out: the refresh that reads it fails."""
    found: list[Pin] = []
    for name, read in reads:
        try:
            found.append(pinned_inputs.newest(ports, name, read))
        except (Invalid, Refused, Failed) as error:
            ports.watch.note(f"an input cannot be read: {error.message}")
    return {pin.location: pin for pin in found}


def cascade(ports: Ports, names: Sequence[str], request: Request) -> RefreshesResult:
    """Refresh these definitions and those upstream.

    Raises Invalid for an unknown name or a cycle. The error of a single refresh is in its step; only Interrupted ends
    the cascade.
    """
    named = [registered(ports, name, ports.store.read(name).record).name for name in names]
    written = {record.name: record.definition for record in ports.store.records()}
    links = ordered(with_upstream(named, located(written.values(), ports.environment)))
    wanted = request.model_copy(update={"pins": pinned(ports, bases(links, written).items())})
    steps: list[RefreshStep] = []
    for link in links:
        steps.append(_step(ports, link, steps, wanted))
    return summary_of(steps)


def _step(ports: Ports, link: Link, before: Sequence[RefreshStep], request: Request) -> RefreshStep:
    name = link.definition.name
    if parents := failed_upstream(link, before):
        reason = f"it reads {', '.join(parents)}, and that was not refreshed"
        return RefreshStep(name=name, outcome=Outcome.SKIPPED, reason=reason)
    ports.watch.note(f"refreshing {name}")
    try:
        return RefreshStep.of(name, _refreshed(ports, name, request))
    except RefreshError as error:
        return RefreshStep.of(name, error)


def _refreshed(ports: Ports, name: str, request: Request) -> RunResult:
    """One refresh; an unfinished run is finished at its own pins first, and another refresh brings it to these."""
    result = refresh(ports, name, request)
    if not result.resumed or result.outcome is Outcome.BUDGET_SPENT:
        return result
    again = refresh(ports, name, request)
    return result if again.outcome is Outcome.NOTHING_TO_DO else again
