"""One whole refresh as a Spark application: arguments in, the runner on a classic session, an exit code out.

    spark-submit [options] refresh.py NAME --control ROOT [--origin TEXT] [--result-id ID] ...

The last line on stdout is one JSON value, as `airflow-refresh run NAME --output json` prints it, and the exit codes are
the same. With `--result-id` the result is also written to the control root, where the submitter reads it.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_refresh_provider import compose
from airflow_refresh_provider.cli.call import Call
from airflow_refresh_provider.cli.command import Option
from airflow_refresh_provider.cli.perform import attempt, print_ended
from airflow_refresh_provider.cli.signals import end
from airflow_refresh_provider.core.run.options import application_options, from_values
from airflow_refresh_provider.core.run.request import RunRequest
from airflow_refresh_provider.core.run.results import ApplicationResult
from airflow_refresh_provider.errors import RefreshError
from airflow_refresh_provider.places import EMBEDDED, Places
from airflow_refresh_provider.views.lines import Lines

if TYPE_CHECKING:
    from airflow_refresh_provider.core.run.results import Differences, RunResult
    from airflow_refresh_provider.runner.refreshes import Refreshes


def main(argv: Sequence[str] | None = None) -> int:
    """Refresh one definition and return the exit code."""
    given = build_parser().parse_args(argv)
    call = Call(given.control, EMBEDDED, Lines(_say))
    call.open_log(verbose=False)
    ended, code = attempt(lambda: _refreshed(given, call), call.debug_log)
    if given.result_id:
        with suppress(RefreshError):  # the exit code is left
            text = ApplicationResult.of(ended).model_dump_json()
            compose.application_results(call.places).put(given.name, given.result_id, text)
    return print_ended(ended, code, as_json=True)


def build_parser() -> argparse.ArgumentParser:
    """The parser of what `to_arguments` writes."""
    parser = argparse.ArgumentParser(prog="refresh.py", description="One refresh as a Spark application.")
    parser.add_argument("name", help="a registered definition")
    parser.add_argument("--control", required=True, help="where the control tables are")
    parser.add_argument("--result-id", metavar="ID", help="write the result to the control root under this id")
    for option in map(Option.of, application_options(RunRequest)):
        flag, keywords = option.for_argparse()
        parser.add_argument(flag, **keywords)
    return parser


def _refreshed(given: argparse.Namespace, call: Call) -> RunResult | Differences:
    places = call.places
    target = compose.refreshes(places).show(given.name).target
    with _application(places, target, call) as refreshes:
        request = from_values(RunRequest, vars(given))
        return refreshes.compare_only(given.name) if request.compare_only else refreshes.run(given.name, request)


@contextmanager
def _application(places: Places, target: str, call: Call) -> Iterator[Refreshes]:
    """The refreshes of a control root on the Spark of this application."""
    from airflow_refresh_provider.delta.tables.staging_folders import StagingFolders
    from airflow_refresh_provider.spark.application import application, sole_kind_of_writer
    from airflow_refresh_provider.spark.engine import ClassicEngine

    with ExitStack() as stack:
        # Object stores make concurrent commits of two Sparks safe; a local disk does not.
        if "://" not in places.control and "://" not in target:
            stack.enter_context(sole_kind_of_writer(Path(places.spark_home)))
        spark = stack.enter_context(application())
        label = f"Spark application {spark.sparkContext.applicationId}, process {os.getpid()} on {socket.gethostname()}"
        yield compose.refreshes(places, call.watch, label, engine=ClassicEngine(spark, StagingFolders()))


def _say(line: str) -> None:
    with suppress(OSError):  # stderr goes through Java, which may have ended
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


if __name__ == "__main__":
    end(main())
