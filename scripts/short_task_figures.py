"""Jobs of short tasks in a queue of real clusters, by its order of containers: Heddle's code over modelled clusters.

    python -m scripts.short_task_figures [SEEDS [ORDER ...]]

Two clusters of two nodes with ten places each. Three jobs of four have 4 to 8 tasks of 1 to 3 s, the rest 12 to 20 of 5
to 10 s, as in `scripts/calibrating/draw.py`: without data, deadlines or graphs. `plain` is no Heddle: the clusters have
jobs in turn, and each runs its own. `unordered` leaves every ask to the schedulers of the clusters. A draw is *steady*
at one job every 1.6 s on average, *crowded* at one every 1.1 s, which is more than the places can do; in a *mixed* one
every third job asks for containers of four times the size.
"""

import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import structlog

from scripts.calibrating.draw import drawn_jobs
from scripts.figure_tables import print_heading, print_row
from scripts.two_clusters import dealt_to, played_on
from shim.domain.resources import ResourceVector
from shim.scheduling.queue_policies import QUEUE_POLICIES
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage

__all__ = ["DRAWS", "Draw", "made_jobs", "mean_s"]

PLAIN = "plain"
_CLUSTERS = ("east", "west")
_JOBS, _PLACES, _LARGER, _EVERY_THIRD = 60, 10, 4, 3
_SIZE = ResourceVector(256, 1)


@dataclass(frozen=True, slots=True)
class Draw:
    """Kind of a draw of jobs.

    Attributes:
        gap_s: Mean time from one arrival to the next.
        is_mixed: Whether every third job has larger containers.
    """

    gap_s: float
    is_mixed: bool = False


DRAWS = {"steady": Draw(1.6), "crowded": Draw(1.1), "mixed": Draw(3.0, is_mixed=True)}


def made_jobs(seed: int, draw: Draw, count: int = _JOBS) -> list[ModelledJob]:
    """Draw the jobs of a run."""
    found = list[ModelledJob]()
    for number, job in enumerate(drawn_jobs(seed, count, draw.gap_s)):
        is_large = draw.is_mixed and number % _EVERY_THIRD == 0
        size = _SIZE.times(_LARGER) if is_large else _SIZE
        found.append(ModelledJob(job.name, job.arrival_s, (ModelledStage(job.durations_s, size=size),), master=_SIZE))
    return found


def mean_s(order: str, jobs: Sequence[ModelledJob], seed: int) -> float:
    """Mean completion of jobs by an order of containers, or by each cluster's own means (`plain`).

    Raises:
        RuntimeError: A job did not succeed.
    """
    node = ResourceVector(_PLACES * _SIZE.memory_mib, 4 * _PLACES)
    if order == PLAIN:
        return dealt_to(_CLUSTERS, jobs, node=node, nodes=2, seed=seed).completion.mean
    queue = f'containers = "{order}"'
    return played_on(_CLUSTERS, jobs, node=node, nodes=2, queue=queue, seed=seed).completion.mean


def main() -> None:
    """Print a row for each order: means, in brackets the range of the seeds, and the part of what is plain."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    seeds = range(1, int(sys.argv[1]) + 1) if sys.argv[1:] else range(1, 4)
    print_heading(["order", *(f"{name}: mean s | of plain" for name in DRAWS)])
    plain = dict[str, list[float]]()
    for order in (PLAIN, *(sys.argv[2:] or ("unordered", *QUEUE_POLICIES))):
        cells = [order]
        for name, draw in DRAWS.items():
            found = [mean_s(order, made_jobs(seed, draw), seed) for seed in seeds]
            plain.setdefault(name, found)
            spread = f"{fmean(found):.1f} ({min(found):.1f} to {max(found):.1f})"
            cells.append(f"{spread} | {fmean(found) / fmean(plain[name]):.2f}")
        print_row(cells)


if __name__ == "__main__":
    main()
