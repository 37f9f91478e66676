"""Raw figures of a bench, as they are in `docs/benchmarks.json`."""

from __future__ import annotations

from typing import Any

Figures = dict[str, Any]
