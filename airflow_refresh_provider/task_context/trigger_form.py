"""The trigger form: the options of a refresh that a user can choose when triggering a DAG run.

Airflow checks the values of declared params when a run is triggered, but accepts undeclared ones in its configuration;
the first task refuses those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import Param
from airflow.sdk.exceptions import ParamValidationError

from airflow_refresh_provider.core.run.options import RequestOption, Scope, user_options
from airflow_refresh_provider.core.run.request import RunRequest
from airflow_refresh_provider.core.text.wording import suggestion
from airflow_refresh_provider.errors import Invalid

if TYPE_CHECKING:
    from airflow.sdk import Context

_OPTIONS = user_options(RunRequest)


def trigger_form() -> dict[str, Param]:
    """The params of a DAG that refreshes."""
    return {option.name: _param(option) for option in _OPTIONS if option.scope is not Scope.NO_FORM_FIELD}


def check_form(context: Context) -> None:
    """Raise Invalid for an unknown name in the configuration of the DAG run, if its DAG has the form."""
    declared = set(context["dag"].params)
    if not trigger_form().keys() <= declared:
        return
    unknown = sorted(set(context["dag_run"].conf or {}) - declared - {option.name for option in _OPTIONS})
    if unknown:
        raise Invalid(
            "unknown_parameter",
            f"{', '.join(unknown)}: unknown in the configuration of a DAG run.{suggestion(unknown[0], declared)}",
            next=f"Trigger the DAG with these params only: {', '.join(sorted(declared))}.",
        )


def form_values(context: Context) -> dict[str, Any]:
    """The options given by the params of a DAG run. Raises Invalid: params of a DAG without the form are unchecked."""
    params = context["params"]
    return {option.name: _checked(option, params[option.name]) for option in _OPTIONS if option.name in params}


def _checked(option: RequestOption, value: object) -> Any:
    field = _param(option)
    try:
        return field.resolve(value)
    except ParamValidationError as error:
        raise Invalid(
            "bad_parameter",
            f"{option.name} cannot be {value!r}: {str(error).splitlines()[0]}",
            next=f"Trigger the DAG with another value. {field.description}",
        ) from None


def _param(option: RequestOption) -> Param:
    description = f"{option.description[0].upper()}{option.description[1:]}."
    if option.kind is bool:
        return Param(option.default, type="boolean", description=description)
    if option.kind is int:
        kind = "integer" if option.default is not None else ["integer", "null"]
        return Param(option.default, type=kind, minimum=1, description=description)
    if option.choices:
        return Param(option.default, type="string", enum=list(option.choices), description=description)
    schema: dict[str, Any] = {"pattern": option.pattern} if option.pattern else {}
    return Param(option.default, type=["string", "null"], description=description, **schema)
