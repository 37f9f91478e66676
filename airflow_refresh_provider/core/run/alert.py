"""What a person has to know of a table: what failed, how the table was left, what readers see, what to do."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from airflow_refresh_provider.core.run.reports import DefinitionStatus, Freshness
from airflow_refresh_provider.core.text.stored import Stored
from airflow_refresh_provider.core.text.wording import counted
from airflow_refresh_provider.errors import Cancelled, Explained, Interrupted, Lost, Retry


class About(StrEnum):
    """What an alert is about; the first that holds counts."""

    SUSPENSION = "suspension"
    FAILURE = "failure"
    LATENESS = "lateness"
    RETENTION = "retention"


class Alert(Stored):
    """One message. `left`: how the table was left; `readers`: what they see; `clear`: whether clearing the task is
    safe; `command`: the one to run; `page`: the address of the definition.
    """

    about: About
    name: str
    code: str
    message: str
    left: str
    readers: str
    clear: str
    next: str
    command: str
    page: str | None = None

    @property
    def title(self) -> str:
        """One line."""
        return f"{self.name}: {self.about.value} [{self.code}]"

    @property
    def text(self) -> str:
        """The whole message."""
        lines = [self.title, self.message, f"How the table was left: {self.left}", f"What readers see: {self.readers}"]
        lines += [f"Is a clear safe: {self.clear}", f"What to do: {self.next}", f"Run: {self.command}"]
        return "\n".join(lines + [f"See: {self.page}"] * bool(self.page))


def of_failure(status: DefinitionStatus, error: Explained) -> Alert:
    """The alert of a task that failed. `status` is as the control tables say after it; none of its inputs is read."""
    return Alert(
        about=About.SUSPENSION if status.suspended else About.FAILURE,
        name=status.name,
        code=error.code,
        message=error.kept(redact=status.definition.redact_keys) + (_suspended(status) if status.suspended else ""),
        left=error.left,
        readers=_readers(status),
        clear=_clear(status, error),
        next=error.next,
        command=_command(status, error),
    )


def of_state(status: DefinitionStatus, now: datetime, retention_below: timedelta) -> Alert | None:
    """The alert of a definition that was looked at, if it needs one: suspended, late, or its changes expire soon."""
    expiring = _expiring(status.freshness, now, retention_below)
    if status.suspended:
        return _of_state(status, About.SUSPENSION, "suspended", f"it is suspended: {status.suspended}", expiring)
    if status.freshness and status.freshness.late:
        return _of_state(status, About.LATENESS, "late", _late(status.freshness), expiring)
    return _of_state(status, About.RETENTION, "retention", expiring) if expiring else None


def _of_state(status: DefinitionStatus, about: About, code: str, message: str, more: str | None = None) -> Alert:
    first = "Fix the cause, then resume it." if status.suspended else "Refresh it now, or find out why no refresh has."
    return Alert(
        about=about,
        name=status.name,
        code=code,
        message=f"{message}\n{more}" if more else message,
        left=_left(status),
        readers=_readers(status),
        clear=_clear(status, None),
        next=f"{first} {_history(status)}",
        command=_command(status, None),
    )


def _expiring(fresh: Freshness | None, now: datetime, within: timedelta) -> str | None:
    """That changes which are not applied expire soon, or have expired."""
    until = fresh.kept_until if fresh else None
    if until is None or until - now >= within:
        return None
    gone = "can no longer be read" if until <= now else f"can be read until {_moment(until)} only"
    return f"changes of its inputs that are not applied yet {gone}; later the next refresh compares everything"


def _late(fresh: Freshness) -> str:
    allowed = timedelta(seconds=fresh.target_lag_seconds or 0)
    behind = "it was never refreshed" if fresh.lag_seconds is None else _behind(fresh.lag_seconds)
    return f"{behind}; its target_lag is {allowed}"


def _behind(seconds: float) -> str:
    return f"it is {timedelta(seconds=round(seconds))} behind its inputs"


def _suspended(status: DefinitionStatus) -> str:
    return f"\nNo scheduled refresh starts any more: {status.suspended}"


def _left(status: DefinitionStatus) -> str:
    if not status.run:
        return "as the last refresh has published it"
    of = f" of {status.run.chunks_total}" if status.run.chunks_total else ""
    return f"with {counted(status.run.chunks_done, 'chunk')}{of} of an unfinished run"


def _readers(status: DefinitionStatus) -> str:
    published = (
        f"the published version is {status.published_version}, of {_moment(status.published_at)}"
        if status.published_at
        else "nothing is published yet"
    )
    unfinished = status.run is not None and status.run.chunks_done > 0
    return published + (
        "; who reads the newest version instead sees the chunks of an unfinished run" if unfinished else ""
    )


def _clear(status: DefinitionStatus, error: Explained | None) -> str:
    if status.suspended or status.paused:
        return "yes, but it starts nothing before the definition is resumed"
    if isinstance(error, Cancelled):
        return "it starts nothing: the task ends with `cancelled` again; trigger another DAG run"
    if isinstance(error, Lost):
        return "yes, but another owner has the run, or it has ended: the task may find nothing to do"
    goes_on = "it continues after the last chunk" if status.run else "a new run starts"
    if error is None or isinstance(error, Retry | Interrupted):
        return f"yes: {goes_on}"
    return f"yes: {goes_on}, and fails again while the cause is there"


def _command(status: DefinitionStatus, error: Explained | None) -> str:
    if status.suspended or status.paused:
        return f"airflow-refresh resume {status.name}"
    lost = isinstance(error, Lost) and not isinstance(error, Cancelled)
    return f"airflow-refresh {'show' if lost else 'run'} {status.name}"


def _history(status: DefinitionStatus) -> str:
    last = status.last_run
    return f"The last run {last.outcome.value} at {_moment(last.at)}." if last else "It has had no run."


def _moment(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC" if at else "an unknown time"
