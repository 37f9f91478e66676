"""The generated parts of the pages in this folder: `python -m docs.generate` updates them.

A page marks the part with `<!-- generated: NAME -->` and `<!-- end -->`; everything around it is written by hand.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType

from pydantic import BaseModel

from airflow_refresh_provider.cli.command import Command, Kind, Option
from airflow_refresh_provider.cli.table import COMMANDS, GLOBAL_OPTIONS, PROGRAM
from airflow_refresh_provider.core.maintain.analysis import maintenance
from airflow_refresh_provider.core.maintain.explained import ExplainedInput, explained
from airflow_refresh_provider.core.plan.reasons import MEANINGS
from airflow_refresh_provider.core.run.admin_results import RequestedRefresh
from airflow_refresh_provider.core.run.costs import CostsReport
from airflow_refresh_provider.core.run.lifecycle import TRANSITIONS, State
from airflow_refresh_provider.core.run.options import Scope, user_options
from airflow_refresh_provider.core.run.overview import DefinitionDetail, Overview
from airflow_refresh_provider.core.run.request import RunRequest
from airflow_refresh_provider.core.run.run_detail import RunDetail

FOLDER = Path(__file__).parent


def pages() -> dict[Path, str]:
    """Every page with generated parts, as it should be."""
    return {path: _filled(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.md"))}


def commands() -> str:
    """A section for each command: usage, meaning, options."""
    return "\n\n".join(_command(command) for command in COMMANDS)


def global_options() -> str:
    """The options that every command has."""
    return _options(GLOBAL_OPTIONS)


def trigger_form() -> str:
    """The options of a DAG run."""
    rows = [
        f"| `{o.name}` | {', '.join(f'`{c}`' for c in o.choices) or o.kind.__name__} | `{str(o.default).lower()}` "
        f"| {'no' if o.scope is Scope.NO_FORM_FIELD else 'yes'} | {o.description} |"
        for o in user_options(RunRequest)
    ]
    return "\n".join(["| option | values | default | field | meaning |", "|---|---|---|---|---|", *rows])


def models() -> str:
    """Which command prints what, and the fields of every model."""
    results = {command: _result(command) for command in COMMANDS}
    rows = [f"| `{' '.join(c.words)}` | {_linked(_type_name(result))} |" for c, result in results.items()]
    found: dict[str, type[BaseModel]] = {}
    for result in results.values():
        _collect(result, found)
    sections = [_model(model) for model in found.values()]
    return "\n".join(["| command | prints |", "|---|---|", *rows, "", "\n\n".join(sections)])


def page_models() -> str:
    """The fields of the models of the page's API that no command prints."""
    printed: dict[str, type[BaseModel]] = {}
    for command in COMMANDS:
        _collect(_result(command), printed)
    found: dict[str, type[BaseModel]] = {}
    for model in (Overview, CostsReport, DefinitionDetail, RunDetail, RequestedRefresh):
        _collect(model, found)
    text = "\n\n".join(_model(model) for name, model in found.items() if name not in printed)
    return re.sub(rf"\(#({'|'.join(name.lower() for name in printed)})\)", r"(json_models.md#\1)", text)


def constructs() -> str:
    """The constructs of the catalogue of tests, each with how its inputs are followed."""
    from tests.unit.maintain.catalogue import CONSTRUCTS, INPUTS

    rows = []
    for construct, query in CONSTRUCTS.items():
        read = {name: INPUTS[name] for name in INPUTS if re.search(rf"(\b(FROM|JOIN)|,|\()\s*{name}\b", query)}
        found = explained(maintenance(query, read, ()), tuple(read))
        rows.append(f"| {construct} | `{_in_table(query)}` | {_in_table('; '.join(map(_follows, found)))} |")
    return "\n".join(["| construct | for example | by |", "|---|---|---|", *rows])


def tpch() -> str:
    """Which queries of TPC-H follow their inputs."""
    from tests.unit.maintain.tpch import QUERIES, TABLES

    rows = []
    for number, query in QUERIES.items():
        read = {name: TABLES[name] for name in TABLES if re.search(rf"\b{name}\b", query)}
        plan = maintenance(query, read, ())
        found = explained(plan, tuple(read))
        lost = "; ".join(_follows(one) for one in found if not one.followed) or "every input"
        whole = ", ".join(one.name for one in found if one.read_whole and plan.anchors)
        rows.append(f"| {number} | {', '.join(plan.anchors)} | {lost} | {whole} |")
    head = "| query | rows are found by | follows | read whole |"
    return "\n".join([head, "|---|---|---|---|", *rows])


