"""The control root: one object names its identity and the format of everything below it.

The mark is written once, by the first writer; of two racing writers both use the mark that won. Reading never
creates anything, and a folder that holds something else is never made a control root.
"""

from __future__ import annotations

import re
import uuid
from contextlib import suppress

import obstore
from obstore.exceptions import AlreadyExistsError
from obstore.store import ObjectStore
from pydantic import BaseModel, ConfigDict, ValidationError

from airflow_refresh_provider.delta.control.stored_columns import FORMAT
from airflow_refresh_provider.delta.storage.object_stores import (
    check_room,
    file_in_the_way,
    make_store,
    open_store,
    storage,
)
from airflow_refresh_provider.errors import Failed, Invalid, Refused

MARK = "control.json"
_STATE = "state"

# What may be there before the mark: staging, and what a process writes that outlived the root it knew.
_NEIGHBOURS = frozenset({"staging", "application_results", "beats", "progress", "events"})
# delta-rs makes a URL of a path and panics over some of them, when the root would be half made already; a name that is
# not UTF-8 comes as lone surrogates.
_UNSUPPORTED = re.compile(r"[%\\\[\]^|\x00-\x1f\x7f\ud800-\udfff]")


class Mark(BaseModel):
    """What the object says. Fields of later formats are not looked at: the format is judged first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    format: int
    control_id: str


def check_place(root: str) -> None:
    """Refuse paths that delta-rs cannot address. Raises Invalid."""
    if _UNSUPPORTED.search(root):
        raise Invalid(
            "control_root_path",
            f"control tables cannot be kept at {root!r}: "
            "% \\ [ ] ^ |, control characters and what is not UTF-8 are not possible there",
            next="Choose another path for --control.",
        )


def read_mark(root: str) -> Mark | None:
    """The mark of a root, None when there is none yet.

    Raises Invalid when its format is newer than this program, Refused when no control tables can ever be there, Failed
    when there are some whose mark is gone.
    """
    with storage("reading the control tables", root):
        store = open_store(root)
        if store is None:
            _check_no_file(root)
            return None
        text = _text(store)
        if text is None and any(obstore.list_with_delimiter(store, _STATE).values()):
            text = _text(store)  # the mark is made before anything else, and that may have been just now
            if text is None:
                raise _damaged(root, "is gone, which says which format the control tables have")
    return None if text is None else _judged(root, text)


def make_mark(root: str) -> Mark:
    """The mark of a root, put there when there is none. Raises Refused when the root holds something else."""
    doing = "creating the control tables"
    check_room(doing, root)
    with storage(doing, root):
        _check_no_file(root)
        store = make_store(root)
        _check_vacant(store, root)
        mark = Mark(format=FORMAT, control_id=str(uuid.uuid4()))
        with suppress(AlreadyExistsError):
            obstore.put(store, MARK, mark.model_dump_json().encode(), mode="create")
    found = read_mark(root)
    assert found is not None
    return found


def _text(store: ObjectStore) -> bytes | None:
    try:
        return bytes(obstore.get(store, MARK).bytes())
    except FileNotFoundError:
        return None


def _check_vacant(store: ObjectStore, root: str) -> None:
    listed = obstore.list_with_delimiter(store)
    names = {str(p).rstrip("/").rpartition("/")[2] for p in listed["common_prefixes"]}
    names |= {str(o["path"]).rpartition("/")[2] for o in listed["objects"] if o["size"]}  # empty ones may be folders
    others = sorted(n for n in names - _NEIGHBOURS if not n.startswith("."))
    if others and read_mark(root) is None:
        raise _taken(root, f"holds other things ({', '.join(others[:3])}) and no control tables")


def _check_no_file(root: str) -> None:
    if why := file_in_the_way(root):
        raise _taken(root, why)


def _taken(root: str, why: str) -> Refused:
    return Refused("control_not_empty", f"{root} {why}", next="Give an empty or a new folder as --control.")


def _damaged(root: str, why: str) -> Failed:
    return Failed(
        "control_damaged",
        f"{root}/{MARK} {why}",
        left="Nothing was changed.",
        next=f"Restore {MARK} from a backup, or choose a new --control and register the definitions again.",
    )


def _judged(root: str, text: bytes) -> Mark:
    try:
        mark = Mark.model_validate_json(text)
    except ValidationError:
        raise _damaged(root, "cannot be read: it does not say which format the control tables have") from None
    if mark.format > FORMAT:
        raise Invalid(
            "newer_control_format",
            f"the control tables at {root} have format {mark.format}; this program knows formats up to {FORMAT}",
            next="Upgrade airflow-refresh-provider here, or give another --control.",
        )
    return mark
