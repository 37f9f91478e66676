"""A run that a person has cancelled. Part of the stored record."""

from __future__ import annotations

from datetime import datetime

from airflow_refresh_provider.core.text.stored import Stored

CODE = "cancelled"
"""The code of the error that such a run ends with."""


class Cancellation(Stored):
    """Who has cancelled a run, and when. `abandon`: it is to be abandoned; else the next run resumes it."""

    by: str
    at: datetime
    abandon: bool = False

    @property
    def text(self) -> str:
        """What has happened."""
        return f"cancelled by {self.by}"

    @property
    def then(self) -> str:
        """What the next run does."""
        return "the next run starts a new one" if self.abandon else "the next run resumes it"
