"""Variables `${NAME}` in texts: filled in from the environment of a process, and written back into what is kept.

Only the names may be stored or shown. Whether a value has changed is seen by its digest.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote

from airflow_refresh_provider.errors import Invalid

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_BROKEN_VARIABLE = re.compile(r"\$\{(?![A-Za-z_][A-Za-z0-9_]*\})")
_SHORTEST = 3
"""Shorter values are found as parts of a place only: they are words of any text."""


def variables(text: str) -> tuple[str, ...]:
    """The names of the variables in a text, in order."""
    return tuple(dict.fromkeys(_VARIABLE.findall(text))) if "${" in text else ()


def is_variable(text: str) -> bool:
    """Whether a text is one variable and nothing else."""
    return _VARIABLE.fullmatch(text) is not None


def check_variables(text: str) -> str:
    """The text. Raises ValueError for a malformed variable in it."""
    if _BROKEN_VARIABLE.search(text):
        raise ValueError("has a malformed variable: write ${NAME} with letters, digits and underscores")
    return text


def expand(text: str, environment: Mapping[str, str]) -> str:
    """Fill in `${NAME}`. Values are not searched for further variables. Raises Invalid for a name that is not set."""
    missing = sorted({name for name in variables(text) if name not in environment})
    if missing:
        raise Invalid(
            "variable_missing",
            f"{text} needs the environment variable {', '.join(missing)}, which is not set",
            next=f"Set {', '.join(missing)} where the refresh runs.",
        )
    return _VARIABLE.sub(lambda found: environment[found[1]], text)


def value_digest(value: str) -> str:
    """By which another value is noticed."""
    return "sha256:" + hashlib.sha256(value.encode()).hexdigest()[:16]


def written_back(text: str, templates: Iterable[str], environment: Mapping[str, str]) -> str:
    """A text with the variables of some templates instead of their values: whole places first, then values as words."""
    given = [template for template in templates if variables(template)]
    places = {place: start for template in given for place, start in _places(template, environment)}
    for place in sorted(places, key=len, reverse=True):
        text = text.replace(place, places[place])
    values = dict(found for name in _names(given) for found in _values(name, environment.get(name, "")))
    if not values:
        return text
    longest_first = "|".join(re.escape(value) for value in sorted(values, key=len, reverse=True))
    return re.sub(rf"(?<![^\W_])(?<!\$\{{)(?:{longest_first})(?![^\W_])", lambda found: values[found[0]], text)


def _names(templates: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for template in templates for name in variables(template)))


def _places(template: str, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """A template's place and the folders that it is in, as far as they have variables, each with how it is written."""
    parts = template.split("/")
    for end in range(1, len(parts) + 1):
        start = "/".join(parts[:end])
        if variables(parts[end - 1]) and not is_variable(start) and set(variables(start)) <= environment.keys():
            yield expand(start, environment), start


def _values(name: str, value: str) -> Iterator[tuple[str, str]]:
    """What stands for a variable in a text, and what is written instead; folders above a path are a part of it."""
    written = f"${{{name}}}"
    if len(value.strip("/")) >= _SHORTEST:
        yield value.rstrip("/"), written
        yield quote(value.rstrip("/")), written
    above = value.rstrip("/").rpartition("/")[0] if value.startswith("/") else ""
    while above.count("/") > 1:
        yield above, f"a folder above {written}"
        above = above.rpartition("/")[0]
