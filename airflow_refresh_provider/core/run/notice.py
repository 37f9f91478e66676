"""A notice: what a refresh did otherwise than its definition says, without failing."""

from __future__ import annotations

from airflow_refresh_provider.core.text.stored import Stored


class Notice(Stored):
    """One notice: `code` for programs, `message` for people. docs/errors.md lists the codes."""

    code: str
    message: str

    @property
    def line(self) -> str:
        """Code and message."""
        return f"{self.code}: {self.message}"