def reasons() -> str:
    """The codes of why a refresh was incremental or full."""
    rows = [f"| `{code}` | {meaning} |" for code, meaning in MEANINGS.items()]
    return "\n".join(["| code | meaning |", "|---|---|", *rows])


def lifecycle() -> str:
    """The states of a definition and what moves it between them, drawn from the table of transitions."""
    arrows: dict[tuple[State, State], list[str]] = {}
    for (state, event), after in TRANSITIONS.items():
        arrows.setdefault((state, after), []).append(event.value)
    lines = [f"    {a.value} --> {b.value}: {', '.join(sorted(events))}" for (a, b), events in arrows.items()]
    return "\n".join(["```mermaid", "stateDiagram-v2", "    [*] --> IDLE: register", *lines, "```"])


def _follows(one: ExplainedInput) -> str:
    if one.by is None:
        what = (one.reason or "").replace(" is not supported in incremental mode", "")
        return f"**{one.name} is not followed**: {re.sub(r' .line 1, column [0-9]+.', '', what)}"
    return f"{one.name}: `{one.by}`{', read whole' if one.read_whole else ''}"


def _in_table(text: str) -> str:
    return text.replace("|", "\\|")


def _command(command: Command) -> str:
    usage = " ".join([PROGRAM, *command.words, *map(_usage, command.options)])
    text = f"### `{' '.join(command.words)}`\n\n```\n{usage}\n```\n\n{_sentence(command.help)}"
    return f"{text}\n\n{_options(command.options)}" if command.options else text


def _usage(option: Option) -> str:
    if option.positional:
        name = f"{option.name}..." if option.many else option.name
        return f"[{name}]" if option.optional else name
    if option.kind is Kind.FLAG:
        return f"[{option.name}]"
    return f"[{option.name} {'|'.join(option.choices) or option.value}]"


def _options(options: tuple[Option, ...]) -> str:
    rows = [f"| `{o.name}` | {o.help} | {_default(o)} |" for o in options]
    return "\n".join(["| option | meaning | default |", "|---|---|---|", *rows])


def _default(option: Option) -> str:
    return "" if option.default is None else f"`{option.default}`"


def _result(command: Command) -> object:
    """What the function of a command says it returns."""
    module, _, name = command.function.partition(":")
    return typing.get_type_hints(getattr(import_module(module), name))["return"]


def _model(model: type[BaseModel]) -> str:
    rows = [f"| `{name}` | {_linked(_type_name(field.annotation))} |" for name, field in model.model_fields.items()]
    meaning = " ".join((model.__doc__ or "").split())
    return "\n".join([f"### {model.__name__}", "", meaning, "", "| field | type |", "|---|---|", *rows])


def _collect(kind: object, found: dict[str, type[BaseModel]]) -> None:
    """All models that a type is made of, outermost first. The definition has a page of its own."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        if kind.__name__ not in found and kind.__name__ != "Definition":
            found[kind.__name__] = kind
            for field in kind.model_fields.values():
                _collect(field.annotation, found)
        return
    for part in typing.get_args(kind):
        _collect(part, found)


def _type_name(kind: object) -> str:
    """A Python type as people say it of JSON; models in braces, to be linked."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, UnionType):
        return " or ".join(_type_name(part) for part in parts)
    if origin in (list, tuple):
        return f"list of {_type_name(parts[0])}"
    if origin is dict:
        return f"object, each value {_type_name(parts[1])}"
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return " \\| ".join(f'`"{value}"`' for value in kind)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return f"{{{kind.__name__}}}"
    plain = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
    return {**plain, datetime: "string (UTC time, ISO 8601)"}.get(kind, "any value")  # type: ignore[call-overload, no-any-return]


def _linked(text: str) -> str:
    """Names in braces as links to their sections."""
    own_page = re.sub(r"\{Definition\}", "[Definition](definition.md)", text)
    return re.sub(r"\{(\w+)\}", lambda m: f"[{m[1]}](#{m[1].lower()})", own_page)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _filled(page: str) -> str:
    def fill(match: re.Match[str]) -> str:
        return f"{match[1]}\n\n{_PARTS[match[2]]()}\n\n<!-- end -->"

    return re.sub(r"(<!-- generated: (\w+) -->)\n.*?<!-- end -->", fill, page, flags=re.DOTALL)


_PARTS: dict[str, Callable[[], str]] = {
    "commands": commands,
    "constructs": constructs,
    "global_options": global_options,
    "lifecycle": lifecycle,
    "models": models,
    "page_models": page_models,
    "reasons": reasons,
    "tpch": tpch,
    "trigger_form": trigger_form,
}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
