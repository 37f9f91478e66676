"""Storage: object stores by location, and what their errors mean to a caller.

Local places are plain paths, all others URIs whose credentials come from the environment. Whatever delta-rs or an
object store raises leaves this package as Failed (fix the storage) or Retry (try again).
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from deltalake.exceptions import DeltaError
from obstore.exceptions import BaseError
from obstore.store import LocalStore, ObjectStore, from_url

from airflow_refresh_provider.errors import Failed, RefreshError, Retry

STORAGE_ERRORS = (DeltaError, BaseError, OSError)
"""What the libraries below raise for storage that fails."""

NO_PERMISSION = "storage_denied"
"""The code of an error that other credentials may help against."""

_ROOM_FOR_A_COMMIT = 1 << 20
_DENIED = (
    "permission denied",
    "permissiondenied",
    "read-only file",
    "operation not permitted",
    "unauthenticated",
    "lacked the necessary privileges",
    "403 forbidden",
    "401 unauthorized",
)
_UNTRUSTED = ("invalid peer certificate", "invalidcertificate(")
_SAID = re.compile(r"<Code>(.*?)</Code>\s*<Message>(.*?)</Message>", re.DOTALL)
"""What storage with the protocol of S3 answers."""
_BEYOND = ("kernel error: unsupported", "catalog-managed table")
_FULL = ("no space left", "storagefull", "disk quota exceeded")


def is_local(location: str) -> bool:
    """Whether a location is a path of this machine."""
    return "://" not in location


def file_in_the_way(location: str) -> str | None:
    """Why no folder can be at a local location, in words that follow its name; None when one can."""
    if not is_local(location):
        return None
    place = Path(location)
    file = next((part for part in (place, *place.parents) if part.is_file()), None)
    if file is None:
        return None
    return "is a file" if file == place else f"cannot be made: {file} is a file"


def open_store(location: str) -> ObjectStore | None:
    """The objects below a location; None for a local folder that does not exist."""
    if not is_local(location):
        return from_url(location)
    return LocalStore(location, automatic_cleanup=True) if Path(location).is_dir() else None


def make_store(location: str) -> ObjectStore:
    """As `open_store`, making a local folder that does not exist."""
    if is_local(location):
        return LocalStore(location, automatic_cleanup=True, mkdir=True)
    return from_url(location)


@contextmanager
def storage(doing: str, location: str) -> Iterator[None]:
    """Raise the errors of storage met inside as this package's own."""
    try:
        yield
    except STORAGE_ERRORS as error:
        raise translated(error, doing, location) from error


@dataclass(frozen=True)
class UntypedErrors:
    """Inside, an error that is an Exception and nothing more specific is one of storage; all others pass.

    That is how delta-rs says that a data file is lost or damaged.
    """

    doing: str
    location: str

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if kind is Exception and isinstance(error, Exception):
            raise translated(error, self.doing, self.location) from error


def translated(error: Exception, doing: str, location: str) -> RefreshError:
    """The error a caller sees for one of storage: what was being done, and where."""
    text = str(error).lower()
    if any(sign in text for sign in _FULL):
        return _full(doing, location)
    if isinstance(error, PermissionError) or any(sign in text for sign in _DENIED):
        return _denied(doing, location, _said(error))
    if any(sign in text for sign in _UNTRUSTED):
        return _untrusted(doing, location)
    if any(sign in text for sign in _BEYOND):
        return Failed(
            "table_unsupported",
            f"{doing} failed at {location}: {_first_line(error)}",
            left="Nothing was written by this step; everything stored before it is intact.",
            next="Drop the feature from the table (ALTER TABLE ... DROP FEATURE), or use another one: "
            "delta-rs, which reads logs here, does not know such tables.",
        )
    return Retry(
        "storage_failed",
        f"{doing} failed at {location}: {_first_line(error)}",
        left="The outcome of a write is unknown; the next run checks it. Nothing stored before it is lost.",
        next="Run again; if it keeps failing, check the storage.",
    )


def _free(place: Path) -> int:
    return shutil.disk_usage(place).free


def check_room(doing: str, location: str, free: Callable[[Path], int] = _free) -> None:
    """Refuse to start a write on a local disk that cannot take it, or may not be written. Raises Failed.

    Checked before, because delta-rs prints a stack trace when it fails there. `free` returns how many bytes are left at
    a location.
    """
    if not is_local(location):
        return
    place = Path(location)
    while not place.exists():
        place = place.parent
    if not os.access(place, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise _denied(doing, location)
    if free(place) < _ROOM_FOR_A_COMMIT:
        raise _full(doing, location)


def _denied(doing: str, location: str, said: str | None = None) -> Failed:
    return Failed(
        NO_PERMISSION,
        f"{doing} failed: no permission for {location}{f' ({said})' if said else ''}",
        left="Nothing was written by this step; everything stored before it is intact.",
        next=f"Give this user{', or its credentials,' if said else ''} access to {location}, then run again.",
    )


def _said(error: Exception) -> str | None:
    """Why storage far away has refused a request."""
    found = _SAID.search(str(error))
    return ": ".join(found.groups()) if found else None


def _untrusted(doing: str, location: str) -> Failed:
    return Failed(
        "storage_tls",
        f"{doing} failed: the certificate of the storage of {location} is not trusted here",
        left="Nothing was written by this step; everything stored before it is intact.",
        next="Have this machine trust who signed it (SSL_CERT_FILE), or correct the endpoint, then run again.",
    )


def _full(doing: str, location: str) -> Failed:
    return Failed(
        "disk_full",
        f"{doing} failed: no space left at {location}",
        left="Nothing was written by this step; everything stored before it is intact.",
        next="Free some space, then run again; an interrupted run goes on from its last commit.",
    )


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
