"""The views of the control root that Airflow's connection names."""

from __future__ import annotations

import threading

from airflow_refresh_provider.airflow_plugin.health import notices
from airflow_refresh_provider.hooks.stored_hook import StoredRefreshHook
from airflow_refresh_provider.page.stored_views import StoredViews
from airflow_refresh_provider.places import Places


class Roots:
    """Views by control root: they keep what they have seen, and the connection may be changed at any time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._views: dict[Places, StoredViews] = {}

    def views(self) -> StoredViews:
        """Those of the root that the connection names now. Raises Invalid, Failed."""
        from airflow_refresh_provider.compose import refreshes

        places = StoredRefreshHook().places()
        with self._lock:
            if places not in self._views:
                self._views = {places: StoredViews(refreshes(places), notices)}
            return self._views[places]
