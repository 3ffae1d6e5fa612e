"""A queue holds all of two modelled clusters and its tasks end; that of another Global Master has nothing.

What comes free goes first to the second, until it has its half: by Heddle's own code, with offers of room.
"""

import pytest

from shim.domain.ids import SubClusterId
from shim.domain.resources import ResourceVector
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage
from shim.simulation.cluster.spec import ModelledClusterSpec, QueueSpec
from shim.simulation.yarn_sim.run import YarnSetting, play

QUEUES = ("root.b", "root.c")  # of the two Global Masters each owns one
CLUSTERS = ("east", "west")
PLACES_EACH, STEP_S, TASK_S = 4, 2.0, 20.0
PLACES = len(CLUSTERS) * PLACES_EACH
SIZE, MASTER = ResourceVector(1024, 1), ResourceVector(64, 1)


def a_job(name, at_s, durations_s, queue):
    return ModelledJob(name, at_s, (ModelledStage(tuple(durations_s), size=SIZE),), queue=queue, master=MASTER)


def starts(rich, poor, first_end_s):
    """Queues of the tasks that start after the clusters are full, in order of time; and the times."""
    jobs = [
        a_job("holder", 0.0, [first_end_s + STEP_S * number for number in range(PLACES)], rich),
        *(a_job(f"rich-{number}", 5.0 + 0.3 * number, [TASK_S] * (PLACES // 2), rich) for number in range(2)),
        *(a_job(f"poor-{number}", 5.6 + 0.3 * number, [TASK_S] * (PLACES // 2), poor) for number in range(2)),
    ]
    node = ResourceVector(PLACES_EACH * 1024 + 512, 64)
    queues = {name: QueueSpec(50.0, 100.0, am_share=0.5, user_limit_factor=8.0) for name in QUEUES}
    clusters = tuple(
        ModelledClusterSpec.even(SubClusterId(name), nodes=1, size=node, epoch=1000 * number, queues=queues)
        for number, name in enumerate(CLUSTERS, start=1)
    )
    config = "[masters]\noffer_s = 2.0\n[poll]\ninterval_s = 1.0\nlate_after_s = 5.0\n" + "".join(
        f'[[queue]]\nname = "{name}"\nspan = true\nweight = 1.0\ncontainers = "tetris"\n' for name in QUEUES
    )
    outcome = play(YarnSetting(clusters=clusters, config=config, global_masters=2), jobs)
    assert not outcome.failed
    assert outcome.proposals.offers["taken"] > 0
    waits_s, found = list(outcome.waits_s), []
    for job in jobs:
        mine, waits_s = waits_s[: job.tasks], waits_s[job.tasks :]
        found += [(job.arrival_s + wait_s, job.queue) for wait_s in mine if job.name != "holder"]
    return sorted(found)


@pytest.mark.parametrize("first_end_s", [20.0, 90.0], ids=["soon", "after all were overtaken for too long"])
def test_what_comes_free_goes_first_to_the_queue_that_has_nothing(first_end_s):
    rich, poor = QUEUES
    found = starts(rich, poor, first_end_s)
    assert [queue for _, queue in found[: PLACES // 2]] == [poor] * (PLACES // 2)
    free_s = first_end_s + STEP_S * (PLACES // 2)
    assert found[PLACES // 2 - 1][0] < free_s + 12.0, "no room idles for longer than a few reports"
