"""Reading Delta logs without Spark: identity, properties, markers and commits of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from airflow_refresh_provider.core.changes.reads import Read
from airflow_refresh_provider.core.definition.columns import Columns
from airflow_refresh_provider.core.definition.own_columns import OwnColumn
from airflow_refresh_provider.core.log.commits import Commit
from airflow_refresh_provider.core.maintain.spans import Spans
from airflow_refresh_provider.core.plan.checkpoints import checkpoint_is_due
from airflow_refresh_provider.core.plan.small_tables import is_small
from airflow_refresh_provider.core.text.stored import Stored

OPEN_COST = 4 << 20
"""To open a file costs as much as to read so many bytes: Spark's default of `spark.sql.files.openCostInBytes`."""


class TableIdentity(Stored):
    """Which Delta table it is, and its properties."""

    location: str
    table_id: str
    properties: dict[str, str] = {}


class TableFacts(TableIdentity):
    """A Delta table at its newest version. `rows` and `bytes` are None when its log has no statistics.

    `partitions` is how many it has, 0 where it is not partitioned.
    `types` are all columns with their types, as Spark reads them. `padded` are the columns whose values Spark fills up
    when it reads them, `floating` those of DOUBLE or FLOAT, `own` those that the table fills itself or that must have a
    value.
    `reader_features` are what a reader has to know. `plain`: a writer has to write rows, and no more.
    """

    version: int
    partitioned_by: tuple[str, ...] = ()
    partitions: int = 0
    clustered: bool = False
    columns: tuple[str, ...] = ()
    types: Columns = ()
    padded: tuple[str, ...] = ()
    reader_features: frozenset[str] = frozenset()
    plain: bool = False
    floating: tuple[str, ...] = ()
    own: tuple[OwnColumn, ...] = ()
    rows: int | None = None
    bytes: int | None = None

    @property
    def small(self) -> bool:
        """Whether its next commit may be one that rewrites it without Spark, to change a few rows."""
        due = checkpoint_is_due(self.version, self.properties)
        simple = self.plain and not (self.partitioned_by or self.clustered or self.own)
        return simple and is_small(self.rows, self.bytes, self.types) and not due


SpansOf = Mapping[str, Spans]
"""Column -> the spans within which its values are."""


@dataclass(frozen=True)
class Opened:
    """What is open of tables: by place at their newest version, and by place and version.

    `followed`: the newest version is looked for in the log each time, and opened where it is another one. Else it is
    that which was found first, so that all that is asked is about one moment.
    """

    followed: bool = False
    newest: dict[str, Any] = field(default_factory=dict)
    versions: dict[tuple[str, int], Any] = field(default_factory=dict)


class LogGap(Exception):
    """Commits that were requested have been cleaned up from the log."""


class TableLog(Protocol):
    """The Delta log of a table at a location. Errors of storage are errors.Retry or errors.Failed."""

    def keeping(self, opened: Opened) -> TableLog:
        """The log with tables that stay open: what it opens is left in `opened`, and is not opened again."""
        ...

    def facts(self, location: str) -> TableFacts | None:
        """None when there is no Delta table there. Raises Failed when something else is there."""
        ...

    def identity(self, location: str) -> TableIdentity | None:
        """Which table it is, None when there is none; cheaper than all facts. Raises as `facts`."""
        ...

    def newest(self, location: str) -> int:
        """The newest version."""
        ...

    def oldest(self, location: str) -> int:
        """The oldest version whose commit file is still there without a gap up to the newest."""
        ...

    def sizes_within(
        self, location: str, version: int, column: str, spans: Sequence[tuple[int, int]]
    ) -> tuple[int, int]:
        """The size of the files of a version that may have values of a column within the spans, and of all its files.

        By statistics and partition values; both are the same where there are none. Days are counted from 1970. Each
        file is larger by OPEN_COST.
        """
        ...

    def files_within(self, location: str, version: int, ways: Sequence[SpansOf]) -> Read | None:
        """How to read the files of a version that may have rows within the spans of all columns of one of the ways.

        They have exactly the rows of the version, but for deleted ones, which the read names. None where no such list
        exists or it is long, where there are many deleted rows, where a column is of another kind than its spans, and
        where too little is left out even if files are sorted (ADR 75).
        """
        ...

    def few_files(self, location: str, version: int, *, deleted: bool) -> Read | None:
        """How to read all files of a version, where they are few and have exactly its rows.

        None where no such list exists, and where more rows are deleted than the read can name; without `deleted`,
        where any are.
        """
        ...

    def readable_until(self, location: str, version: int) -> datetime | None:
        """From when on Spark refuses to read a version; None for the newest, which it never does.

        It refuses one whose commit is older than the table's `delta.deletedFileRetentionDuration`.
        """
        ...

    def markers(self, location: str) -> dict[str, int]:
        """appId -> newest txnVersion, of every appId of the table."""
        ...

    def commits(self, location: str, after: int, upto: int | None = None) -> tuple[Commit, ...]:
        """The commits of (after, upto], oldest first; upto None = newest. Raises LogGap."""
        ...
