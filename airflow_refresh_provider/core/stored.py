"""The base of everything that is written to control tables or commit notes.

Stored models are frozen and refuse unknown fields, so a row written by a newer format never loses a field silently.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Stored(BaseModel):
    """A frozen value that survives a round trip through JSON unchanged."""

    model_config = ConfigDict(frozen=True, extra="forbid")
