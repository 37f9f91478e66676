"""The options of a request, derived from the fields of its model.

Command line, trigger form and submitted applications all offer what is derived here: a field with a description is an
option of each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from types import NoneType
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from airflow_refresh_provider.core.definition.mode import AS_DEFINED
from airflow_refresh_provider.errors import Invalid

M = TypeVar("M", bound=BaseModel)


class Scope(Enum):
    """Where a field is no option. One without a scope is an option everywhere."""

    NO_FORM_FIELD = "accepted in the configuration of a DAG run, without a field in the trigger form"
    APPLICATION = "set by the provider, and passed to submitted applications"
    PROCESS = "set by the provider, and not passed on"


@dataclass(frozen=True)
class Pattern:
    """The regular expression of a text, in what Python and JSON Schema have in common."""

    text: str


@dataclass(frozen=True)
class RequestOption:
    """One option. `kind` is bool, int or str; `choices` are all its values, if they are listed; `pattern` is that of a
    text.
    """

    name: str
    description: str
    kind: type
    default: str | int | None
    choices: tuple[str, ...] = ()
    scope: Scope | None = None
    pattern: str | None = None

    @property
    def flag(self) -> str:
        """Its name on a command line."""
        return f"--{self.name.replace('_', '-')}"


def user_options(model: type[BaseModel]) -> tuple[RequestOption, ...]:
    """What a user can choose, in the order of the fields."""
    return tuple(option for option in application_options(model) if option.scope is not Scope.APPLICATION)


def application_options(model: type[BaseModel]) -> tuple[RequestOption, ...]:
    """What a submitted application takes as arguments, in the order of the fields."""
    found = (_option(name, field) for name, field in model.model_fields.items())
    return tuple(option for option in found if option.scope is not Scope.PROCESS)


def from_values(model: type[M], values: Mapping[str, Any]) -> M:
    """The request with the values of its options; other values are ignored, missing ones have their defaults.

    Raises Invalid.
    """
    names = {option.name for option in application_options(model)}
    return validated(model, {name: value for name, value in values.items() if name in names})


def validated(model: type[M], values: Mapping[str, Any]) -> M:
    """The request with these fields. Raises Invalid for a value that an option cannot have."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        wrong = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}".removeprefix(": ") for one in error.errors())
        lines = "; ".join(line.replace("Value error, ", "") for line in wrong)
        raise Invalid("bad_parameter", lines, next="Give another value.") from None


def to_arguments(request: BaseModel) -> list[str]:
    """The options that differ from their defaults, as arguments of an application."""
    words: list[str] = []
    for option in application_options(type(request)):
        value = getattr(request, option.name)
        if value != type(request).model_fields[option.name].default:
            words += [option.flag] if option.kind is bool else [option.flag, str(value)]
    return words


def _option(name: str, field: FieldInfo) -> RequestOption:
    kinds = [kind for kind in get_args(field.annotation) or (field.annotation,) if kind is not NoneType]
    kind = kinds[0]
    choices: tuple[str, ...] = ()
    default = field.default
    if issubclass(kind, StrEnum):
        optional = default is None
        choices = (*((AS_DEFINED,) if optional else ()), *(choice.value for choice in kind))
        default = AS_DEFINED if optional else default.value
        kind = str
    return RequestOption(
        name=name,
        description=field.description or "",
        kind=kind,
        default=default,
        choices=choices,
        scope=next((found for found in field.metadata if isinstance(found, Scope)), None),
        pattern=next((found.text for found in field.metadata if isinstance(found, Pattern)), None),
    )
