"""All commands as data. The parsers of `airflow-refresh` and `airflow refresh` are built from this table.

The function of a command is named, and imported only when the command is given, so that `--help` is fast.
"""

from __future__ import annotations

from airflow_refresh_provider.cli.command import Command, Kind, Option
from airflow_refresh_provider.core.run.costs import CostsBy
from airflow_refresh_provider.core.run.request import Request, RunRequest

PROGRAM = "airflow-refresh"
SUMMARY = "Keep Delta tables equal to a query. A refresh can be killed at any point; run again, it resumes."

GLOBAL_OPTIONS = (
    Option("--control", "where the control tables are (default: AIRFLOW_REFRESH_CONTROL)", value="URI"),
    Option("--spark", "`local` or sc://host:port (default: AIRFLOW_REFRESH_SPARK, else local)", value="URL"),
    Option("--output", "how the result is printed", choices=("table", "json"), default="table"),
    Option("--verbose", "show the debug log on stderr", Kind.FLAG),
)

_NAME = Option("NAME", "a registered definition")
_SOME_NAME = Option("NAME", "a registered definition (default: all)", optional=True)
_ANY_NAMES = Option("NAME", "registered definitions, or patterns such as `sales_*`", many=True, optional=True)
_TAG = Option("--tag", "definitions with this tag; may be given several times", Kind.LIST, value="TAG")
_ALL = Option("--all", "all registered definitions", Kind.FLAG)
_SELECTION = (_ANY_NAMES, _TAG, _ALL)
_SOME_NAMES = Option("NAME", "registered definitions; those upstream of them are included", many=True)
_FILES = Option("FILE", "YAML files of definitions, or folders of them", many=True)

_DEFINITIONS = "airflow_refresh_provider.cli.definition_commands"
_RUNS = "airflow_refresh_provider.cli.run_commands"
_ALERTS = "airflow_refresh_provider.cli.alert_commands"
_PAGE = "airflow_refresh_provider.cli.page_commands"
_SERVER = "airflow_refresh_provider.cli.server_commands"

