"""The published version of a target, for readers of whole refreshes."""

from __future__ import annotations

import os

from airflow_refresh_provider.core.text.stored import Stored


class PublishedVersion(Stored):
    """A version of a target that is one whole refresh, and the Spark SQL that reads it."""

    name: str
    target: str
    version: int
    sql: str


def published(name: str, control: str | None = None) -> PublishedVersion:
    """The newest complete refresh of a definition. `control` defaults to that of the environment; in Airflow,
    `RefreshHook` has that of a connection.

    Needs no Spark. Raises Invalid for an unknown name, and Failed when no version is published or it no longer exists.
    """
    from airflow_refresh_provider.compose import refreshes
    from airflow_refresh_provider.core.definition.columns import HIDDEN
    from airflow_refresh_provider.core.definition.definition import Layout
    from airflow_refresh_provider.places import current_folder, resolve

    places = resolve(os.environ, current_folder, control, None)
    definition, done = refreshes(places).published(name)
    hidden = f" EXCEPT ({', '.join(HIDDEN)})" if definition.layout is Layout.VNODE else ""
    location = definition.target.replace("`", "``")
    return PublishedVersion(
        name=name,
        target=definition.target,
        version=done.version,
        sql=f"SELECT *{hidden} FROM delta.`{location}` VERSION AS OF {done.version}",
    )
