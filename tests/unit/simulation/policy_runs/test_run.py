from collections.abc import Sequence
from dataclasses import replace

import pytest

from shim.scheduling.policies.orders import LEARNT_WORK
from shim.scheduling.policy import Policy, learnt_work
from shim.scheduling.snapshot import Column
from shim.simulation.policy_runs import ModelledSite, PolicyJob, RunFigures, StageTasks, run_policy

FORMER_JOBS = tuple((20.0 * number, (10.0,)) for number in range(6))
"""When jobs come, and what their tasks run; each of these has the place to itself."""


def outcome(jobs: Sequence[tuple[float, tuple[float, ...]]], places: int, policy: Policy = LEARNT_WORK) -> RunFigures:
    made = [PolicyJob(at_s, (StageTasks((1,), durations_s),)) for at_s, durations_s in jobs]
    return run_policy(made, ModelledSite(places, (1,)), policy)


def test_the_cost_of_trying_a_job_is_learnt_from_jobs_that_have_ended():
    short, untried = (200.0, (1.0, 1.0, 1.0)), (200.5, (10.0, 10.0, 10.0))
    figures = outcome((*FORMER_JOBS, short, untried), 1)
    assert figures.response_s[-2] == pytest.approx(3.0), "two short tasks are less than one of ten seconds"


def test_nothing_of_a_task_is_known_before_it_has_ended():
    seen: list[list[tuple[float, ...]]] = []
    for duration_s in (30.0, 90.0):
        looks = list[tuple[float, ...]]()

        def kernel(snapshot, rows, looks=looks):
            known = (snapshot.of_job(each, rows).tolist() for each in (Column.EXPECTED_S, Column.TRIAL_S))
            looks.append((snapshot.now_s, *(number for numbers in known for number in numbers)))
            return learnt_work(snapshot, rows)

        jobs = [*FORMER_JOBS, (200.0, (7.0, 7.0, duration_s)), (201.0, (5.0, 5.0)), (222.0, (4.0,))]
        outcome(jobs, 2, replace(LEARNT_WORK, ordering=replace(LEARNT_WORK.ordering, kernel=kernel)))
        seen.append(looks)
    until_s = 230.0
    assert any(200.0 < look[0] < until_s for look in seen[0]), "the task runs, and others wait"
    before = [[look for look in looks if look[0] < until_s] for looks in seen]
    assert before[0] == before[1]


def test_the_spread_is_of_jobs_with_deadlines_each_beside_its_own():
    stages = (StageTasks((1,), (10.0,)),)
    jobs = [PolicyJob(0.0, stages, 20.0), PolicyJob(0.0, stages, 40.0), PolicyJob(0.0, stages)]
    found = run_policy(jobs, ModelledSite(3, (1,)), LEARNT_WORK)
    assert sorted(found.beside_deadline) == [0.25, 0.5]
    assert found.spread == 2.0
