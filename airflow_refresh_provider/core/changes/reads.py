"""Reads: how an engine reads an input, as data in the terms of Spark's reader; no kind of input needs Spark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from airflow_refresh_provider.core.text.stored import Stored

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MERGED = "mergeschema"
Positions = tuple[tuple[int, ...], ...]
"""Positions of rows, of each of some files."""
BASE_PATH = "basePath"
"""Spark's option that says below which folder subfolders like `day=1` are columns."""


class Read(Stored):
    """One call of Spark's reader: format, options and what is loaded.

    `paths` are files by their exact names; without any, `location` is loaded. `columns_of`: the columns are those of
    another read; `schema_text`: they are these, in Spark's DDL. Some of its data files are read by themselves as
    `file_format` with `file_options`. `hidden`: columns that are not its user's. `quoted_partitions`: whether the name
    of a partition column has to be quoted in SQL. `deleted`: the positions of rows that do not count, for each of the
    `paths`, where there are any. `chosen`: the positions of the only rows that count, where not all do.
    """

    location: str
    format: str
    options: dict[str, str] = {}
    paths: tuple[str, ...] = ()
    columns_of: Read | None = None
    schema_text: str | None = None
    file_format: str
    file_options: dict[str, str] = {}
    hidden: tuple[str, ...] = ()
    quoted_partitions: bool = False
    deleted: Positions = ()
    chosen: Positions = ()

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

    def for_columns(self) -> Read:
        """A read of the fewest files in which Spark finds the same columns as in all of them.

        It takes them from the footer of the first file by name, and those that folders stand for from the names of all
        folders; where schemas are merged, from all footers. More than 32 paths are listed in a job with a task for
        each: a window of ten new files finds its columns in 2 jobs with 2 tasks where 1,510 files are in one folder, in
        4 jobs with 82 tasks where they are in 40.
        """
        merged = any(name.lower() == _MERGED and given.lower() != "false" for name, given in self.options.items())
        if self.format != "parquet" or merged or not self.paths:
            return self
        of_folder = {path.rpartition("/")[0]: path for path in sorted(self.paths, key=_in_java, reverse=True)}
        return self.model_copy(update={"paths": tuple(of_folder.values())})


def _in_java(path: str) -> bytes:
    """What a path is sorted by in Java."""
    return path.encode("utf-16-be", "surrogatepass")


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
