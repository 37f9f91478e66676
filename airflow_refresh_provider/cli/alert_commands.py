"""What a person has to know now, and what of it is new since the last look, by a file that the caller keeps."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path

from pydantic import ValidationError

from airflow_refresh_provider.cli.call import Call
from airflow_refresh_provider.core.definition.schedule import duration
from airflow_refresh_provider.core.definition.selection import Selection
from airflow_refresh_provider.core.run.alert import Alerts
from airflow_refresh_provider.core.run.reported import Reported
from airflow_refresh_provider.errors import Failed, Invalid


def alerts(
    call: Call,
    name: list[str],
    tag: list[str],
    all: bool,
    reported: str | None,
    repeat_after: str,
    retention_below: str,
) -> Alerts:
    """The alerts that hold; with a file those that are new, and the file then says that they were reported."""
    selection = Selection(tuple(name), tuple(tag), every=all or not (name or tag))
    selection.check()
    within, again = _duration("--retention-below", retention_below), _duration("--repeat-after", repeat_after)
    before = _read(Path(reported)) if reported else None
    refreshes = call.refreshes()
    if reported is None or before is None:
        return Alerts(alerts=refreshes.alerts(selection, within))
    found, after = refreshes.new_alerts(selection, before, within, again)
    if after != before:
        _write(Path(reported), after)
    return Alerts(alerts=found)


def _duration(option: str, text: str) -> timedelta:
    try:
        return duration(text)
    except ValueError:
        raise Invalid("usage", f"{option}: {text!r} is not a duration", next="Give one such as `24 h`.") from None


def _read(path: Path) -> Reported:
    """What was reported; nothing where there is no file yet. Raises Invalid."""
    try:
        return Reported.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return Reported()
    except (OSError, ValidationError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is none that this version of `alerts` has written"
        raise Invalid(
            "reported_file",
            f"{path} cannot be read: {why}",
            next="Name another file, or remove it: then every alert is reported again.",
        ) from None


def _write(path: Path, after: Reported) -> None:
    """Replace the file as a whole. Raises Failed."""
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as made:
            made.write(after.model_dump_json(indent=2).encode())
        Path(made.name).replace(path)
    except OSError as error:
        raise Failed(
            "reported_file",
            f"{path} cannot be written: {error.strerror}",
            left="The file is as it was, so the same alerts are reported by the next call that can write it.",
            next="Name a file in a folder that can be written.",
        ) from None
