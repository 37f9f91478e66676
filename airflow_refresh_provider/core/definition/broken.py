"""The stand-in for a file that cannot be read, so that the other definitions of its folder can still be used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from airflow_refresh_provider.errors import Invalid


@dataclass(frozen=True)
class Broken:
    """A file with something wrong in it. `name` is derived from the file's name, `error` lists every problem.

    Any other attribute raises that error, so that it cannot be used as a definition by mistake.
    """

    name: str
    file: str
    error: Invalid

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):  # asked by Python itself, when it copies for example
            raise AttributeError(name)
        raise self.error
