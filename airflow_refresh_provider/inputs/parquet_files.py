"""Inputs that are parquet files."""

from __future__ import annotations

from airflow_refresh_provider.core.changes.pins import FilesPin, FileStamp
from airflow_refresh_provider.delta.tables.parquet_footers import columns_of, count_rows, not_parquet
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.inputs.listed_files import ListedFiles
from airflow_refresh_provider.ports.input_kind import InputKind


class ParquetFiles(ListedFiles):
    """A parquet file or a folder of them."""

    format = "parquet"

    def check(self, name: str, files: tuple[FileStamp, ...]) -> None:
        """Raise Invalid when one of the files is not parquet."""
        if wrong := not_parquet(files):
            raise Invalid(
                "input_not_parquet",
                f"the input {name} has a file that is not parquet: {wrong.path}",
                next="Move it elsewhere, or give it a name that begins with _, which is ignored.",
            )

    def columns_in(self, file: FileStamp) -> dict[str, str]:
        """The columns by its footer."""
        return columns_of(file)

    def count(self, files: tuple[FileStamp, ...]) -> int | None:
        """About how many rows they have, from the footers of some."""
        return count_rows(files)


KIND: InputKind[FilesPin] = ParquetFiles()
