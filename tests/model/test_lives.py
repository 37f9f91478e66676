"""Definitions over joins live through random schedules: what is published is always the query."""

from __future__ import annotations

import pytest

from airflow_refresh_provider.testing.memory_engine import MemorySession
from tests.model.lives import KINDS, Kind, Life, lived
from tests.unit.runner.test_keyed import ForgetfulEngine


class LateForgetfulEngine(ForgetfulEngine):
    """Misses touched values once it is trusted."""

    opened = 0

    def open(self, session_id: str) -> MemorySession:
        self.opened += 1
        self.kept = 0 if self.opened > 3 else 1_000
        return super().open(session_id)


of_each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def check(kind: Kind, lives: int) -> None:
    """All publications of so many lives, which have to have come to everything that can happen."""
    modes: list[str | None] = []
    deaths = 0
    for seed, life in enumerate(lived(kind, range(lives))):
        assert life.wrong is None, f"seed {seed}:\n{life.wrong}"
        modes += life.modes
        deaths += life.deaths
    assert min(modes.count("incremental"), modes.count("full"), deaths) >= lives / 3


@of_each_kind
def test_after_each_publication_the_target_is_the_query(kind: Kind) -> None:
    check(kind, 8)


@of_each_kind
@pytest.mark.slow
def test_after_each_publication_of_many_lives_the_target_is_the_query(kind: Kind) -> None:
    check(kind, 200)


def test_an_engine_that_misses_touched_values_is_found() -> None:
    lives = (Life(KINDS[0], seed) for seed in range(10))
    for life in lives:
        life.shop.use(LateForgetfulEngine(life.shop.lake, 0))
        life.go_on(14)
        if life.wrong:
            return
    raise AssertionError("no life was wrong")
