"""All ports of one composition, handed to the runner as one value."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_refresh_provider.ports.control import ControlStore
from airflow_refresh_provider.ports.engine import Engine
from airflow_refresh_provider.ports.input_kind import InputKinds
from airflow_refresh_provider.ports.seals import Seals
from airflow_refresh_provider.ports.small_tables import SmallTables
from airflow_refresh_provider.ports.staging import Staging
from airflow_refresh_provider.ports.table_folders import TableFolders
from airflow_refresh_provider.ports.table_log import TableLog
from airflow_refresh_provider.ports.watch import Watch
from airflow_refresh_provider.ports.world import Clock, Heart, Processes


@dataclass(frozen=True)
class Ports:
    """`environment` is what `${NAME}` in definitions is read from; `staging_root` holds a folder per definition.

    `control_root` is None where control tables have no place.
    """

    store: ControlStore
    log: TableLog
    folders: TableFolders
    inputs: InputKinds
    staging: Staging
    small_tables: SmallTables
    seals: Seals
    engine: Engine
    clock: Clock
    processes: Processes
    heart: Heart
    watch: Watch
    environment: dict[str, str]
    staging_root: str
    control_root: str | None = None
