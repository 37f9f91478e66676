"""Inputs: the tables and files a query reads, and the variables in their places.

`${NAME}` stands for an environment variable of the process that runs the refresh. It is stored as written, and only
filled in at the moment of use, so its value is never stored: pins keep the place as it is written and its digest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import Field, StrictBool, field_validator
from pydantic_core import PydanticCustomError, PydanticKnownError

from airflow_refresh_provider.core.definition.locations import InputLocation, normalised
from airflow_refresh_provider.core.text.stored import Stored
from airflow_refresh_provider.core.text.variables import check_variables, expand, is_variable
from airflow_refresh_provider.errors import Invalid

_SECRET = re.compile(
    r"password|passwd|secret|token|credential|access_?key|account_?key|api_?key|private_?key|(^|_)sas(_|$)"
)

_PINNED = frozenset(
    {
        "path", "paths", "versionasof", "timestampasof", "readchangefeed", "readchangedata", "pathglobfilter",
        "recursivefilelookup", "modifiedbefore", "modifiedafter", "ignorecorruptfiles", "ignoremissingfiles",
    }
)  # fmt: skip


FORMATS = {"delta": "delta_table", "parquet": "parquet_files"}
"""Formats of inputs, each with the module of `airflow_refresh_provider.inputs` that reads it."""


class Input(Stored):
    """One input. A Delta table is pinned by its version, parquet files by their list."""

    path: InputLocation = Field(
        description="Where it is: a Delta table, or a parquet file or a folder of them. May have `${NAME}` in it."
    )
    format: str = Field(
        default="delta",
        description=f"{' or '.join(f'`{name}`' for name in FORMATS)}.",
        json_schema_extra={"enum": list(FORMATS)},
    )
    options: dict[str, str] = Field(
        default={},
        description="Options of Spark's reader, but none that decides which rows are read; a secret only as `${NAME}`.",
        json_schema_extra={"additionalProperties": {"type": ["string", "boolean", "number"]}},
    )

    trigger: StrictBool = Field(default=True, description="Whether its changes may start a refresh.")
    ignore_changes: StrictBool = Field(
        default=False, description="Whether it is never checked for changes; they are applied with the next refresh."
    )

    @field_validator("path")
    @classmethod
    def _well_formed(cls, path: str) -> str:
        return check_variables(path)

    @field_validator("format")
    @classmethod
    def _known_format(cls, format: str) -> str:
        if format not in FORMATS:
            raise PydanticKnownError("enum", {"expected": " or ".join(FORMATS)})
        return format

    @field_validator("options", mode="before")
    @classmethod
    def _as_text(cls, options: object) -> object:
        """YAML reads `true` and `10` as they look; Spark's options are text."""
        if not isinstance(options, dict):
            return options
        return {k: _option_text(v) for k, v in options.items()}

    @field_validator("options")
    @classmethod
    def _harmless(cls, options: dict[str, str]) -> dict[str, str]:
        for key, value in options.items():
            plain = re.sub(r"[.-]", "_", key.lower())
            if plain in _PINNED:
                raise PydanticCustomError(
                    "pinned",
                    "{key} would change which rows are read: remove it, each run reads a pinned version",
                    {"key": key},
                )
            if _SECRET.search(plain) and not is_variable(value):
                raise PydanticCustomError(
                    "credentials",
                    "{key} must not hold a secret: write ${NAME} and set NAME where it runs",
                    {"key": key},
                )
            check_variables(value)
        return options

    def expanded(self, environment: Mapping[str, str]) -> Input:
        """The input with its variables filled in, for use and never for storage. Raises Invalid."""
        path = expand(self.path, environment)
        try:
            place = normalised(path)
        except ValueError as error:
            raise Invalid(
                "input_place",
                f"the input path {self.path} with its variables filled in {error}",
                next="Correct the environment variables it names.",
            ) from None
        options = {k: expand(v, environment) for k, v in self.options.items()}
        return self.model_copy(update={"path": place, "options": options})


def _option_text(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value
