"""Refreshes as OpenLineage's datasets and facets. Imported only where its provider asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attr
from airflow.providers.openlineage.extractors import OperatorLineage
from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import (
    DatasetFacet,
    InputDatasetFacet,
    JobFacet,
    OutputDatasetFacet,
    RunFacet,
    column_lineage_dataset,
    dataset_version_dataset,
    output_statistics_output_dataset,
    schema_dataset,
    sql_job,
)

from airflow_refresh_provider.core.run.lineage import Lineage
from airflow_refresh_provider.core.run.results import RunResult


@attr.define
class WindowFacet(InputDatasetFacet):
    """The versions whose changes were read: after one, up to the other."""

    after: str
    upto: str


@attr.define
class RowsFacet(OutputDatasetFacet):
    """What happened to the rows of the target."""

    inserted: int
    updated: int
    deleted: int
    unchanged: int


@attr.define
class RefreshFacet(RunFacet):
    """One refresh: its run, how it was done, and why."""

    runId: str | None  # noqa: N815 - facets are written so
    definition: str
    outcome: str
    mode: str | None
    modeCode: str | None  # noqa: N815
    modeReason: str | None  # noqa: N815
    attempts: int
    chunks: int
    resumed: bool
    lagSeconds: float | None  # noqa: N815
    late: bool


def of_definition(definition: Mapping[str, Any]) -> OperatorLineage[Any, Any]:
    """What is known before a refresh: the tables and the query, of a definition as it was written."""
    inputs = [InputDataset(*dataset(str(read["path"]))) for read in definition.get("inputs", {}).values()]
    return OperatorLineage(
        inputs=inputs,
        outputs=[OutputDataset(*dataset(str(definition["target"])))],
        job_facets=_query(str(definition["query"])) if "query" in definition else {},
    )


def of_refresh(found: Lineage, result: RunResult) -> OperatorLineage[Any, Any]:
    """What a refresh has read and written, at which versions."""
    return OperatorLineage(
        inputs=[_input(name, found, result) for name in found.definition.inputs],
        outputs=[_output(found, result)],
        run_facets={"refresh": _run(result)},
        job_facets=_query(found.definition.query_text),
    )


def dataset(place: str) -> tuple[str, str]:
    """Namespace and name of a table, as OpenLineage names those in file systems and object stores."""
    scheme, separated, rest = place.partition("://")
    if not separated:
        return "file", place
    authority, _, path = rest.partition("/")
    return (f"{scheme}://{authority}", path or "/") if authority else (scheme, f"/{path}")


def _input(name: str, found: Lineage, result: RunResult) -> InputDataset:
    facets: dict[str, DatasetFacet] = {"schema": _schema(found.inputs.get(name, {}))}
    if name in result.input_versions:
        version = str(result.input_versions[name])
        facets["version"] = dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=version)
    windows: dict[str, InputDatasetFacet] = {}
    if name in result.windows:
        after, upto = map(str, result.windows[name])
        windows["refresh_window"] = WindowFacet(after=after, upto=upto)
    namespace, path = dataset(found.definition.inputs[name].path)
    return InputDataset(namespace, path, facets=facets, inputFacets=windows)


def _output(found: Lineage, result: RunResult) -> OutputDataset:
    rows = result.rows
    facets: dict[str, DatasetFacet] = {"schema": _schema({one.name: one.type for one in found.target})}
    if result.published_version is not None:
        version = str(result.published_version)
        facets["version"] = dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=version)
    if found.origins is not None:
        facets["columnLineage"] = _columns(found)
    statistics: dict[str, OutputDatasetFacet] = {
        "outputStatistics": output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
            rowCount=rows.inserted + rows.updated, size=result.spent.bytes_written if result.spent else None
        ),
        "refresh_rows": RowsFacet(**rows.model_dump()),
    }
    return OutputDataset(*dataset(found.definition.target), facets=facets, outputFacets=statistics)


def _columns(found: Lineage) -> column_lineage_dataset.ColumnLineageDatasetFacet:
    def field(name: str, column: str) -> column_lineage_dataset.InputField:
        return column_lineage_dataset.InputField(*dataset(found.definition.inputs[name].path), field=column)

    written = {one.name.lower(): one.name for one in found.target}
    return column_lineage_dataset.ColumnLineageDatasetFacet(
        fields={
            written.get(column, column): column_lineage_dataset.Fields(inputFields=[field(*one) for one in made_of])
            for column, made_of in (found.origins or {}).items()
        }
    )


def _schema(columns: Mapping[str, str]) -> schema_dataset.SchemaDatasetFacet:
    fields = [schema_dataset.SchemaDatasetFacetFields(name=name, type=kind or None) for name, kind in columns.items()]
    return schema_dataset.SchemaDatasetFacet(fields=fields)


def _query(text: str) -> dict[str, JobFacet]:
    return {"sql": sql_job.SQLJobFacet(query=text, dialect="spark")}


def _run(result: RunResult) -> RefreshFacet:
    return RefreshFacet(
        runId=result.run_id,
        definition=result.name,
        outcome=result.outcome.value,
        mode=result.mode,
        modeCode=result.mode_code,
        modeReason=result.mode_reason,
        attempts=result.attempts,
        chunks=result.chunks.done,
        resumed=result.resumed,
        lagSeconds=result.lag_seconds,
        late=result.late,
    )
