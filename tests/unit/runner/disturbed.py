"""A refresh in one process that is interrupted or disturbed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.unit.runner.faults import Killed
from tests.unit.runner.world import World, row

LIVE: dict[str, Any] = {"visibility": "live", "chunking": {"one_commit_up_to": 1, "chunk_rows": 1}}
BY_VNODE: dict[str, Any] = LIVE | {"layout": "vnode", "vnodes": 8}


def changed(**options: Any) -> World:
    """A refreshed target whose input has changed since."""
    world = World(*[row(i) for i in range(6)], **options)
    world.run()
    world.become(row(0), row(1, "b"), row(3), row(4, "c"), row(7), row(8))
    return world


def cut_off(world: World) -> bool:
    """Run until the end or until the process dies; whether it died."""
    try:
        world.run()
    except Killed:
        return True
    return False


def once(world: World, what: str, act: Callable[[], object]) -> Callable[[str], None]:
    """A listener that acts once, before the first step that begins with these words."""

    def step(name: str) -> None:
        if name.startswith(what):
            world.lake.step = lambda _what: None
            act()

    return step
