"""A commit of a table that this process has seen, and whether the log still goes on from it."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_refresh_provider.delta.storage.log_files import CommitFile, LogFiles, list_log, recent_log


@dataclass(frozen=True)
class SeenCommit:
    """A commit by version and file: where the table was replaced or put back, another file is in its place."""

    version: int
    file: CommitFile

    def is_newest(self, location: str) -> bool:
        """Whether nothing was committed since."""
        log = self.log_since(location)
        return log is not None and log.newest == self.version

    def log_since(self, location: str) -> LogFiles | None:
        """The log from this commit on, None where it does not go on from it."""
        log = list_log(location, since=self.version)
        return log if log is not None and log.commits.get(self.version) == self.file else None


def newest_commit(location: str) -> SeenCommit | None:
    """The newest commit, None where there is no table, or its storage gives no tags, by which it would be known."""
    log = recent_log(location)
    newest = None if log is None else SeenCommit(log.newest, log.commits[log.newest])
    return newest if newest and newest.file.tag is not None else None


def seen_commit(location: str, version: int) -> SeenCommit | None:
    """The commit of a version, None where its file is gone already."""
    log = list_log(location, since=version)
    return SeenCommit(version, log.commits[version]) if log is not None and version in log.commits else None
