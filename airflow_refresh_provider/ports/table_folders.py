"""The folders of tables: where they really are, and their deletion."""

from __future__ import annotations

from typing import Protocol


class TableFolders(Protocol):
    """Folders by their full location."""

    def resolved(self, location: str) -> str:
        """The location with the links of a local disk followed; any other as it is."""
        ...

    def delete_table(self, location: str) -> tuple[str, ...]:
        """Delete a table: its log, and the files that the log names.

        Returns the files that are left in its folder, because the log does not name them: those of another table that
        lies below, or of writers that failed.
        """
        ...
