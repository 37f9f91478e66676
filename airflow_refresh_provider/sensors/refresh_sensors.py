"""Sensors: wait until a definition is in a state, a new version is published, or a target is fresh."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseSensorOperator, PokeReturnValue, conf

from airflow_refresh_provider.core.definition.schedule import duration
from airflow_refresh_provider.core.run.lifecycle import State
from airflow_refresh_provider.errors import Invalid, Retry
from airflow_refresh_provider.hooks.refresh_hook import RefreshHook
from airflow_refresh_provider.task_context.binding import as_airflow_errors
from airflow_refresh_provider.triggers import refresh_trigger as triggers

if TYPE_CHECKING:
    from airflow.sdk import Context


class _RefreshSensor(BaseSensorOperator):
    """Checks one definition, in a worker or, deferrable, in the triggerer."""

    def __init__(
        self,
        *,
        definition: str,
        refresh_conn_id: str = RefreshHook.default_conn_name,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.definition = self.definition_name = definition
        self.refresh_conn_id = refresh_conn_id
        self.deferrable = deferrable

    @abstractmethod
    def condition(self) -> triggers.Condition:
        """The condition to wait for."""

    def execute(self, context: Context) -> Any:
        """Check once; defer or poke until the condition is met."""
        with as_airflow_errors():
            if not self.deferrable:
                return super().execute(context)
            found = self.poke(context)
            if not found.is_done:
                places = RefreshHook(self.refresh_conn_id).places()
                trigger = triggers.trigger_for(self.definition, places, self.condition(), self.poke_interval)
                self.defer(trigger=trigger, method_name="execute_complete", timeout=timedelta(seconds=self.timeout))
            return found.xcom_value

    def poke(self, context: Context) -> PokeReturnValue:
        """Check once. An error that a retry may cure counts as not met."""
        try:
            places = RefreshHook(self.refresh_conn_id).places()
            is_done, found = triggers.look(places, self.definition, self.condition())
            if found["cancelled"] and not is_done:
                self.log.info("a run of %s was %s", self.definition, found["cancelled"])
            return PokeReturnValue(is_done, found)
        except Retry as error:
            self.log.warning("%s", error.message)
            return PokeReturnValue(is_done=False)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:
        """Return the trigger event."""
        return event


class RefreshStateSensor(_RefreshSensor):
    """Waits until a definition is in one of some states; by default until no refresh of it is unfinished."""

    def __init__(self, *, states: Sequence[str] = (State.IDLE.value,), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.states = [states] if isinstance(states, str) else list(states)
        if not self.states or not set(self.states) <= set(State):
            raise _wrong("states", states, f"some of {', '.join(State)}")

    def condition(self) -> triggers.Condition:
        """One of the states."""
        return triggers.Condition(states=tuple(self.states))


class RefreshPublishedSensor(_RefreshSensor):
    """Waits for a refresh that was published after a moment, by default after the DAG run became due.

    The moment is a datetime or ISO 8601 text with a time zone. A template is checked after it is rendered.
    """

    template_fields: Sequence[str] = ("published_after",)

    def __init__(self, *, published_after: str | datetime = "{{ dag_run.run_after }}", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.published_after = published_after
        if "{" not in str(published_after):
            _moment(published_after)

    def condition(self) -> triggers.Condition:
        """Published after the moment."""
        return triggers.Condition(published_after=_moment(self.published_after).isoformat())


class RefreshFreshnessSensor(_RefreshSensor):
    """Waits until a target is at most `max_lag` behind its inputs: until no unapplied change is older.

    `max_lag` is a timedelta, a number of seconds, or written as in a definition, such as `5 minutes`.
    """

    def __init__(self, *, max_lag: timedelta | str | float = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        try:
            self.max_lag = duration(max_lag)
        except (ValueError, OverflowError):
            raise _wrong("max_lag", max_lag, "a timedelta, seconds, or text such as 15 minutes, 2 h or PT15M") from None

    def condition(self) -> triggers.Condition:
        """A small enough lag."""
        return triggers.Condition(max_lag=self.max_lag.total_seconds())


def _moment(given: str | datetime) -> datetime:
    """The moment that was given. Raises Invalid."""
    try:
        found = given if isinstance(given, datetime) else datetime.fromisoformat(given)
    except (TypeError, ValueError):
        found = None
    if found is None or found.tzinfo is None:
        raise _wrong("published_after", given, "a moment with its time zone, such as 2024-01-31T06:00:00+00:00")
    return found


def _wrong(argument: str, given: object, wanted: str) -> Invalid:
    return Invalid(
        "sensor_argument", f"{argument} must be {wanted} (it is {given!r})", next="Correct the sensor in its DAG file."
    )
