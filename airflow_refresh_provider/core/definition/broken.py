"""What stands in the place of definitions that cannot be read, so that the others of their folder need not wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from airflow_refresh_provider.errors import Invalid


@dataclass(frozen=True)
class Broken:
    """A file with something wrong in it. `name` is made from the file's, `error` says all that is wrong.

    Whatever else is asked of it raises that error: nobody takes it for a definition unawares.
    """

    name: str
    file: str
    error: Invalid

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):  # asked by Python itself, when it copies for example
            raise AttributeError(name)
        raise self.error
