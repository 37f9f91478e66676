"""The answer of an application: how its refresh ended, for whoever started it elsewhere."""

from __future__ import annotations

from airflow_refresh_provider import errors
from airflow_refresh_provider.core.run.results import Differences, ErrorReport, RunResult
from airflow_refresh_provider.core.text.stored import Stored

_KINDS: dict[str, type[errors.Explained]] = {
    name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.Explained)
}


class TypedErrorReport(ErrorReport):
    """An error as it is told to another process, which makes it its own."""

    kind: str

    def error(self) -> errors.Explained:
        """The error itself, of its own class; one that is not known here is none that trying again would mend."""
        return _KINDS.get(self.kind, errors.Failed)(self.code, self.message, left=self.left, next=self.next)


class Answer(Stored):
    """Exactly one of the three: a refresh that ended well or was not needed, a comparison, or an error."""

    result: RunResult | None = None
    differences: Differences | None = None
    complaint: TypedErrorReport | None = None

    @classmethod
    def of(cls, ended: object) -> Answer:
        """The answer for what an act returned, or the error it ended with."""
        match ended:
            case RunResult():
                return cls(result=ended)
            case Differences():
                return cls(differences=ended)
            case errors.Explained():
                return cls(complaint=TypedErrorReport(kind=type(ended).__name__, **ended.told))
            case _:
                raise TypeError(f"{type(ended).__name__} is not an answer")
