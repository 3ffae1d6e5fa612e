"""Parallel schedulers on one shared state by Omega: conflicts, busyness and waits by how many and how much comes.

    python -m scripts.omega_figures [SEEDS]

1,000 machines of 4 cores that are six tenths full at any rate: tasks are the shorter the more jobs come, so that
rows differ by the schedulers' work alone. At rate 1 a job of a hundred tasks comes every 5 s on average; a scheduler
thinks 0.1 s about a job and 5 ms about each of its tasks. Cells are means of the seeds, in brackets their range.
"""

import sys
from collections.abc import Sequence
from statistics import fmean

from scripts.figure_tables import print_heading, print_row
from scripts.papers.omega_conflicts import ParallelSchedulers, batch_workload, in_parallel
from shim.simulation.omega import OmegaThinking

RATES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
SCHEDULERS = (1, 2, 4, 8)
_THINKING = OmegaThinking(0.1, 0.005)
_UTILISATION = 0.6
_JOBS = 600
_GAP_S = 5.0


def found_with(rate: float, n_schedulers: int, seed: int, jobs: int = _JOBS) -> ParallelSchedulers:
    """Run so many jobs, give or take what a draw does."""
    horizon_s = jobs * _GAP_S / rate
    workload = batch_workload(seed, horizon_s, rate, _UTILISATION)
    return in_parallel(workload, n_schedulers, _THINKING, seed, horizon_s)


def _cell(values: Sequence[float], digits: int, factor: float = 1.0) -> str:
    mean, least, most = (factor * each for each in (fmean(values), min(values), max(values)))
    return f"{mean:.{digits}f} ({least:.{digits}f} to {most:.{digits}f})"


def main() -> None:
    """Print a row for each rate and number of schedulers."""
    seeds = range(1, int(sys.argv[1]) + 1) if sys.argv[1:] else range(1, 4)
    print_heading(
        ["rate", "schedulers", "conflict fraction", "claims lost %", "busy %", "deciding anew %", "wait of a job s"]
    )
    for rate in RATES:
        for n_schedulers in SCHEDULERS:
            found = [found_with(rate, n_schedulers, seed) for seed in seeds]
            print_row(
                [
                    f"{rate:g}",
                    str(n_schedulers),
                    _cell([each.conflict_fraction for each in found], 3),
                    _cell([each.claims_lost for each in found], 2, 100.0),
                    _cell([each.busy for each in found], 0, 100.0),
                    _cell([each.redoing for each in found], 1, 100.0),
                    _cell([each.wait_s for each in found], 2),
                ]
            )


if __name__ == "__main__":
    main()
