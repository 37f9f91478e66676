"""All commands as data: their words, options, help, and the function that does the work.

The parsers of `airflow-refresh` and `airflow refresh` are built from this table. A function is named as
"module:function" and imported only when its command is given, so that `--help` is fast. Its parameters are a `Call`,
then the command's own options by name, then its request.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from airflow_refresh_provider.core.run.options import RequestOption, user_options
from airflow_refresh_provider.core.run.request import Request, RunRequest


class Kind(StrEnum):
    """What an option takes."""

    TEXT = "text"
    COUNT = "count"  # a whole number, one or more
    FLAG = "flag"


@dataclass(frozen=True)
class Option:
    """One option (`--name`) or positional argument (`NAME`), with the values it may have if listed.

    `value` stands for the value in help texts.
    """

    name: str
    help: str
    kind: Kind = Kind.TEXT
    value: str | None = None
    choices: tuple[str, ...] = ()
    default: str | int | None = None
    many: bool = False
    optional: bool = False

    @property
    def positional(self) -> bool:
        """Given by place, not by name."""
        return not self.name.startswith("--")

    @property
    def parameter(self) -> str:
        """The name of the parameter that it becomes."""
        return self.name.lstrip("-").replace("-", "_").lower()

    @classmethod
    def of(cls, option: RequestOption) -> Option:
        """An option of a request."""
        kind = Kind.FLAG if option.kind is bool else Kind.COUNT if option.kind is int else Kind.TEXT
        value = {Kind.COUNT: "N", Kind.TEXT: None if option.choices else "TEXT", Kind.FLAG: None}[kind]
        default = None if kind is Kind.FLAG else option.default
        return cls(option.flag, option.description, kind, value, option.choices, default)


@dataclass(frozen=True)
class Command:
    """One command: `words` as typed after the program's name.

    `request` is the model of what it asks the runner for; its options are options of the command too.
    """

    words: tuple[str, ...]
    help: str
    function: str
    own_options: tuple[Option, ...] = ()
    request: type[Request] | None = None
    needs_control: bool = True

    @property
    def options(self) -> tuple[Option, ...]:
        """All options but the global ones."""
        requested = user_options(self.request) if self.request else ()
        return (*self.own_options, *map(Option.of, requested))


PROGRAM = "airflow-refresh"
SUMMARY = "Keep Delta tables equal to a query. Kill a refresh anywhere, run it again: it goes on."

GLOBAL_OPTIONS = (
    Option("--control", "where the control tables are (default: AIRFLOW_REFRESH_CONTROL)", value="URI"),
    Option("--spark", "`local` or sc://host:port (default: AIRFLOW_REFRESH_SPARK, else local)", value="URL"),
    Option("--output", "how the result is printed", choices=("table", "json"), default="table"),
    Option("--verbose", "show the debug log on stderr", Kind.FLAG),
)

_NAME = Option("NAME", "a registered definition")
_SOME_NAME = Option("NAME", "a registered definition (default: all)", optional=True)
_SOME_NAMES = Option("NAME", "registered definitions; those that feed them come along", many=True)
_FILES = Option("FILE", "YAML files of definitions, or folders of them", many=True)

_DEFINITIONS = "airflow_refresh_provider.cli.definition_commands"
_REFRESH = "airflow_refresh_provider.cli.run_commands"
_FRESHNESS = "airflow_refresh_provider.cli.run_commands"
_SERVER = "airflow_refresh_provider.cli.server_commands"

COMMANDS = (
    Command(
        ("validate",),
        "check definitions; needs no server",
        f"{_DEFINITIONS}:validate",
        (_FILES,),
        needs_control=False,
    ),
    Command(("register",), "store definitions in the control tables", f"{_DEFINITIONS}:register", (_FILES,)),
    Command(("list",), "all registered definitions", f"{_DEFINITIONS}:list_all"),
    Command(("show",), "one definition, its run and what is published", f"{_DEFINITIONS}:show", (_NAME,)),
    Command(
        ("run",),
        "refresh a target once, or go on with an unfinished run",
        f"{_REFRESH}:run",
        (_NAME,),
        RunRequest,
    ),
    Command(
        ("cascade",),
        "refresh targets after those that feed them, all from one state of their inputs",
        f"{_REFRESH}:cascade",
        (_SOME_NAMES,),
        Request,
    ),
    Command(
        ("progress",),
        "how far the run in progress is, or the last one",
        f"{_REFRESH}:progress",
        (_NAME, Option("--follow", "keep looking until the run ends", Kind.FLAG)),
    ),
    Command(("pause",), "let a definition rest from its next chunk on", f"{_REFRESH}:pause", (_NAME,)),
    Command(
        ("suspend",),
        "keep refreshes of a definition from beginning",
        f"{_REFRESH}:suspend",
        (_NAME, Option("--why", "the reason, shown wherever the definition is", value="TEXT", default="by hand")),
    ),
    Command(("resume",), "end a pause or a suspension", f"{_REFRESH}:resume", (_NAME,)),
    Command(("due",), "whether a refresh is due now; needs no Spark", f"{_FRESHNESS}:due", (_NAME,)),
    Command(
        ("freshness",),
        "how far targets are behind their inputs; needs no Spark",
        f"{_FRESHNESS}:freshness",
        (_SOME_NAME, Option("--why", "say of each input how far it is applied", Kind.FLAG)),
    ),
    Command(("history",), "the runs that ended", f"{_REFRESH}:history", (_NAME,)),
    Command(("recover",), "find interrupted runs; resume or abandon them", f"{_REFRESH}:recover", (_SOME_NAME,)),
    Command(
        ("rebuild-progress",),
        "restore from the target's log where the last refresh ended, and its progress",
        f"{_REFRESH}:rebuild_progress",
        (_NAME,),
    ),
    Command(
        ("drop",),
        "forget a definition; its target stays unless asked",
        f"{_DEFINITIONS}:drop",
        (
            _NAME,
            Option("--delete-target", "delete the target's data too", Kind.FLAG),
            Option("--stop", "stop a refresh that is at work; without it such a definition is not dropped", Kind.FLAG),
        ),
    ),
    Command(("spark", "start"), "start the embedded Spark server, or find it running", f"{_SERVER}:start"),
    Command(("spark", "stop"), "stop the embedded Spark server", f"{_SERVER}:stop"),
    Command(("spark", "status"), "whether the embedded Spark server runs, and where", f"{_SERVER}:status"),
)

GROUPS = {"spark": "the embedded Spark server"}
"""First words that have commands below them."""
