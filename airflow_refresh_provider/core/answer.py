"""The answer of an application: how its refresh ended, for whoever started it elsewhere."""

from __future__ import annotations

from typing import Literal

from airflow_refresh_provider import errors
from airflow_refresh_provider.core.results import Differences, RunResult
from airflow_refresh_provider.core.stored import Stored

_KINDS: dict[str, type[errors.RefreshError]] = {
    kind.__name__: kind
    for kind in (
        errors.Invalid,
        errors.Refused,
        errors.Failed,
        errors.Retry,
        errors.Conflict,
        errors.Lost,
        errors.Defect,
        errors.Interrupted,
    )
}


class Complaint(Stored):
    """An error as it is told to another process."""

    kind: Literal["Invalid", "Refused", "Failed", "Retry", "Conflict", "Lost", "Defect", "Interrupted"]
    code: str
    message: str
    left: str
    next: str

    def error(self) -> errors.RefreshError:
        """The error itself, of its own class."""
        return _KINDS[self.kind](self.code, self.message, left=self.left, next=self.next)


class Answer(Stored):
    """Exactly one of the three: a refresh that ended well or was not needed, a comparison, or an error."""

    result: RunResult | None = None
    differences: Differences | None = None
    complaint: Complaint | None = None

    @classmethod
    def of(cls, ended: object) -> Answer:
        """The answer for what an act returned, or the error it ended with."""
        match ended:
            case RunResult():
                return cls(result=ended)
            case Differences():
                return cls(differences=ended)
            case errors.RefreshError():
                told = {"code": ended.code, "message": ended.message, "left": ended.left, "next": ended.next}
                return cls(complaint=Complaint.model_validate({"kind": type(ended).__name__, **told}))
            case _:
                raise TypeError(f"{type(ended).__name__} is not an answer")
