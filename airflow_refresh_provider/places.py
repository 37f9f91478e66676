"""Places: where the control tables are and which Spark is used.

`resolve` is given the environment and reads none itself, so that every entry point resolves them alike.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from airflow_refresh_provider.core.text import spark_url
from airflow_refresh_provider.errors import Invalid

CONTROL_VARIABLE = "AIRFLOW_REFRESH_CONTROL"
SPARK_VARIABLE = "AIRFLOW_REFRESH_SPARK"
EMBEDDED = "local"

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


@dataclass(frozen=True)
class Places:
    """`control` is an absolute path or a URI; `spark` is `local` (the embedded server) or an `sc://` URL.

    `spark_home` is the folder of the embedded server and of the debug log.
    """

    control: str
    spark: str
    spark_home: str


def resolve(
    environment: Mapping[str, str], folder: Callable[[], str], control: str | None, spark: str | None
) -> Places:
    """The places to use: options before the environment. Relative paths start in `folder`, which is only
    called for them. Raises Invalid.
    """
    root = control or environment.get(CONTROL_VARIABLE)
    if not root:
        raise Invalid(
            "no_control",
            "no control root is configured",
            next=f"Give --control PATH, or set {CONTROL_VARIABLE}.",
        )
    root = _absolute(root, folder)
    return Places(
        control=root,
        spark=_spark(spark or environment.get(SPARK_VARIABLE) or EMBEDDED),
        spark_home=user_state(environment) if "://" in root else str(PurePath(root, ".spark")),
    )


def current_folder() -> str:
    """The current folder of the process. Raises Invalid when that folder was removed."""
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        raise Invalid(
            "no_folder",
            "a relative path starts in the current folder, which no longer exists",
            next="Change to a folder that exists, or give an absolute path.",
        ) from None


def user_state(environment: Mapping[str, str]) -> str:
    """The user's own folder for state that has no better place."""
    home = PurePath(environment.get("HOME") or "/")
    base = PurePath(environment.get("XDG_STATE_HOME") or home / ".local" / "state")
    return str(base / "airflow-refresh-provider")


def _absolute(root: str, folder: Callable[[], str]) -> str:
    if root.lower().startswith("file:"):
        return _of_this_machine(root)
    if scheme := _SCHEME.match(root):
        return _remote(scheme[1].lower(), root)
    return os.path.normpath(root if PurePath(root).is_absolute() else PurePath(folder(), root))


def _remote(scheme: str, uri: str) -> str:
    """The URI of a control root, without a slash at its end."""
    from airflow_refresh_provider.core.definition.locations import SCHEMES

    if scheme not in SCHEMES or "://" not in uri:
        raise Invalid(
            "control_root_path",
            f"control tables cannot be kept at {uri!r}: a URI has one of the schemes {', '.join(SCHEMES)}, then ://",
            next="Give --control as a path, or as a URI such as s3://bucket/control.",
        )
    return uri.rstrip("/")


def _of_this_machine(uri: str) -> str:
    """The path of a `file:` URI, spelt as in definitions."""
    # Imported here, as it is slow to load and Airflow imports this module at every start.
    from airflow_refresh_provider.core.definition.locations import normalised

    try:
        return normalised(uri)
    except ValueError as error:
        raise Invalid(
            "control_root_path",
            f"control tables cannot be kept at {uri!r}: it {error}",
            next="Give --control as a path, or as file:///path.",
        ) from None


def _spark(spark: str) -> str:
    if spark == EMBEDDED:
        return spark
    wrong = spark_url.problem(spark)
    if wrong is None:
        return spark
    raise Invalid(
        "spark_url",
        f"{spark_url.shown(spark)!r} is not a Spark to connect to: {wrong}",
        next="Give `local` for the embedded server, or the URL of a Spark Connect server such as sc://host:15002.",
    )
