"""Jobs of short tasks in a queue of real clusters, by its order of containers: Heddle's code over modelled clusters.

    python -m scripts.short_task_figures [SEEDS [ORDER ...]] [--am-share PART]

Two clusters of two nodes with ten places each. Three jobs of four have 4 to 8 tasks of 1 to 3 s, the rest 12 to 20 of 5
to 10 s, as in `scripts/calibrating/draw.py`: without data, deadlines or graphs. `plain` is no Heddle: the clusters have
jobs in turn, and each runs its own. `unordered` leaves every ask to the schedulers of the clusters. A draw is *steady*
at one job every 1.6 s on average, *crowded* at one every 1.1 s, which is more than the places can do; in a *mixed* one
every third job asks for containers of four times the size. ApplicationMasters may have a fifth of each cluster, if not
told otherwise: what they have, no task has, and the later a job ends the longer its master holds a place.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from scripts.calibrating.draw import drawn_jobs
from scripts.figure_tables import print_heading, print_row
from scripts.two_clusters import be_silent, dealt_to, played_on
from shim.domain.resources import ResourceVector
from shim.scheduling.queue_policies import QUEUE_POLICIES
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage

PLAIN = "plain"
AM_SHARE = 0.2
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


def mean_s(order: str, jobs: Sequence[ModelledJob], seed: int, am_share: float = AM_SHARE) -> float:
    """Mean completion of jobs by an order of containers, or by each cluster's own means (`PLAIN`).

    Raises:
        RuntimeError: A job did not succeed.
    """
    node = ResourceVector(_PLACES * _SIZE.memory_mib, 4 * _PLACES)
    if order == PLAIN:
        return dealt_to(_CLUSTERS, jobs, node=node, nodes=2, seed=seed, am_share=am_share).completion.mean
    queue = f'containers = "{order}"'
    return played_on(_CLUSTERS, jobs, node=node, nodes=2, queue=queue, seed=seed, am_share=am_share).completion.mean


def main() -> None:
    """Print a row for each order: means, in brackets the range of the seeds, and the part of what is plain."""
    be_silent()
    parser = argparse.ArgumentParser(description="Short tasks by each order of containers.")
    parser.add_argument("seeds", type=int, nargs="?", default=3, help="how many seeds")
    parser.add_argument("orders", nargs="*", default=("unordered", *QUEUE_POLICIES), help="orders of containers")
    parser.add_argument("--am-share", type=float, default=AM_SHARE, help="part of a cluster for ApplicationMasters")
    told = parser.parse_args()
    seeds = range(1, told.seeds + 1)
    print_heading(["order", *(f"{name}: mean s | of plain" for name in DRAWS)])
    plain = dict[str, list[float]]()
    for order in (PLAIN, *told.orders):
        cells = [order]
        for name, draw in DRAWS.items():
            found = [mean_s(order, made_jobs(seed, draw), seed, told.am_share) for seed in seeds]
            plain.setdefault(name, found)
            spread = f"{fmean(found):.1f} ({min(found):.1f} to {max(found):.1f})"
            cells.append(f"{spread} | {fmean(found) / fmean(plain[name]):.2f}")
        print_row(cells)


if __name__ == "__main__":
    main()
