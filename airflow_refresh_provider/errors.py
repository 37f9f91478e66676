"""Every error a caller can meet, grouped by what the caller must do about it.

Each error carries three parts: `message` (what failed), `left` (how the data was left) and `next` (what to do).
`code` is a stable word for scripts; `exit_code` is what the command line returns. A message may show values of rows to
the caller; `kept` is the message to store, with hashes in their place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import ClassVar, Self


def redacted(value: str) -> str:
    """A hash in the place of a value of a row."""
    return f"#{hashlib.sha256(value.encode()).hexdigest()[:12]}"


class Explained(BaseException):
    """What ends an operation early, in three parts."""

    exit_code: ClassVar[int] = 1

    def __init__(self, code: str, message: str, *, left: str, next: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.left = left
        self.next = next
        self.shown_values: tuple[str, ...] = ()

    def showing(self, *values: str) -> Self:
        """The error, whose message has these texts with values of rows in it."""
        self.shown_values = values
        return self

    def kept(self, *, redact: bool) -> str:
        """The message as it may be stored: values of rows are hashes, unless they are not to be redacted."""
        text = self.message
        for value in sorted(self.shown_values, key=len, reverse=True) if redact else ():
            text = text.replace(value, redacted(value))
        return text

    @property
    def parts(self) -> dict[str, str]:
        """Code and parts by name."""
        return {"code": self.code, "message": self.message, "left": self.left, "next": self.next}

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.code, self.message, self.left, self.next, self.shown_values))


class RefreshError(Explained, Exception):
    """Root of all errors of this package."""

    def about(self, name: str) -> RefreshError:
        """The same error, saying of which definition it is."""
        found = type(self)(self.code, f"{name}: {self.message}", left=self.left, next=self.next)
        return found.showing(*self.shown_values)

    def rewritten(self, rewrite: Callable[[str], str]) -> RefreshError:
        """The same error in other words."""
        found = type(self)(self.code, rewrite(self.message), left=rewrite(self.left), next=rewrite(self.next))
        return found.showing(*map(rewrite, self.shown_values))


class Invalid(RefreshError):
    """Correct what was given: a definition, a query, an option, a name."""

    exit_code = 2

    def __init__(self, code: str, message: str, *, next: str, left: str = "Nothing was changed.") -> None:
        super().__init__(code, message, left=left, next=next)


class Refused(RefreshError):
    """Decide: the request is understood, and could do harm. Wait, force or change it."""

    exit_code = 3

    def __init__(self, code: str, message: str, *, next: str, left: str = "Nothing was changed.") -> None:
        super().__init__(code, message, left=left, next=next)


class Paused(Refused):
    """Wait, or resume the definition: a user has paused it."""


class Failed(RefreshError):
    """Fix the data or the environment, then run again; running again unchanged fails again."""


class Retry(RefreshError):
    """Run again: the environment failed, the run continues from its last commit."""


ALREADY_RUNNING = "already_running"
"""The code of a refusal because a live owner holds the run."""
UNREACHABLE = "spark_unreachable"
"""The code of the error when Spark does not answer."""


class Conflict(Retry):
    """A commit conflicted with another writer's: it is not in the log, the session is usable, repeat the call."""


class Lost(RefreshError):
    """End quietly: another owner holds the run now, nothing of it may be changed."""


class Cancelled(Lost):
    """End: a person has cancelled the run. It is not tried again by itself."""

    exit_code = 5


class Defect(RefreshError):
    """Report it: a guarantee of this package did not hold."""


class Interrupted(Explained):
    """The caller asked to stop (Ctrl-C, SIGTERM); the run can be resumed.

    Not an Exception: code that continues after optional steps fail must not continue after this.
    """

    exit_code = 130


class StaleSnapshot(Exception):
    """A compare-and-set on the control tables lost against another writer: read again and decide again.

    Never reaches a user; the code that decides on a snapshot catches it.
    """


def _rebuild(
    kind: type[Explained], code: str, message: str, left: str, next: str, values: tuple[str, ...]
) -> Explained:
    return kind(code, message, left=left, next=next).showing(*values)
