"""The dashboard and the list of metrics name the same ones."""

from __future__ import annotations

import json
import re
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"
ROW = re.compile(r"^\| `refresh\.(\w+)` \| (\w+) \|", flags=re.MULTILINE)
NAMED = re.compile(r"\bairflow_refresh_(\w+)")


def test_the_dashboard_shows_every_metric_and_no_other() -> None:
    listed = dict(ROW.findall((DOCS / "signals.md").read_text()))
    exported = {f"{name}_{part}" for name, kind in listed.items() if kind == "timer" for part in ("sum", "count")}
    exported |= {name for name, kind in listed.items() if kind != "timer"}
    dashboard = json.loads((DOCS / "grafana_dashboard.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert {name for expression in expressions for name in NAMED.findall(expression)} == exported


def test_no_two_panels_lie_upon_each_other() -> None:
    panels = json.loads((DOCS / "grafana_dashboard.json").read_text())["panels"]
    cells = [
        (x, y)
        for at in (panel["gridPos"] for panel in panels)
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len(set(cells)) and max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in panels}) == len(panels)
