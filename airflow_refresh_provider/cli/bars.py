"""The progress of a refresh on stderr: a bar per stage on a terminal, plain lines elsewhere.

Worker threads advance the bars. A stage with a known number of rows is measured in rows, any other in chunks. Until the
first of them is done the bar is indeterminate: a stage that is one statement reports no progress.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from airflow_refresh_provider.core.text.wording import sizes

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress, TaskID

    from airflow_refresh_provider.ports.watch import Committed


class Bars:
    """The watch of one command. Nothing is drawn or imported before the first stage."""

    def __init__(self, to: TextIO) -> None:
        self._to = to
        self._progress: Progress | None = None
        self._bar: TaskID | None = None
        self._in_rows = False
        self._total: int | None = None

    def __enter__(self) -> Bars:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()  # the last bar stays where it is: a run that is followed may have failed

    def stage(self, name: str, rows: int | None = None, chunks: int | None = None, *, part: str = "chunk") -> None:
        """A stage starts; the one before it has ended."""
        if not self._to.isatty():
            self._line(f"{name}{_size(rows, chunks, part)}")
            return
        self._finish()
        self._in_rows = bool(rows)
        self._total = rows or chunks
        self._bar = self._started().add_task(name, total=None, chunks=0, of=chunks, part=part, rows=rows)

    def advance(self, rows: int, chunks: int = 1) -> None:
        """Parts of the current stage are done."""
        if self._progress is None or self._bar is None:
            return
        done = self._progress.tasks[self._bar].fields["chunks"] + chunks
        self._progress.update(self._bar, total=self._total, advance=rows if self._in_rows else chunks, chunks=done)

    def skip(self, rows: int, chunks: int) -> None:
        """The bar starts after them."""
        self.advance(rows, chunks)

    def committed(self, chunk: Committed) -> None:
        """One more chunk is done."""
        self.advance(chunk.rows)

    def note(self, message: str) -> None:
        """A line above the bars."""
        if self._progress is not None:
            self._progress.console.print(message, markup=False, highlight=False)
        else:
            self._line(message)

    def _line(self, text: str) -> None:
        self._to.write(f"{text}\n")
        self._to.flush()

    def _finish(self) -> None:
        """Fill the current bar, whatever its total was."""
        if self._progress is None or self._bar is None:
            return
        total = self._total or 1
        self._progress.update(self._bar, total=total, completed=total)
        self._progress.stop_task(self._bar)

    def _started(self) -> Progress:
        if self._progress is None:
            from airflow_refresh_provider.cli.terminal import progress_bars

            self._progress = progress_bars(self._to)
            self._progress.start()
        return self._progress


def _size(rows: int | None, chunks: int | None, part: str) -> str:
    known = sizes(rows, chunks, part)
    return f": {', '.join(known)}" if known else ""
