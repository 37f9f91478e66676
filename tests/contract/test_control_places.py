"""Where control tables can be kept: a path either works, or is refused before anything is made there."""

from __future__ import annotations

import os
import string
from pathlib import Path

import pytest

from airflow_refresh_provider.delta.control.store import DeltaControlStore
from airflow_refresh_provider.errors import Invalid
from tests.contract.samples import REGISTER, moment, record

REFUSED = set("%[\\]^|")
PRINTABLE = sorted(set(string.printable) - set(string.whitespace) - {"/"} | {" "})


def keep_a_record(root: str) -> None:
    store = DeltaControlStore(root)
    store.commit(store.read("orders"), record("orders"), REGISTER, moment(0))


@pytest.mark.parametrize("character", sorted(set(PRINTABLE) - REFUSED))
def test_control_tables_can_be_kept_below_a_folder_with(character: str, tmp_path: Path) -> None:
    root = str(tmp_path / f"a{character}b" / "control")
    keep_a_record(root)
    assert DeltaControlStore(root).records() == [record("orders")]


@pytest.mark.parametrize("character", [*sorted(REFUSED), "\n", "\x7f", os.fsdecode(b"\xff")], ids=ascii)
def test_control_tables_are_refused_before_anything_is_made_below_a_folder_with(character: str, tmp_path: Path) -> None:
    with pytest.raises(Invalid) as caught:
        keep_a_record(str(tmp_path / f"a{character}b" / "control"))
    assert caught.value.code == "control_root_path"
    assert list(tmp_path.iterdir()) == []
