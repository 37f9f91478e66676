"""Who is to blame, by the locations in the texts of an error: an input, the target, or staged changes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote

from airflow_refresh_provider.core.faults.fault import WRAPPERS, Doing, Fault


class Place(StrEnum):
    """What lies at a location."""

    INPUT = "input"
    TARGET = "target"
    STAGING = "staging"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Blamed:
    """What an error is about. `name` is that of an input, `location` where it or the table lies."""

    place: Place
    name: str = ""
    location: str = ""


_SCHEME = re.compile(r"^[a-z0-9]+:/+", re.IGNORECASE)
_ENDS = r"(?=[/`'\"\s,;:)\]]|\.?(?:\s|$))"
_NOT_MADE = re.compile(r"Mkdirs failed to create (.*?)(?: \(exists=|$)", re.DOTALL)
_FILE = re.compile(r"[^\n/]+?\.(?:parquet|json|avro|orc|csv|bin)\b")
_COLON = re.compile(r"Relative path in absolute URI: (.+)")
_LONGEST_NAME = 255
"""Bytes in the name of a file or folder, on any usual disk."""


def blamed(fault: Fault, doing: Doing) -> Blamed:
    """What an error is about: the input that was being opened, else whatever lies at the longest location named."""
    if fault.reading in doing.inputs:
        return Blamed(Place.INPUT, fault.reading or "", doing.inputs[fault.reading or ""])
    text = _texts(fault)
    found = [place for place in _places(doing) if _names(text, place.location)]
    if found:
        return max(found, key=lambda place: len(place.location))
    return _only_input(doing)


def _only_input(doing: Doing) -> Blamed:
    """Where no location is named, it is the one input if there is one, and nothing staged that could be meant."""
    if len(doing.inputs) == 1 and doing.query is not None and not doing.applies_staged:
        [(name, location)] = doing.inputs.items()
        return Blamed(Place.INPUT, name, location)
    return Blamed(Place.UNKNOWN)


def _places(doing: Doing) -> list[Blamed]:
    inputs = [Blamed(Place.INPUT, name, location) for name, location in doing.inputs.items()]
    staging = [Blamed(Place.STAGING, "", location) for location in doing.staging]
    return [*inputs, *staging, *([Blamed(Place.TARGET, "", doing.target)] if doing.target else [])]


def _names(text: str, location: str) -> bool:
    """Whether a text names a location or something below it. Schemes are not compared: `s3` is `s3a` to Spark."""
    path = unquote(_SCHEME.sub("", location)).rstrip("/")
    return re.search(re.escape(path) + _ENDS, text) is not None


def file_in(fault: Fault) -> str:
    """The name of the first file that the error names, without its folder."""
    found = _FILE.search(_texts(fault))
    return found.group(0).strip() if found else ""


def name_with_colon(fault: Fault) -> str:
    """The name that Hadoop cannot take; it may be that of the checksum file beside the one that is meant."""
    found = _COLON.search(_texts(fault))
    name = found.group(1).strip().rpartition("/")[2] if found else ""
    return name[1:].removesuffix(".crc") if name.startswith(".") and name.endswith(".crc") else name


def too_long_partition(fault: Fault) -> tuple[str, int] | None:
    """Column and bytes of the value that is too long for the name of a folder, if that is the error."""
    for cause in fault.chain:
        if found := _NOT_MADE.search(cause.message):
            for part in found.group(1).split("/"):
                column, is_value, value = part.partition("=")
                if is_value and len(part.encode()) > _LONGEST_NAME:
                    return unquote(column), len(value.encode())
    return None


def _texts(fault: Fault) -> str:
    """What the causes say, without those that only say where another one was met."""
    return unquote("\n".join(cause.message for cause in fault.chain if cause.error_class not in WRAPPERS))
