"""Bids and offers between Global Masters: Heddle's own code over modelled clusters, with and without.

    python -m scripts.bids_figures [SEEDS]

Two clusters of 16 places, four queues of equal weight that each span both, 2 or 4 Global Masters that own them, and a
Local Master for each cluster. Jobs of four to 24 tasks come at random to all queues. `REJECTED` counts proposals that
a Local Master rejected, whole or in part; `OFFERED` are those of them for room that was kept for another. A Local
Master tells `nothing` with its reports, or what is `promised`, or makes `offers`, too.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from unittest.mock import patch

from scripts.two_clusters import be_silent
from shim.domain.ids import SubClusterId
from shim.domain.resources import ResourceVector
from shim.peers.local import LocalMasterSettings
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage
from shim.simulation.cluster.spec import ModelledClusterSpec, QueueSpec
from shim.simulation.engine import seeded
from shim.simulation.yarn_sim.run import YarnOutcome, YarnSetting, play

GLOBAL_MASTERS = (2, 4)
TOLD = ("nothing", "promised", "offers")
ORDERS = ("fifo", "tetris")
_QUEUES = ("root.a", "root.b", "root.c", "root.d")
_NAMES = ("east", "west")
_JOBS, _TASKS, _TASK_S, _LONGER, _LONG_PART = 30, (4, 24), 8.0, 4.0, 0.1
_NODES, _PLACES, _LOAD, _OFFER_S = 4, 4, 0.6, 1.0
_SIZE = ResourceVector(1024, 1)
_CONFIG = "[masters]\noffer_s = {offer_s}\n[poll]\ninterval_s = 1.0\nlate_after_s = 5.0\n"
_QUEUE = '[[queue]]\nname = "{name}"\nspan = true\norder = "fifo"\nweight = 1.0\ncontainers = "{order}"\n'


@dataclass(frozen=True, slots=True)
class Found:
    """Result of a run.

    Attributes:
        rejected: Proposals that were rejected; `for_offers` those of them for room that was kept for another.
        proposed: Proposals that had a verdict.
        wait_s: Mean of all tasks, from their job's arrival to their start.
        completion_s: Mean of all jobs, from arrival to end.
        expired: Containers that were offered and left, of `made` that were offered.
    """

    rejected: int
    for_offers: int
    proposed: int
    wait_s: float
    completion_s: float
    p95_s: float
    made: int
    taken: int
    expired: int

    @classmethod
    def of(cls, outcome: YarnOutcome) -> "Found":
        """Read it off a run."""
        told = outcome.proposals
        return cls(
            rejected=told.verdicts["rejected"],
            for_offers=told.conflicts["offered"],
            proposed=sum(told.verdicts.values()),
            wait_s=sum(outcome.waits_s) / len(outcome.waits_s),
            completion_s=outcome.completion.mean,
            p95_s=outcome.completion.p95,
            made=told.offers["made"],
            taken=told.offers["taken"],
            expired=told.offers["expired"],
        )


def made_jobs(seed: int, count: int = _JOBS) -> list[ModelledJob]:
    """Jobs of one stage, in all queues alike, at 0.6 of what the places can do; ApplicationMasters come on top."""
    rng = seeded(seed, "bids")
    stages = list[ModelledStage]()
    for _ in range(count):
        mean_s = _TASK_S * (_LONGER if rng.random() < _LONG_PART else 1.0)
        durations = tuple(mean_s * rng.uniform(0.75, 1.25) for _ in range(rng.randint(*_TASKS)))
        stages.append(ModelledStage(durations, size=_SIZE))
    places = len(_NAMES) * _NODES * _PLACES
    gap_s = sum(sum(each.durations_s) for each in stages) / (count * places * _LOAD)
    made, at_s = list[ModelledJob](), 0.0
    for number, stage in enumerate(stages):
        made.append(ModelledJob(f"job-{number}", at_s, (stage,), queue=rng.choice(_QUEUES)))
        at_s += rng.expovariate(1 / gap_s)
    return made


def found_with(jobs: Sequence[ModelledJob], seed: int, *, global_masters: int, told: str, order: str = "fifo") -> Found:
    """Run jobs to their ends.

    Args:
        jobs: They.
        seed: Of the run.
        global_masters: How many.
        told: One of `TOLD`.
        order: Of containers, in each queue.

    Raises:
        RuntimeError: A job did not succeed.
    """
    node = ResourceVector(_PLACES * 1024 + 512, _PLACES)
    queues = {name: QueueSpec(100.0 / len(_QUEUES), 100.0, am_share=0.5, user_limit_factor=8.0) for name in _QUEUES}
    clusters = tuple(
        ModelledClusterSpec.even(SubClusterId(name), nodes=_NODES, size=node, epoch=epoch, queues=queues)
        for epoch, name in ((1000, _NAMES[0]), (2000, _NAMES[1]))
    )
    config = _CONFIG.format(offer_s=_OFFER_S if told == "offers" else 0) + "".join(
        _QUEUE.format(name=name, order=order) for name in _QUEUES
    )
    setting = YarnSetting(clusters=clusters, config=config, seed=seed, global_masters=global_masters)
    with patch("shim.app.peers.LocalMasterSettings", partial(LocalMasterSettings, tells=told != "nothing")):
        outcome = play(setting, jobs)
    if outcome.failed:
        raise RuntimeError(f"{global_masters} Global Masters, {told}: {outcome.failed}")
    return Found.of(outcome)


def _shown(found: Sequence[Found]) -> str:
    """Sums of counts and means of times over the runs of all seeds."""
    sums = [sum(getattr(each, name) for each in found) for name in ("proposed", "rejected", "for_offers")]
    means = [sum(getattr(each, name) for each in found) / len(found) for name in ("wait_s", "completion_s", "p95_s")]
    offers = [sum(getattr(each, name) for each in found) for name in ("made", "taken", "expired")]
    return (
        f"{sums[0]:9} {sums[1]:9} {sums[2]:8} {means[0]:7.2f} {means[1]:7.1f} {means[2]:7.1f}"
        f" {offers[0]:5} {offers[1]:6} {offers[2]:8}"
    )


def main() -> None:
    """Print a row for each number of Global Masters and what is told, over all seeds."""
    be_silent()
    seeds = range(1, (int(sys.argv[1]) if len(sys.argv) > 1 else 3) + 1)
    print("ORDER   GMS  TOLD       PROPOSED  REJECTED  OFFERED  WAIT s  MEAN s   P95 s  MADE  TAKEN  EXPIRED")
    for order, global_masters, told in product(ORDERS, GLOBAL_MASTERS, TOLD):
        found = [
            found_with(made_jobs(seed), seed, global_masters=global_masters, told=told, order=order) for seed in seeds
        ]
        print(f"{order:7} {global_masters:3}  {told:9} {_shown(found)}", flush=True)


if __name__ == "__main__":
    main()
