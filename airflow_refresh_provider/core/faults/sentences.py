"""The causes of an error in short: sentences without Java classes, error classes, SQL states, plans and frames."""

from __future__ import annotations

import re

from airflow_refresh_provider.core.faults.fault import WRAPPERS, Cause, Fault

_LONGEST = 400
_MOST_CAUSES = 2
_CLASSES = re.compile(r"^(?:\((?:[\w$]+\.)+[\w$]+\) |(?:[\w$]+\.)+[\w$]+: |\[[A-Z][A-Z0-9_.]*\] ?)+")
_AFTER = re.compile(
    r"\s*SQLSTATE: \w{5}.*$|\s*;? ?\(?line \d+,? pos(?:ition)? \d+\)?;?\s*(?:\n.*)?$|\s*\n== SQL.*$", re.DOTALL
)
_UNUSABLE = re.compile(
    r' If necessary set "spark\.sql\.ansi\.enabled" to "false" to bypass this error(?:, and return NULL instead)?\.'
    r"|@[0-9a-f]{5,8}\b| Please, refer to '[^']*' for a fix\."
    r"| Please ensure that the file is in either ORC or Parquet format\."
    r"| at \[Source: [^\]]*\]"
    r"|User defined function \(`CanonicalPathFunction`: \(string\) => string\) failed due to: "
    r"| It is possible the underlying files have been updated\."
    r"| You can set '[\w.]+' to 'false' to disable the type check\. Disabling this type check .*"
)
"""Advice that does not help here, as a refresh has ANSI mode and pinned files; addresses of Java objects."""
_LITERAL = re.compile(r"'(?:[^'\\]|\\.)*'")
_LISTED_VALUE = re.compile(r"(?m)^ *- (.+? : .*?) *$")
_END_OF_SENTENCE = ".:!?)]'\""
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z0-9]+")
_OF_A_CLASS = re.compile(r"(?:Exception|Error)$")
_ANY_CLASS = re.compile(r"\b(?:[a-z][\w$]*\.)+([A-Z][\w$]*(?:Exception|Error))\b:? ?")


def reason(fault: Fault) -> str:
    """What the causes say: the one that says most, and what others below it add."""
    principal = fault.principal
    said = [sentence(principal) or "it gave no reason"]
    below = fault.chain[fault.chain.index(principal) + 1 :]
    for cause in below:
        text = sentence(cause)
        if cause.error_class in WRAPPERS or not text or any(_adds_nothing(text, known) for known in said):
            continue
        said.append(text)
    *outer, last = said[: _MOST_CAUSES + 1]
    return "; cause: ".join((*(text.rstrip(".") for text in outer), last))


def values_in(cause: Cause) -> tuple[str, ...]:
    """The parts of a message that have values of rows: literals, and the columns that a constraint lists."""
    return (*_LITERAL.findall(cause.message), *_LISTED_VALUE.findall(cause.message))


def sentence(cause: Cause) -> str:
    """The message of one cause as one line: its first, and the list that follows a colon in its first two."""
    text = _AFTER.sub("", _CLASSES.sub("", cause.message)).strip()
    lines = _unwrapped([line.strip() for line in text.splitlines()] or [""])
    opening = next((n for n in range(1, min(len(lines), 2) + 1) if lines[n - 1].endswith(":")), 0)
    listed = [*lines[1:opening], ", ".join(_listed(lines[opening:]))] if opening else []
    line = _UNUSABLE.sub("", " ".join((lines[0], *listed)).strip())
    line = _ANY_CLASS.sub("", line).strip()
    if cause.type and " " not in line:
        line = f"{_words(cause.type)}: {line}".rstrip(": ")
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ..."


def _unwrapped(lines: list[str]) -> list[str]:
    """The lines with those joined to the first that continue its sentence."""
    first, *rest = lines
    while rest and rest[0] and first and first[-1] not in _END_OF_SENTENCE:
        first = f"{first} {rest.pop(0)}"
    return [first, *rest]


def _listed(lines: list[str]) -> list[str]:
    """The lines of the first paragraph, without the dashes of a list."""
    found: list[str] = []
    for line in lines:
        if not line and found:
            break
        if line:
            found.append(line.removeprefix("- "))
    return found


def _adds_nothing(text: str, known: str) -> bool:
    return text.rstrip(".") in known or (known.rstrip(".") in text and len(text) < len(known) + 10)


def _words(java: str) -> str:
    """`java.net.UnknownHostException` as words."""
    name = _OF_A_CLASS.sub("", java.rpartition(".")[2].rpartition("$")[2])
    return " ".join(word.lower() for word in _WORD.findall(name))
