"""What OpenLineage asks an operator for. It asks in another process, so what has to be read is read before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_refresh_provider.errors import RefreshError

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage

    from airflow_refresh_provider.core.run.lineage import Lineage
    from airflow_refresh_provider.core.run.results import RunResult
    from airflow_refresh_provider.ports.bundle import Ports
    from airflow_refresh_provider.task_context.binding import Stored
    from airflow_refresh_provider.task_context.task_log import Log

Read = tuple["Lineage", "RunResult"]


def read(ports: Ports, result: RunResult, log: Log) -> Read | None:
    """What a refresh has read and written; None where no lineage is sent. An error fails no refresh: it is logged."""
    if not _is_sent():
        return None
    from airflow_refresh_provider.runner.report.lineages import lineage_of

    try:
        found = lineage_of(ports, result.name)
    except RefreshError as error:
        log.info("the lineage of %s has no columns and versions [%s]: %s", result.name, error.code, error.message)
        return None
    return (found, result) if found else None


def described(definition: Stored, done: Read | None) -> OperatorLineage[Any, Any]:
    """The tables of a refresh, with versions and columns once it is done. Of a definition's name alone nothing."""
    from airflow.providers.openlineage.extractors import OperatorLineage

    from airflow_refresh_provider.signals import open_lineage

    if done:
        return open_lineage.of_refresh(*done)
    return OperatorLineage() if isinstance(definition, str) else open_lineage.of_definition(definition)


def _is_sent() -> bool:
    """Whether the provider is installed, and configured to send anything."""
    try:
        from airflow.providers.openlineage.conf import is_disabled
    except ImportError:
        return False
    disabled: Any = is_disabled()
    return not disabled
