"""The published version of a target, for readers of whole refreshes."""

from __future__ import annotations

import os
from datetime import datetime

from airflow_refresh_provider.core.text.stored import Stored


class PublishedVersion(Stored):
    """A version of a target that is one whole refresh, and the Spark SQL that reads it.

    `readable_until`: from then on Spark refuses the version, because others have written the target since and it is
    older than the table's `delta.deletedFileRetentionDuration`; None for the newest version, which can always be read.
    """

    name: str
    target: str
    version: int
    sql: str
    readable_until: datetime | None = None


def published(name: str, control: str | None = None) -> PublishedVersion:
    """The newest complete refresh of a definition, at the newest version that has its rows: look it up for each read.
    `control` defaults to that of the environment; in Airflow,
    `RefreshHook` has that of a connection.

    Needs no Spark. Raises Invalid for an unknown name, and Failed when no version is published or it no longer exists.
    """
    from airflow_refresh_provider.compose import refreshes
    from airflow_refresh_provider.core.definition.choices import Layout
    from airflow_refresh_provider.core.definition.columns import HIDDEN
    from airflow_refresh_provider.places import current_folder, resolve

    places = resolve(os.environ, current_folder, control, None)
    found = refreshes(places).published(name)
    definition = found.definition
    hidden = f" EXCEPT ({', '.join(HIDDEN)})" if definition.layout is Layout.VNODE else ""
    location = definition.target.replace("`", "``")
    return PublishedVersion(
        name=name,
        target=definition.target,
        version=found.version,
        sql=f"SELECT *{hidden} FROM delta.`{location}` VERSION AS OF {found.version}",
        readable_until=found.until,
    )
