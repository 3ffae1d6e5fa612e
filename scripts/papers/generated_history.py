"""A history drawn from a seed: what modelled ResourceManagers tell of jobs of several stages that they ran."""

import random
from collections.abc import Sequence
from typing import Any

from shim.domain.ids import ApplicationId
from shim.domain.resources import ResourceVector
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage
from shim.simulation.cluster.spec import ModelledClusterSpec
from shim.simulation.engine import seeded
from shim.simulation.virtual_time import EPOCH_S
from shim.simulation.yarn_sim.run import YarnOutcome, YarnSetting, play

_SIZE = ResourceVector(2048, 1)
_USERS = ("alice", "bob", "carol")


def drawn_jobs(seed: int, count: int, queues: Sequence[str], gap_s: float) -> tuple[ModelledJob, ...]:
    """Jobs of maps and reduces with Poisson arrivals, by turns in the queues."""
    rng = seeded(seed, "history")
    at_s, made = 0.0, []
    for number in range(count):
        at_s += rng.expovariate(1.0 / gap_s)
        stages = (_stage(rng, 12, 30.0, ()), _stage(rng, 4, 20.0, (0,)))
        queue = queues[number % len(queues)]
        made.append(ModelledJob(f"job-{number}", at_s, stages, rng.choice(_USERS), queue, _SIZE))
    return tuple(made)


def _stage(rng: random.Random, most: int, mean_s: float, needs: tuple[int, ...]) -> ModelledStage:
    durations = tuple(rng.uniform(0.5, 1.5) * mean_s for _ in range(rng.randint(1, most)))
    return ModelledStage(durations, needs, _SIZE)


def generated_history(
    seed: int, jobs: Sequence[ModelledJob], clusters: Sequence[ModelledClusterSpec]
) -> dict[str, Any]:
    """Run jobs through Heddle with its defaults; what `/ws/v1/cluster/apps` tells of them afterwards."""
    return apps_document(jobs, play(YarnSetting(clusters=tuple(clusters), seed=seed), jobs))


def apps_document(jobs: Sequence[ModelledJob], outcome: YarnOutcome) -> dict[str, Any]:
    """The fields of a list of ended applications that a replay reads."""
    rows = []
    for number, job in enumerate(jobs):
        times = outcome.times.get(job.name)
        if times is None:
            continue
        begun_s = EPOCH_S + job.arrival_s
        rows.append(
            {
                "id": str(ApplicationId(int(EPOCH_S) * 1000, number + 1)),
                "user": job.user,
                "name": job.name,
                "queue": job.queue,
                "state": "FINISHED",
                "finalStatus": "SUCCEEDED",
                "startedTime": round(begun_s * 1000),
                "launchTime": round((begun_s + times.launched_s) * 1000),
                "finishedTime": round((begun_s + times.ended_s) * 1000),
                "memorySeconds": round(times.mib_s),
                "vcoreSeconds": round(times.vcore_s),
            }
        )
    return {"apps": {"app": rows}}
