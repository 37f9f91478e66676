"""Where errors are provoked: a lake, a folder of one error, and short ways to inputs, targets and acts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_refresh_provider.core.changes.pins import DeltaPin, FilesPin, FileStamp
from airflow_refresh_provider.core.plan.plan import Chunk, Target
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.ports.tasks import ApplyTask, Source
from airflow_refresh_provider.spark.acts import sql
from airflow_refresh_provider.spark.connect.endpoint import Endpoint
from tests.engine.acts import Lake, source


@dataclass(frozen=True)
class Bench:
    """What an error is provoked with. Everything of one error lies below `folder`."""

    lake: Lake
    folder: Path
    endpoint: Endpoint

    def query(self, query: str, rows: str = "SELECT id, id AS v FROM range(4)") -> Source:
        """A query over `src`, a Delta table with these rows."""
        pin = self.table("src", rows)
        return source(query, "id", pins={"src": pin})

    def table(self, name: str, rows: str, **properties: str) -> DeltaPin:
        """A Delta table with these rows."""
        place = str(self.folder / name)
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        with_properties = f"TBLPROPERTIES ({listed})" if listed else ""
        self.do(f"CREATE TABLE {sql.table(place)} USING delta {with_properties} AS {rows}")
        return self.pin(name)

    def pin(self, name: str) -> DeltaPin:
        """The table of that name as it is now."""
        facts = self.lake.log.facts(str(self.folder / name))
        assert facts is not None
        return DeltaPin(location=str(self.folder / name), table_id=facts.table_id, version=facts.version)

    def files(self, query: str = "SELECT * FROM src", name: str = "src") -> Source:
        """A query over `src`, the parquet files below a folder."""
        folder = self.folder / name
        found = sorted(map(str, folder.rglob("*.parquet")))
        stamps = tuple(FileStamp(path=path, size=1, modified=1) for path in found)
        pin = FilesPin(format="parquet", location=str(folder), files=stamps)
        return source(query, "id", pins={"src": pin})

    def do(self, *statements: str) -> None:
        """Run statements that succeed."""
        for statement in statements:
            self.lake.spark.sql(statement).collect()

    def target(self, columns: str, *more: str, layout: str = "") -> Target:
        """An empty target made by others."""
        place = str(self.folder / "target")
        self.do(f"CREATE TABLE {sql.table(place)} ({columns}) USING delta {layout}")
        for statement in more:
            self.do(statement.replace("{t}", sql.table(place)))
        return self.lake.found(place)

    def describe(self, query: Source) -> None:
        """Let Spark analyze a query."""
        self.lake.session.describe(query)

    def read(self, query: Source) -> None:
        """Let Spark compute all rows of a query, for a target in its own columns, and append them."""
        target = self.lake.target(query)
        self.lake.load(target, query)

    def load(self, target: Target, query: Source) -> None:
        """Append the rows of a query to a target."""
        self.lake.load(target, query)

    def merge(self, target: Target, query: Source, way: Way = Way.MERGE, then: Callable[[], Any] | None = None) -> None:
        """Stage the differences between query and target and merge them; `then` happens in between."""
        compared = self.lake.compare(target, query)
        if then is not None:
            then()
        self.lake.apply(target, query, compared, way)

    def rewrite(self, target: Target, query: Source) -> ApplyTask:
        """A chunk that rewrites the whole target."""
        return ApplyTask(
            target=target,
            source=query,
            base=self.lake.log.newest(target.location),
            changes=None,
            chunk=Chunk(number=1, way=Way.REWRITE),
            stamp=self.lake.stamp(target),
        )


Provocation = Callable[[Bench], Any]
