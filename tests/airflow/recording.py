"""A notifier that remembers what it was to send, with a template as other providers have them."""

from __future__ import annotations

from collections.abc import Sequence

from airflow.sdk import BaseNotifier, Context

SENT: list[str] = []


class Recording(BaseNotifier):
    """Remembers its rendered text."""

    template_fields: Sequence[str] = ("text",)

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def notify(self, context: Context) -> None:
        SENT.append(self.text)
