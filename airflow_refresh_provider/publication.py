"""What readers of whole refreshes read: the published version of a definition's target."""

from __future__ import annotations

import os
from pathlib import Path

from airflow_refresh_provider.core.stored import Stored
from airflow_refresh_provider.errors import Failed


class PublishedVersion(Stored):
    """A version of a target that is one whole refresh, and the Spark SQL that reads it."""

    name: str
    target: str
    version: int
    sql: str


def published(name: str, control: str | None = None) -> PublishedVersion:
    """The newest whole refresh of a definition. `control` defaults to the environment's; in Airflow `RefreshHook` knows
    the one of a connection.

    Raises Invalid for an unknown name and Failed when nothing has been published yet. Needs no Spark.
    """
    from airflow_refresh_provider.compose import refreshes
    from airflow_refresh_provider.core.columns import HIDDEN
    from airflow_refresh_provider.core.definition import Layout
    from airflow_refresh_provider.places import resolve

    places = resolve(os.environ, str(Path.cwd()), control, None)
    status = refreshes(places).show(name)
    if status.published_version is None:
        raise Failed(
            "not_published",
            f"{name} has not been refreshed yet",
            left="There is no version to read.",
            next=f"Refresh it: `airflow-refresh run {name}`.",
        )
    hidden = f" EXCEPT ({', '.join(HIDDEN)})" if status.definition.layout is Layout.VNODE else ""
    location = status.target.replace("`", "``")
    return PublishedVersion(
        name=name,
        target=status.target,
        version=status.published_version,
        sql=f"SELECT *{hidden} FROM delta.`{location}` VERSION AS OF {status.published_version}",
    )
