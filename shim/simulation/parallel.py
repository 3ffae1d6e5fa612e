"""Runs of simulations, one after the other or several processes at a time."""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

OnJobEnd = Callable[[], object]
"""Called at the end of each simulated job."""

Result = TypeVar("Result")


def run_all(
    runs: Sequence[tuple[Callable[[OnJobEnd], Result], int]],
    *,
    n_processes: int = 1,
    on_jobs_end: Callable[[int], object] = lambda _: None,
) -> list[Result]:
    """Make all runs, and give their results in the order of the runs.

    Args:
        runs: What to call, and how many jobs it has; with several processes the callables must be picklable.
        n_processes: How many processes run at the same time; with 1 everything runs in this one.
        on_jobs_end: Is told how many more jobs have ended: one by one in this process, else a run at a time.
    """
    if n_processes == 1:
        return [run(lambda: on_jobs_end(1)) for run, _ in runs]
    with ProcessPoolExecutor(max_workers=n_processes) as pool:
        futures = [(pool.submit(run, _tell_nobody), n_jobs) for run, n_jobs in runs]
        for future, n_jobs in futures:
            future.add_done_callback(lambda _, ended=n_jobs: on_jobs_end(ended))  # type: ignore[misc]
        return [future.result() for future, _ in futures]


def _tell_nobody() -> None:
    """Of single jobs in another process nothing is heard."""
