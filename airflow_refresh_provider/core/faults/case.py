"""One error with everything that its answer is made from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from airflow_refresh_provider.core.faults.blame import Blamed, Place, blamed
from airflow_refresh_provider.core.faults.fault import Doing, Fault
from airflow_refresh_provider.core.faults.positions import Position, position
from airflow_refresh_provider.core.faults.sentences import reason, values_in

RESUME = "Run again; the refresh resumes from its last commit."


@dataclass(frozen=True)
class Case:
    """An error, what Spark was doing, and what follows from both."""

    fault: Fault
    doing: Doing

    @property
    def left(self) -> str:
        """In which state the data is."""
        return self.doing.left

    @cached_property
    def reason(self) -> str:
        """The causes in short."""
        return reason(self.fault)

    @cached_property
    def blamed(self) -> Blamed:
        """What the error is about."""
        return blamed(self.fault, self.doing)

    @cached_property
    def position(self) -> Position | None:
        """Where it is in the query."""
        return position(self.fault, self.doing)

    @property
    def reason_and_position(self) -> str:
        """The causes, and where in the query."""
        return f"{self.reason.rstrip('.')}, {self.position}" if self.position else self.reason

    @property
    def values(self) -> tuple[str, ...]:
        """The parts of the causes that have values of rows."""
        return tuple(found for cause in self.fault.chain for found in values_in(cause))

    @property
    def table(self) -> str:
        """The table or input that the error is about, for people."""
        match self.blamed.place:
            case Place.INPUT:
                return f"the input {self.blamed.name}"
            case Place.TARGET:
                return f"the target {self.blamed.location}"
            case Place.STAGING:
                return "the staged changes"
            case Place.UNKNOWN:
                return "an input of the query" if self.doing.query else "a table"

    @property
    def target(self) -> str:
        """The target, for people."""
        return f"the target {self.doing.target}" if self.doing.target else "the table"
