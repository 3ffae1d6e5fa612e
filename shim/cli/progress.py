"""Progress of a long verb: a bar on a terminal, nothing elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Advance:
    """Moves the bar on a terminal; elsewhere does nothing."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._task = progress.add_task("jobs", total=total) if progress else None

    def __call__(self, n_jobs: int) -> None:
        """Tell that so many more jobs have ended."""
        if self._progress is not None and self._task is not None:
            self._progress.advance(self._task, n_jobs)


@contextmanager
def progress_of_jobs(total: int) -> Iterator[Advance]:
    """A bar of simulated jobs on the terminal's error stream, gone at the end."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Advance(None, total)
        return
    columns = (TextColumn("simulated"), BarColumn(), MofNCompleteColumn(), TextColumn("jobs"))
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True) as progress:
        yield Advance(progress, total)
