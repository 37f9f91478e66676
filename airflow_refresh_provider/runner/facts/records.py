"""Records of definitions as every step reads them: whether registered, being dropped, and held by a live owner."""

from __future__ import annotations

from airflow_refresh_provider.core.run.owner import Beat, Liveness, OriginStatus, liveness
from airflow_refresh_provider.core.run.record import Record, Run
from airflow_refresh_provider.core.text.wording import suggestion
from airflow_refresh_provider.errors import Invalid, Refused
from airflow_refresh_provider.ports.bundle import Ports


def registered(ports: Ports, name: str, record: Record | None) -> Record:
    """The record of a registered definition. Raises Invalid, naming the control root."""
    if record is None or record.dropped:
        nowhere = "" if ports.store.exists else ", where no control tables are"
        close = suggestion(name, (other.name for other in ports.store.records()))
        raise Invalid(
            "unknown_name",
            f"no definition named {name!r} is registered in {ports.store.root}{nowhere}{f'.{close}' if close else ''}",
            next="See the names with `airflow-refresh list`, register the definition's file, "
            "or name another control root.",
        )
    return record


def being_dropped(name: str) -> Refused:
    """The error of a command on a definition that is being dropped."""
    return Refused(
        "resetting",
        f"{name} is being dropped",
        left="The target is kept unless --delete-target was given.",
        next=f"Finish it with `airflow-refresh drop {name}`, or wait for it.",
    )


def owner_liveness(ports: Ports, record: Record) -> Liveness:
    """Whether the owner of the run in progress, if any, is still running."""
    run = record.run
    if run is None:
        return Liveness.UNOWNED
    origin_status = ports.processes.origin_status(run.origin) if run.origin else OriginStatus.UNKNOWN
    owners = tuple(o for o in (run.lease.owner, *(c.owner for c in run.claims.values())) if o)
    alive = False if owners and all(ports.processes.alive(o) is False for o in owners) else None
    return liveness(ports.clock.now(), owners, run.lease.taken_at, beats(ports, record.name, run), alive, origin_status)


def beats(ports: Ports, name: str, run: Run) -> tuple[Beat, ...]:
    """Signs of life of the present owners; those of former owners are ignored."""
    present = {run.generation, *(claim.generation for claim in run.claims.values())}
    return tuple(b for b in ports.store.beats(name, run.run_id) if b.generation in present)
