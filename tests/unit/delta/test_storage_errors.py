"""The errors that a caller gets when storage fails: the texts are those of delta-rs and the object stores."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake.exceptions import CommitFailedError, DeltaError
from obstore.exceptions import GenericError

from airflow_refresh_provider.delta.storage.object_stores import check_room, storage
from airflow_refresh_provider.errors import Failed, RefreshError, Retry

_DENIED = "Failed to parse parquet: External: Unable to open file /c/state/part-0#1: Permission denied (os error 13)"
_READ_ONLY = "Generic LocalFileSystem error: Unable to create dir /c/state: Read-only file system (os error 30)"
_FULL = "Generic LocalFileSystem error: Unable to copy data to file: No space left on device (os error 28)\n\nDebug"


def _raised(error: Exception) -> RefreshError:
    with pytest.raises(RefreshError) as caught, storage("writing the control table state", "/c/state"):
        raise error
    assert "writing the control table state" in caught.value.message and "/c/state" in caught.value.message
    assert "\n" not in caught.value.message and caught.value.left and caught.value.next
    return caught.value


@pytest.mark.parametrize("error", [DeltaError(_DENIED), GenericError(_READ_ONLY), PermissionError(13, "no")])
def test_missing_permissions_are_an_error_for_the_user(error: Exception) -> None:
    found = _raised(error)
    assert isinstance(found, Failed) and found.code == "storage_denied"


@pytest.mark.parametrize("error", [DeltaError(_FULL), GenericError(_FULL), OSError(28, "No space left on device")])
def test_a_full_disk_is_named(error: Exception) -> None:
    found = _raised(error)
    assert isinstance(found, Failed) and found.code == "disk_full"


@pytest.mark.parametrize("error", [GenericError("timed out\nafter 3 tries"), CommitFailedError("busy"), OSError()])
def test_anything_else_may_be_tried_again(error: Exception) -> None:
    found = _raised(error)
    assert isinstance(found, Retry) and found.code == "storage_failed"


def test_a_write_does_not_begin_on_a_full_disk(tmp_path: Path) -> None:
    disks = {tmp_path: 1000}
    check_room("writing", str(tmp_path / "not" / "there" / "yet"))
    with pytest.raises(Failed) as caught:
        check_room("writing", str(tmp_path / "not" / "there" / "yet"), disks.__getitem__)
    assert caught.value.code == "disk_full"
    check_room("writing", "s3://bucket/control", disks.__getitem__)
