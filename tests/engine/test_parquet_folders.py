"""What counts as data in a folder is what Spark reads with it, whatever the folder looks like."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from airflow_refresh_provider.compose import refreshes
from airflow_refresh_provider.core.definition.definition import Definition
from airflow_refresh_provider.core.definition.inputs import Input
from airflow_refresh_provider.core.log.note import read_note
from airflow_refresh_provider.core.plan.ways import Way
from airflow_refresh_provider.core.run.request import Request
from airflow_refresh_provider.delta.tables.target_log import DeltaTableLog
from airflow_refresh_provider.errors import Invalid
from airflow_refresh_provider.inputs.kinds import kind_of
from airflow_refresh_provider.places import Places
from airflow_refresh_provider.runner.refreshes import Refreshes
from airflow_refresh_provider.spark.acts.content import for_columns, load
from airflow_refresh_provider.spark.connect.endpoint import Endpoint

_NAMES = ("day=1", "day=2", "DAY=3", "hour=1", "sub", "_hidden", ".hidden", "_day=4", "a b", "day=x%20y")
_SEEDS = range(40)


Layout = tuple[tuple[str, ...], list[int]]
"""The names of folders, and how deep they may lie in each other."""
_ANY: Layout = (_NAMES, [0, 0, 1, 1, 1, 2, 3])
_LAYOUTS: tuple[Layout, ...] = (
    (("sub", "_hidden", ".hidden", "a b"), [0, 0, 1, 2]),
    (("day=1", "day=2", "day=x%20y", "_day=4"), [1]),
    _ANY,
)


def _folder(root: Path, chance: random.Random, first: int = 0, layout: Layout = _ANY) -> None:
    """A few files more, each in a folder of up to three levels; some folders and files are links."""
    names, depths = layout
    for number in range(first, first + chance.randrange(1, 6)):
        place = root
        for _ in range(chance.choice(depths)):
            place /= chance.choice(names)
        place.mkdir(parents=True, exist_ok=True)
        file = place / f"f{number}.parquet"
        if chance.random() < 0.15:
            elsewhere = root.parent / f"elsewhere{number}"
            elsewhere.mkdir()
            _write(elsewhere / "linked.parquet", number)
            (place / f"linked{number}").symlink_to(elsewhere)
            _write(elsewhere.with_suffix(".parquet"), number + 100)
            file.symlink_to(elsewhere.with_suffix(".parquet"))
        else:
            _write(file, number)


def _write(file: Path, number: int) -> None:
    pq.write_table(pa.table({"id": pa.array([number], pa.int64())}), file)


@pytest.mark.slow
def test_a_pin_reads_what_spark_reads_with_the_folder(open_session: Callable[[], SparkSession], tmp_path: Path) -> None:
    spark = open_session()
    refused = 0
    for seed in _SEEDS:
        root = tmp_path / str(seed) / "in"
        root.mkdir(parents=True)
        _folder(root, random.Random(seed))
        wanted = _by_spark(spark, root)
        found = _pinned(spark, root)
        refused += found is None
        assert (found or []) == wanted, f"{seed}: {sorted(root.rglob('*'))}"
    assert 0 < refused < len(_SEEDS) * 3 / 4


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 30), marks=pytest.mark.slow)], ids=["few", "many"])
def test_directly_after_a_refresh_a_comparison_finds_no_difference(
    open_session: Callable[[], SparkSession], tmp_path: Path, spark_server: Endpoint, seeds: range
) -> None:
    """Whatever the folder looks like, and whether it was read whole, in splits or only its new files."""
    open_session()
    modes: list[str | None] = []
    split = 0
    for seed in seeds:
        folder, chance = tmp_path / str(seed), random.Random(seed)
        root = folder / "in"
        root.mkdir(parents=True)
        them = refreshes(Places(str(folder / "control"), spark_server.url, str(folder / "spark")))
        for first in (0, 10, 20):
            _folder(root, chance, first, _LAYOUTS[seed % len(_LAYOUTS)])
            modes.append(_refreshed(them, folder, rows=1_000 if seed % 2 else 1))
        split += _appended_in_splits(folder / "target")
    assert "incremental" in modes and "full" in modes and split


def _appended_in_splits(target: Path) -> bool:
    """Whether the first load took several commits."""
    commits = DeltaTableLog().commits(str(target), after=-1) if target.exists() else ()
    notes = [note for commit in commits if (note := read_note(commit.note))]
    return sum(note.way == Way.APPEND for note in notes) > 1


def _refreshed(them: Refreshes, folder: Path, rows: int) -> str | None:
    """How a refresh read the folder, by commits of so many rows; None where the folder is refused."""
    definition = Definition.build(
        name="odd",
        target=str(folder / "target"),
        query="SELECT id FROM x",
        inputs={"x": {"path": str(folder / "in"), "format": "parquet"}},
        keys=["id"],
        mode="incremental",
        max_delete_ratio=1.0,
        chunking={"one_commit_up_to": rows, "chunk_rows": rows},
        visibility="live",
    )
    try:
        them.register(definition)
        result = them.run("odd", Request())
    except Invalid:
        return None
    compared = them.compare_only("odd")
    assert compared.equal, f"{sorted(folder.joinpath('in').rglob('*'))}: {compared.samples}"
    return result.mode


@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 60), marks=pytest.mark.slow)], ids=["few", "many"])
def test_a_file_of_each_folder_has_the_columns_of_all(
    open_session: Callable[[], SparkSession], tmp_path: Path, seeds: range
) -> None:
    """Whatever columns each of the files has by itself."""
    spark = open_session()
    fewer = 0
    for seed in seeds:
        root = tmp_path / str(seed) / "in"
        root.mkdir(parents=True)
        chance = random.Random(seed)
        for first in (0, 10):
            _folder(root, chance, first, _LAYOUTS[seed % len(_LAYOUTS)])
        for number, file in enumerate(sorted(root.rglob("*.parquet"))):
            pq.write_table(pa.table({"id": [number], chance.choice("ab"): [chance.choice([1, "x", 1.5])]}), file)
        try:
            whole = kind_of("parquet").pin("x", Input(path=str(root), format="parquet")).read({})
        except Invalid:
            continue
        few = for_columns(spark, whole)
        fewer += len(few.paths) < len(whole.paths)
        assert load(spark, few).schema == load(spark, whole).schema, f"{seed}: {whole.paths}"
    assert fewer


def _by_spark(spark: SparkSession, root: Path) -> list[str]:
    """The rows of a folder; none where Spark refuses to read it."""
    try:
        return _rows(spark.read.parquet(str(root)))
    except PySparkException:
        return []


def _pinned(spark: SparkSession, root: Path) -> list[str] | None:
    """The rows of a pinned folder, None where it is refused."""
    try:
        pin = kind_of("parquet").pin("x", Input(path=str(root), format="parquet"))
    except Invalid:
        return None
    return _rows(load(spark, pin.read({})))


def _rows(found: DataFrame) -> list[str]:
    """The rows as text, with their columns."""
    return sorted(str(sorted(row.asDict().items())) for row in found.collect())
