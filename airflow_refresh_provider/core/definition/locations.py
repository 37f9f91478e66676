"""Where tables and files are: one spelling for each place, and no credentials in it.

A local place is an absolute path without a scheme, any other a URI of a storage Spark and delta-rs both reach. Paths
are normalised as text (`//`, `.`, `..`, a slash at the end); links on disk are not followed. Relative paths are
resolved before, where a file is read.
"""

from __future__ import annotations

import posixpath
import re
from typing import Annotated
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from airflow_refresh_provider.core.text.templates import is_template

SCHEMES = ("s3", "s3a", "abfs", "abfss", "gs")

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):(?=/)")
_READ_OTHERWISE = re.compile(r"%[0-9A-Fa-f]{2}|\\")
_TABLE_NAME = re.compile(r"^[^/:\s]+$")
_VARIABLE = re.compile(r"\$\{[^}]*\}")
_AZURE = ("abfs", "abfss")  # container@account is part of the address there
_SAME_STORAGE = {"s3a": "s3", "abfss": "abfs"}


def is_relative(location: str) -> bool:
    """Whether a place is given relative to something: neither absolute, nor a URI, nor starting with a variable."""
    return not (location.startswith(("/", "${")) or _SCHEME.match(location))


def normalised(location: str) -> str:
    """The one spelling of a place. Raises ValueError, which never repeats what may be a credential."""
    if is_template(location):
        raise ValueError("must not have a Jinja template: definitions are not rendered; an input may have ${NAME}")
    if not location.strip() or any(ord(c) < 32 for c in location):
        raise ValueError("must be a path or URI without control characters")
    if location.startswith("/"):
        return _normalised_path(location)
    scheme = _SCHEME.match(location)
    if scheme is None:
        raise ValueError("must be an absolute path, or a URI such as s3://bucket/folder")
    if scheme[1].lower() == "file":
        return _local(location)
    return _remote(scheme[1].lower(), location)


def read_otherwise(location: str) -> bool:
    """Whether a local path is another one to delta-rs, which takes `%20` for a blank and a backslash for a slash."""
    return location.startswith("/") and _READ_OTHERWISE.search(location) is not None


def scheme_of(location: str) -> str:
    """The scheme of a URI; empty for a local path."""
    return location.partition("://")[0] if "://" in location else ""


def in_one_scheme(location: str) -> str:
    """A place with one scheme for each storage: files of `s3a://` are those of `s3://`, to Spark and to delta-rs."""
    scheme = scheme_of(location)
    return _SAME_STORAGE.get(scheme, scheme) + location[len(scheme) :]


def _local(uri: str) -> str:
    rest = uri[len("file:") :]
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        if host not in ("", "localhost"):
            raise ValueError("must name a file of this machine: file:///path")
        rest = slash + path
    return _normalised_path(unquote(rest) or "/")


def _normalised_path(path: str) -> str:
    normal = "/" + posixpath.normpath(path).lstrip("/")
    if normal == "/":
        raise ValueError("must not be the root of the file system: name a folder or file")
    return normal


def _remote(scheme: str, uri: str) -> str:
    address, has_query, _ = uri.partition("?")
    authority = urlsplit(address).netloc
    user, at, _ = authority.rpartition("@")
    if scheme not in SCHEMES:  # what stands before an @ or behind a ? may be a secret, so the value is not shown
        known = f"must be a local path or have one of the schemes {', '.join(SCHEMES)}"
        raise PydanticCustomError("credentials", known) if at or has_query else ValueError(known)
    if has_query or ":" in user or (at and scheme not in _AZURE):
        raise PydanticCustomError(
            "credentials", "must not carry credentials or a query string: give them to Spark, not to a definition"
        )
    folder = address.partition("://")[2].partition("/")[2].strip("/")
    if not authority or not folder:
        raise ValueError(f"must name a bucket and a folder: {scheme}://bucket/folder")
    if any(part in (".", "..") for part in folder.split("/")):
        raise ValueError("must not have . or .. in a URI: write the folders themselves")
    return f"{scheme}://{authority}/{re.sub('/+', '/', folder)}"


def _target(location: str) -> str:
    if _VARIABLE.search(location):
        raise ValueError("must not have variables: a target is identified by its path, so write the full path")
    if _TABLE_NAME.match(location):
        raise ValueError("must be an absolute path or a URI: tables of a catalog are not supported yet")
    place = normalised(location)
    if read_otherwise(place):
        raise ValueError(
            "must not have a backslash, or % before two hexadecimal digits: delta-rs resolves it to another path"
        )
    return place


def _input(location: str) -> str:
    """A place that starts with a variable is normalised when it is used, once the variable has its value."""
    return location.rstrip("/") if location.startswith("${") else normalised(location)


TargetLocation = Annotated[str, AfterValidator(_target)]
InputLocation = Annotated[str, AfterValidator(_input)]
