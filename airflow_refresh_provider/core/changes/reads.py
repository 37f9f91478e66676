"""Reads: how an engine reads an input, as data in the terms of Spark's reader; no kind of input needs Spark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from airflow_refresh_provider.core.text.stored import Stored

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
BASE_PATH = "basePath"
"""Spark's option that says below which folder subfolders like `day=1` are columns."""


class Read(Stored):
    """One call of Spark's reader: format, options and what is loaded.

    `paths` are files by their exact names; without any, `location` is loaded. `columns_of`: the columns are those of
    another read. Some of its data files are read by themselves as `file_format` with `file_options`. `hidden`: columns
    that are not its user's. `quoted_partitions`: whether the name of a partition column has to be quoted in SQL.
    """

    location: str
    format: str
    options: dict[str, str] = {}
    paths: tuple[str, ...] = ()
    columns_of: Read | None = None
    file_format: str
    file_options: dict[str, str] = {}
    hidden: tuple[str, ...] = ()
    quoted_partitions: bool = False

    def of_files(self, files: tuple[str, ...]) -> Read:
        """Some of its data files, with the columns of the whole."""
        return self.model_copy(
            update={
                "format": self.file_format,
                "options": self.file_options,
                "paths": files,
                "columns_of": self.columns_of or self,
            }
        )


def quoted(columns: Iterable[str]) -> bool:
    """Whether the name of one of these columns has to be quoted in SQL."""
    return any(_PLAIN_NAME.fullmatch(name) is None for name in columns)


def delta_table(location: str, options: Mapping[str, str], hidden: tuple[str, ...] = (), **more: str) -> Read:
    """A Delta table with the reader options of its input, and more that are not for its data files."""
    return Read(
        location=location,
        format="delta",
        options={**options, **more},
        file_format="parquet",
        file_options={**options, BASE_PATH: location},
        hidden=hidden,
    )
