"""What a published refresh has read and written, for systems that show how tables are made of others."""

from __future__ import annotations

from airflow_refresh_provider.core.definition.columns import Columns
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.text.stored import Stored


class Lineage(Stored):
    """The columns of inputs and target, and from which columns (input, column) each column of the target is made.

    `origins` is null where the analysis does not follow the query.
    """

    definition: Definition
    inputs: dict[str, dict[str, str]]
    target: Columns
    origins: dict[str, tuple[tuple[str, str], ...]] | None
