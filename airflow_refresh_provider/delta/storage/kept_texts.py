"""Small files of logs that this process has read, by the tag that storage gives to what they hold.

A commit file is written once. One refresh asks a dozen times what the newest commits of its target say.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

KEPT = 2048
"""Files at most."""
KEPT_BYTES = 16 * 1024
"""Of a file that is kept: what lists many data files is read by few."""

Key = tuple[str, str, str]
"""Place of the table, name of the file, tag."""


class KeptTexts:
    """Those that were used last, for all threads of this process."""

    def __init__(self, most: int = KEPT, most_bytes: int = KEPT_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._texts: OrderedDict[Key, bytes] = OrderedDict()

    def get(self, key: Key) -> bytes | None:
        """The text of a file, None where it has to be read."""
        with self._lock:
            if key in self._texts:
                self._texts.move_to_end(key)
            return self._texts.get(key)

    def put(self, key: Key, text: bytes) -> None:
        """Keep the text of a file that was read, unless it is large."""
        if len(text) > self._most_bytes:
            return
        with self._lock:
            self._texts[key] = text
            if len(self._texts) > self._most:
                self._texts.popitem(last=False)
