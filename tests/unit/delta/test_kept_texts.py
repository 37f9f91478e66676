"""Commit files that were read are kept by their tags: the last ones, and no large ones."""

from __future__ import annotations

from airflow_refresh_provider.delta.storage.kept_texts import KeptTexts, Key


def key(number: int, tag: str = "a") -> Key:
    return "/lake/orders", f"{number:020}.json", tag


def test_a_file_that_was_written_again_is_another() -> None:
    kept = KeptTexts()
    kept.put(key(1), b"one")
    assert kept.get(key(1)) == b"one"
    assert kept.get(key(1, "b")) is None
    assert kept.get(("/lake/lines", *key(1)[1:])) is None


def test_those_that_were_used_last_are_kept() -> None:
    kept = KeptTexts(most=2)
    kept.put(key(1), b"one")
    kept.put(key(2), b"two")
    assert kept.get(key(1)) == b"one"
    kept.put(key(3), b"three")
    assert [kept.get(key(n)) for n in (1, 2, 3)] == [b"one", None, b"three"]


def test_a_large_file_is_not_kept() -> None:
    kept = KeptTexts(most_bytes=3)
    kept.put(key(1), b"one")
    kept.put(key(2), b"more")
    assert (kept.get(key(1)), kept.get(key(2))) == (b"one", None)
