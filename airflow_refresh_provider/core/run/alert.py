"""What a person has to know of a table: what failed, how the table was left, what readers see, what to do."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from airflow_refresh_provider.core.run.alert_reasons import About, moment, reason_of
from airflow_refresh_provider.core.run.reports import DefinitionStatus
from airflow_refresh_provider.core.text.stored import Stored
from airflow_refresh_provider.core.text.wording import counted
from airflow_refresh_provider.errors import Cancelled, Explained, Interrupted, Lost, Retry


class News(StrEnum):
    """What is new of an alert, where it is not reported at every look."""

    STARTED = "started"
    LASTS = "lasts"  # it was reported before, and long enough ago to be reported again
    OVER = "over"


class Alert(Stored):
    """One message. `left`: how the table was left; `readers`: what they see; `clear`: whether clearing the task is
    safe; `command`: the one to run; `page`: the address of the definition. `since`: when it began, null where that is
    not known. `news`: what is new of it, null where it is reported at every look.
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
    since: datetime | None = None
    news: News | None = None

    @property
    def title(self) -> str:
        """One line."""
        how = {News.LASTS: ", which lasts", News.OVER: ", which is over"}.get(self.news, "") if self.news else ""
        return f"{self.name}: {self.about.value} [{self.code}]{how}"

    @property
    def text(self) -> str:
        """The whole message."""
        lines = [self.title, self.message, f"How the table was left: {self.left}", f"What readers see: {self.readers}"]
        lines += [f"Is a clear safe: {self.clear}", f"What to do: {self.next}", f"Run: {self.command}"]
        return "\n".join(lines + [f"See: {self.page}"] * bool(self.page))


class Alerts(Stored):
    """What a person has to know of several definitions, at most one alert of each."""

    alerts: tuple[Alert, ...]


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


def of_state(
    status: DefinitionStatus, now: datetime, retention_below: timedelta, *, failures: bool = False
) -> Alert | None:
    """The alert of a definition that was looked at, if it needs one; `failures`: also where its last run has failed."""
    reason = reason_of(status, now, retention_below, failures=failures)
    if reason is None:
        return None
    first = "Fix the cause, then resume it." if status.suspended else "Refresh it now, or find out why no refresh has."
    return Alert(
        about=reason.about,
        name=status.name,
        code=reason.code,
        message=reason.message,
        left=_left(status),
        readers=_readers(status),
        clear=_clear(status, None),
        next=f"{first} {_history(status)}",
        command=_command(status, None),
        since=reason.since,
    )


def over(about: About, code: str, since: datetime, status: DefinitionStatus) -> Alert:
    """That an alert is over, which was reported first at `since`."""
    return Alert(
        about=about,
        name=status.name,
        code=code,
        message=f"it was reported first at {moment(since)}; now the table is {status.health or 'not looked at'}",
        left=_left(status),
        readers=_readers(status),
        clear=_clear(status, None),
        next=f"Nothing. {_history(status)}",
        command=f"airflow-refresh show {status.name}",
        since=since,
        news=News.OVER,
    )


def _suspended(status: DefinitionStatus) -> str:
    return f"\nNo scheduled refresh starts any more: {status.suspended}"


def _left(status: DefinitionStatus) -> str:
    if not status.run:
        return "as the last refresh has published it"
    of = f" of {status.run.chunks_total}" if status.run.chunks_total else ""
    return f"with {counted(status.run.chunks_done, 'chunk')}{of} of an unfinished run"


def _readers(status: DefinitionStatus) -> str:
    published = (
        f"the published version is {status.published_version}, of {moment(status.published_at)}"
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
    return f"The last run {last.outcome.value} at {moment(last.at)}." if last else "It has had no run."
