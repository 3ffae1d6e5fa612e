"""Modelled clusters, two of four nodes if not told otherwise, with Heddle before them: for figures of yarn-sim."""

import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random

import structlog

from shim.domain.ids import SubClusterId
from shim.domain.resources import ResourceVector
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage
from shim.simulation.cluster.spec import ModelledClusterSpec, QueueSpec
from shim.simulation.yarn_sim.run import SimulatedFront, YarnOutcome, YarnSetting, play

_AM_SHARE = 0.5


def be_silent() -> None:
    """Write no log lines but errors."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))


def each_run(
    orders: Iterable[str], made_jobs: Callable[[int], Sequence[ModelledJob]]
) -> Iterator[tuple[int, str, Sequence[ModelledJob]]]:
    """Seeds, as many as the command line says or three, each with every order and the jobs of that seed."""
    be_silent()
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    for seed in range(1, seeds + 1):
        jobs = made_jobs(seed)
        for order in orders:
            yield seed, order, jobs


def played_on_two_clusters(
    jobs: Sequence[ModelledJob], *, node: ResourceVector, queue: str, seed: int, order: str = "fifo"
) -> YarnOutcome:
    """Run jobs to their ends.

    Args:
        jobs: All of the queue `root.default`, which spans both clusters.
        node: What each node has.
        queue: Further lines of that queue's `[[queue]]`.
        seed: Of the run.
        order: In which applications start.

    Raises:
        RuntimeError: A job did not succeed.
    """
    return played_on(("east", "west"), jobs, node=node, queue=queue, seed=seed, order=order)


def played_on(
    names: Sequence[str],
    jobs: Sequence[ModelledJob],
    *,
    node: ResourceVector,
    queue: str,
    seed: int,
    nodes: int = 4,
    am_share: float = _AM_SHARE,
    order: str = "fifo",
) -> YarnOutcome:
    """Run jobs to their ends on clusters of these names, with so many nodes each.

    `am_share` is the part of each cluster that ApplicationMasters may have.

    Raises:
        RuntimeError: A job did not succeed.
    """
    config = f'[[queue]]\nname = "root.default"\nspan = true\norder = "{order}"\n{queue}\n'
    clusters = _modelled(names, node, nodes, am_share)
    return _ended(YarnSetting(clusters=clusters, config=config, seed=seed), jobs, queue)


def dealt_to(
    names: Sequence[str],
    jobs: Sequence[ModelledJob],
    *,
    node: ResourceVector,
    seed: int,
    nodes: int = 4,
    am_share: float = _AM_SHARE,
) -> YarnOutcome:
    """Run jobs to their ends on the same clusters without Heddle: each has the next job, and each runs by itself.

    Raises:
        RuntimeError: A job did not succeed.
    """
    clusters = _modelled(names, node, nodes, am_share)
    setting = YarnSetting(clusters=clusters, front=SimulatedFront.DEALT, seed=seed)
    return _ended(setting, jobs, "no Heddle")


def arriving(stages: Sequence[ModelledStage], rng: Random, *, places: int, load: float) -> list[ModelledJob]:
    """Jobs of one stage each that come at random, at a part of what so many places can do."""
    gap_s = sum(sum(each.durations_s) for each in stages) / (len(stages) * places * load)
    made, at_s = list[ModelledJob](), 0.0
    for number, stage in enumerate(stages):
        made.append(ModelledJob(f"job-{number}", at_s, (stage,)))
        at_s += rng.expovariate(1 / gap_s)
    return made


def _modelled(
    names: Sequence[str], node: ResourceVector, nodes: int, am_share: float
) -> tuple[ModelledClusterSpec, ...]:
    queues = {"root.default": QueueSpec(am_share=am_share)}
    return tuple(
        ModelledClusterSpec.even(SubClusterId(name), nodes=nodes, size=node, epoch=epoch, queues=queues)
        for epoch, name in zip(range(1000, 1000 * len(names) + 1, 1000), names, strict=True)
    )


def _ended(setting: YarnSetting, jobs: Sequence[ModelledJob], what: str) -> YarnOutcome:
    outcome = play(setting, jobs)
    if outcome.failed:
        raise RuntimeError(f"{what}: {outcome.failed}")
    return outcome
