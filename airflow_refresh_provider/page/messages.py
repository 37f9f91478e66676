"""Messages of this program as they are shown: commands and names that stand between backticks are code."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

_CODE = re.compile(r"`((?:[^`]|(?<=\.)`[^`]*`)+)`")
"""A path or name that SQL has in backticks, after a dot, is a part of the code that it stands in."""


def with_code(message: str | None) -> Markup | None:
    """A message as HTML, everything in it escaped; None where there is none."""
    if message is None:
        return None
    parts = _CODE.split(message)
    shown = (Markup("<code>{}</code>").format(part) if at % 2 else escape(part) for at, part in enumerate(parts))
    return Markup("").join(shown)
