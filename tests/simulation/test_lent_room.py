"""Room that a job lent goes back to it, and not to who borrowed it: Heddle's own code before a modelled cluster."""

from collections import Counter
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from shim.domain.ids import SubClusterId
from shim.domain.resources import ResourceVector
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage
from shim.simulation.cluster.spec import ModelledClusterSpec, QueueSpec
from shim.simulation.yarn_sim.run import YarnOutcome, YarnSetting, play

PLACES = 12
POLICY = """
[shares]
interval_s = 0.5
preempt_grace_s = 4
[[queue]]
name = "root.default"
weight = 1
span = true
order = "fifo"
containers = "unordered"
altruism = 1.0
preemptable = true
preempted_per_minute = 60
"""
LONG_S, BORROWED_S = 120.0, 600.0
"""Of the task that decides when the giver ends, and of each that may run in what the giver lends."""
SHORT = 5
"""Tasks that the giver puts off."""
BEGUN_S = 300.0
"""When runs of both jobs have ended that taught how long their tasks run."""


def giver(name: str, arrival_s: float, long_s: float = LONG_S) -> ModelledJob:
    """A job whose five short tasks can wait until its long one is about to end."""
    long, warm, first, short = (ModelledStage(times) for times in ((long_s,), (40.0,) * 4, (15.0,), (10.0,) * SHORT))
    return ModelledJob(name, arrival_s, (long, warm, first, replace(short, needs=(2,))))


def borrower(name: str, arrival_s: float, task_s: float) -> ModelledJob:
    """A job that wants all there is once its first task has ended."""
    return ModelledJob(name, arrival_s, (ModelledStage((8.0,)), ModelledStage((task_s,) * 16, (0,))))


def played(jobs: list[ModelledJob]) -> YarnOutcome:
    """Run jobs on two nodes; a queue gives what comes free to the application that came first, as `fifo` does."""
    cluster = ModelledClusterSpec.even(
        SubClusterId("east"),
        nodes=2,
        size=ResourceVector((PLACES // 2) * 1024 + 512, 8),
        epoch=1000,
        queues={"root.default": QueueSpec(am_share=0.5)},
    )
    return play(YarnSetting(clusters=(cluster,), config=POLICY), jobs)


def found_after_learning(giver_s: float) -> tuple[float, Counter[str]]:
    """Seconds that a giver took whose long task took `LONG_S` before; what was done to containers of the borrower."""
    taught = [giver("giver-1", 0.0), borrower("borrower-1", 0.0, 10.0)]
    now = [borrower("borrower-2", BEGUN_S, BORROWED_S), giver("giver-2", BEGUN_S + 1.0, giver_s)]
    with capture_logs() as said:
        outcome = played([*taught, *now])
    assert not outcome.failed
    assert outcome.times["borrower-2"].ended_s > 2 * BORROWED_S, "it had no more than was there"
    done = Counter(line["done"] for line in said if line["event"] == "application preempted" and line["container"])
    return outcome.times["giver-2"].ended_s, done


def test_room_that_is_taken_back_goes_to_the_lender():
    took_s, done = found_after_learning(LONG_S)
    assert took_s < LONG_S + 10.0, "it waited for tasks that hold what it lent"
    assert 0 < done["released"] <= SHORT, "what was released went to the borrower again"
    assert done["asked back"] == done["released"], "something was asked back before it was needed"


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_lender_whose_times_are_wrong_has_its_room_back(factor):
    took_s, done = found_after_learning(factor * LONG_S)
    assert took_s < factor * LONG_S + 40.0, "two rounds of short tasks, and what it lent goes back in four seconds"
    assert done["released"] <= SHORT
