"""Which alerts were reported before, so that one that lasts is not reported at every look."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from pydantic import Field

from airflow_refresh_provider.core.run.alert import Alert, News, over
from airflow_refresh_provider.core.run.alert_reasons import About
from airflow_refresh_provider.core.run.reports import DefinitionStatus
from airflow_refresh_provider.core.text.stored import Stored


class ReportedAlert(Stored):
    """An alert that lasted at the last look: when it was reported first, and when for the last time."""

    name: str
    about: About
    code: str
    since: datetime
    reported_at: datetime


class Reported(Stored):
    """What was reported up to a look; a definition has one alert at a time."""

    format: int = Field(default=1, le=1)
    alerts: tuple[ReportedAlert, ...] = ()


def news(
    before: Reported,
    found: Iterable[Alert],
    statuses: Mapping[str, DefinitionStatus],
    now: datetime,
    repeat_after: timedelta,
) -> tuple[tuple[Alert, ...], Reported]:
    """What is to be reported of the alerts that were found, and what was reported then.

    One is reported when it starts or its code changes, again whenever it has lasted for `repeat_after` since, and when
    it is over. `statuses`: of the definitions that were looked at; those that were not are not reported any more.
    """
    known = {one.name: one for one in before.alerts}
    new: list[Alert] = []
    after: list[ReportedAlert] = []
    for alert in found:
        old = known.pop(alert.name, None)
        lasts = old is not None and old.code == alert.code
        again = old if old and lasts and now - old.reported_at < repeat_after else None
        if again is None:
            new.append(alert.model_copy(update={"news": News.LASTS if lasts else News.STARTED}))
        after.append(again or _reported(alert, old.since if old and lasts else now, now))
    ended = [one for one in known.values() if one.name in statuses]
    new += [over(one.about, one.code, one.since, statuses[one.name]) for one in ended]
    return tuple(new), Reported(alerts=tuple(after))


def _reported(alert: Alert, since: datetime, now: datetime) -> ReportedAlert:
    return ReportedAlert(name=alert.name, about=alert.about, code=alert.code, since=since, reported_at=now)