COMMANDS = (
    Command(
        ("validate",),
        "check definitions; needs no server",
        f"{_DEFINITIONS}:validate",
        (
            _FILES,
            _TAG,
            Option("--name", "definitions with this name, or a pattern of names", Kind.LIST, value="NAME"),
        ),
        needs_control=False,
    ),
    Command(("register",), "store definitions in the control tables", f"{_DEFINITIONS}:register", (_FILES,)),
    Command(("list",), "all registered definitions", f"{_DEFINITIONS}:list_all"),
    Command(("show",), "one definition, its run and what is published", f"{_DEFINITIONS}:show", (_NAME,)),
    Command(
        ("explain",),
        "how definitions follow their inputs, and what their next refresh does; needs no Spark",
        f"{_DEFINITIONS}:explain",
        (
            Option(
                "NAME", "registered definitions, patterns, or YAML files or folders of them", many=True, optional=True
            ),
            _TAG,
            _ALL,
            Option("--strict", "exit code 4 unless every input is followed", Kind.FLAG),
        ),
    ),
    Command(
        ("run",),
        "refresh a target once, or resume an unfinished run; several targets side by side",
        f"{_RUNS}:run",
        (
            *_SELECTION,
            Option("--due", "only definitions whose refresh is due now; each for the first that is queued", Kind.FLAG),
            Option("--queued", "only what is queued, once no other owner holds the run", Kind.FLAG),
        ),
        RunRequest,
    ),
    Command(
        ("cascade",),
        "refresh targets and those upstream of them, all from the same input versions",
        f"{_RUNS}:cascade",
        (_SOME_NAMES,),
        Request,
    ),
    Command(
        ("progress",),
        "progress of the current run, or of the last one",
        f"{_RUNS}:progress",
        (_NAME, Option("--follow", "wait until no process works on the run", Kind.FLAG)),
    ),
    Command(("pause",), "pause a definition before its next chunk", f"{_RUNS}:pause", (_NAME,)),
    Command(
        ("suspend",),
        "start no refresh of a definition until it is resumed",
        f"{_RUNS}:suspend",
        (_NAME, Option("--why", "the reason, shown with the definition", value="TEXT", default="by hand")),
    ),
    Command(
        ("throttle",),
        "limit how many rows a second runs change, from the next chunk on",
        f"{_RUNS}:throttle",
        (
            _NAME,
            Option("ROWS_PER_SECOND", "the limit, which units that run in parallel share", optional=True),
            Option("--off", "without a limit, whatever the definition says", Kind.FLAG),
            Option("--as-defined", "as the definition says", Kind.FLAG),
        ),
    ),
    Command(("resume",), "end a pause or a suspension", f"{_RUNS}:resume", (_NAME,)),
    Command(
        ("cancel",),
        "end the run in progress and interrupt its statement in Spark; the next run resumes it",
        f"{_RUNS}:cancel",
        (
            _NAME,
            Option("--run", "only if this is the run in progress", value="ID", optional=True),
            Option("--abandon", "abandon the run: the next one starts from the newest input versions", Kind.FLAG),
        ),
    ),
    Command(("queue",), "requests that wait for a run to end, the next one first", f"{_RUNS}:queue", (_SOME_NAME,)),
    Command(
        ("unqueue",),
        "remove a request that waits",
        f"{_RUNS}:unqueue",
        (_NAME, Option("ID", "the request, as `queue` prints it")),
    ),
    Command(("due",), "whether a refresh is due now; needs no Spark", f"{_RUNS}:due", _SELECTION),
    Command(
        ("freshness",),
        "how far targets are behind their inputs; needs no Spark",
        f"{_RUNS}:freshness",
        (*_SELECTION, Option("--why", "show for each input which version is applied", Kind.FLAG)),
    ),
    Command(
        ("alerts",),
        "what a person has to know now: failures, suspensions, lateness, retention; needs no Spark",
        f"{_ALERTS}:alerts",
        (
            *_SELECTION,
            Option("--reported", "only what is new since the last call with this file", value="FILE", optional=True),
            Option("--repeat-after", "report an alert again that has lasted so long", value="TIME", default="24 h"),
            Option("--retention-below", "how long before changes expire", value="TIME", default="1 day"),
        ),
    ),
    Command(("history",), "ended runs, newest first", f"{_RUNS}:history", _SELECTION),
    Command(
        ("costs",),
        "what ended runs have cost: seconds, bytes, rows, full refreshes; needs no Spark",
        f"{_RUNS}:costs",
        (
            *_SELECTION,
            Option(
                "--by",
                "what runs are added up by",
                choices=tuple(by.value for by in CostsBy),
                default=CostsBy.DEFINITION.value,
            ),
            Option("--days", "only runs that ended in the last N days", Kind.COUNT, value="N", default=90),
        ),
    ),
    Command(("recover",), "find interrupted runs; resume or abandon them", f"{_RUNS}:recover", (_SOME_NAME,)),
    Command(
        ("abandon",),
        "end an unfinished run for good; the next run starts from the newest input versions",
        f"{_RUNS}:abandon",
        (_NAME, Option("--stop", "stop a running refresh; required while one is running", Kind.FLAG)),
    ),
    Command(
        ("rebuild-progress",),
        "restore the last refresh and its progress from the target's log",
        f"{_RUNS}:rebuild_progress",
        (_NAME,),
    ),
    Command(
        ("drop",),
        "remove a definition; its target is kept unless --delete-target is given",
        f"{_DEFINITIONS}:drop",
        (
            _NAME,
            Option("--delete-target", "delete the target's data too", Kind.FLAG),
            Option("--stop", "stop a running refresh; required while one is running", Kind.FLAG),
        ),
    ),
    Command(
        ("page",),
        "serve a web page with all refreshes, for this machine alone, until Ctrl-C",
        f"{_PAGE}:page",
        (Option("--port", "the port of 127.0.0.1 to serve it at", Kind.COUNT, value="N", default=8790),),
    ),
    Command(("spark", "start"), "start the embedded Spark server, unless it runs", f"{_SERVER}:start"),
    Command(("spark", "stop"), "stop the embedded Spark server", f"{_SERVER}:stop"),
    Command(("spark", "status"), "whether the embedded Spark server runs, and where", f"{_SERVER}:status"),
)

GROUPS = {"spark": "the embedded Spark server"}
"""First words that have commands below them."""
