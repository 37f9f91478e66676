"""A cascade in one process: definitions that feed each other refreshed in order, from one state of what none makes.

Which that state is, is looked up once and handed to every refresh as its pins; a target is read as its own definition
has just published it. One that fails stops those it feeds and no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from airflow_refresh_provider.core.changes.pins import Pin, VersionVector
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.core.run.results import CascadeResult, CascadeStep, ErrorReport, Outcome, RunResult
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
    """What some inputs are now, by place. One that cannot be read is left out: whoever reads it will fail with it."""
    found: list[Pin] = []
    for name, read in reads:
        try:
            found.append(pinned_inputs.newest(ports, name, read))
        except (Invalid, Refused, Failed) as error:
            ports.watch.note(f"an input cannot be read: {error.message}")
    return {pin.location: pin for pin in found}


def cascade(ports: Ports, names: Sequence[str], request: Request) -> CascadeResult:
    """Refresh these definitions and those that feed them.

    Raises Invalid for an unknown name or a circle. What a single refresh raises is told in its step; only a wish to
    stop ends all.
    """
    named = [registered(ports, name, ports.store.read(name).record).name for name in names]
    stored = located((record.definition for record in ports.store.records()), ports.environment)
    links = ordered(with_upstream(named, stored))
    wanted = request.model_copy(update={"pins": pinned(ports, bases(links).items())})
    steps: list[CascadeStep] = []
    for link in links:
        steps.append(_step(ports, link, steps, wanted))
    return summary_of(steps)


def _step(ports: Ports, link: Link, before: Sequence[CascadeStep], request: Request) -> CascadeStep:
    name = link.definition.name
    if parents := failed_upstream(link, before):
        reason = f"it reads {', '.join(parents)}, and that was not refreshed"
        return CascadeStep(name=name, outcome=Outcome.SKIPPED, reason=reason)
    ports.watch.note(f"refreshing {name}")
    try:
        result = _refreshed(ports, name, request)
    except RefreshError as error:
        state = Outcome.REFUSED if isinstance(error, Refused) else Outcome.FAILED
        return CascadeStep(name=name, outcome=state, reason=error.message, error=ErrorReport.of(error))
    return CascadeStep(name=name, outcome=result.outcome, reason=result.reason, result=result)


def _refreshed(ports: Ports, name: str, request: Request) -> RunResult:
    """One refresh; a run that was found unfinished is finished at its own pins, and another brings it to these."""
    result = refresh(ports, name, request)
    if not result.resumed:
        return result
    again = refresh(ports, name, request)
    return result if again.outcome is Outcome.NOTHING_TO_DO else again
