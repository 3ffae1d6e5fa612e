"""Every scheduler of the registry: each task runs exactly once, never more than there are slots, the same each time.

The ledger refuses tasks that start twice, jobs that start before they arrive and more running tasks than slots; an
outcome exists only when every task has ended.
"""

import heapq
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shim.errors import BadRequestError
from shim.simulation.registry import SCHEDULERS, document, experiments, sweep
from shim.simulation.run import Run, Setting
from shim.simulation.traces import TraceJob, Workload, workload_of
from tests.support.examples import examples


@st.composite
def workloads(draw, max_jobs=7, max_tasks=6):
    jobs = []
    for index in range(draw(st.integers(1, max_jobs))):
        durations_s = draw(st.lists(st.integers(0, 6).map(float), min_size=1, max_size=max_tasks))
        arrival_s = draw(st.integers(0, 12)) / 2.0
        jobs.append(TraceJob(index, arrival_s, tuple(durations_s), sum(durations_s) / len(durations_s)))
    return workload_of("drawn", jobs, cutoff_s=draw(st.sampled_from([0.0, 2.5, 100.0])))


@st.composite
def small_settings(draw):
    n_workers = draw(st.integers(1, 6))
    return Setting(
        n_workers=n_workers,
        slots_per_worker=draw(st.integers(1, 2)),
        n_gms=draw(st.integers(1, 3)),
        n_lms=draw(st.integers(1, n_workers)),
        seed=draw(st.integers(0, 3)),
        heartbeat_s=5.0,
    )


@pytest.mark.parametrize("name", SCHEDULERS)
@given(workload=workloads(), setting=small_settings())
@settings(max_examples=examples(25), deadline=None)
def test_every_task_runs_exactly_once_within_the_slots(name, workload, setting):
    outcome = SCHEDULERS[name].simulate(Run(workload, setting))
    assert outcome.policy == name
    assert min(outcome.delays_s) >= -1e-9
    assert outcome.utilisation <= 1.0 + 1e-9
    assert max(outcome.running[1]) <= setting.n_slots
    assert outcome.running[1][-1] == 0


@pytest.mark.parametrize("name", SCHEDULERS)
@given(workload=workloads(), setting=small_settings())
@settings(max_examples=examples(6), deadline=None)
def test_the_same_seed_gives_the_same_result(name, workload, setting):
    first, second = (document(SCHEDULERS[name].simulate(Run(workload, setting)), setting) for _ in range(2))
    for one in (first, second):
        del one["wall_s"], one["decision_s"]
    assert first == second


KEYS = {
    "central-fifo": lambda job, _tasks: job.index,
    "central-fewest-tasks": lambda _job, tasks: len(tasks),
    "central-srpt": lambda job, tasks: sum(job.durations_s[task] for task in tasks),
}


def completions_by_key(workload, n_slots, key):
    """Plain list scheduling: whenever a slot is free, the waiting job with the smallest key starts its next task."""
    arrivals = list(workload.jobs)
    waiting, running, completed_s = {}, [], {}
    while arrivals or running:
        now_s = min([job.arrival_s for job in arrivals[:1]] + [end_s for end_s, _ in running[:1]])
        while arrivals and arrivals[0].arrival_s <= now_s:
            job = arrivals.pop(0)
            waiting[job.index] = list(range(job.n_tasks))
        while running and running[0][0] <= now_s:
            end_s, index = heapq.heappop(running)
            completed_s[index] = end_s
        while waiting and len(running) < n_slots:
            index = min(waiting, key=lambda index: (key(workload.jobs[index], waiting[index]), index))
            task = waiting[index].pop(0)
            heapq.heappush(running, (now_s + workload.jobs[index].durations_s[task], index))
            if not waiting[index]:
                del waiting[index]
    return [completed_s[job.index] for job in workload.jobs]


@pytest.mark.parametrize("name", KEYS)
@given(workload=workloads(max_jobs=12, max_tasks=9), n_slots=st.integers(1, 5))
@settings(max_examples=examples(40), deadline=None)
def test_central_schedulers_are_list_scheduling_by_their_key(name, workload, n_slots):
    # each job arrives at a fraction of its own, so that no arrival falls together with an end: the order of two
    # such events is the engine's business, not the scheduler's
    jobs = [replace(job, arrival_s=job.arrival_s + (job.index + 1) / 64) for job in workload.jobs]
    apart = workload_of("apart", [replace(job, durations_s=tuple(d + 1.0 for d in job.durations_s)) for job in jobs])
    outcome = SCHEDULERS[name].simulate(Run(apart, Setting(n_workers=n_slots, n_lms=1, hop_s=0.0)))
    found = [job.arrival_s + response_s for job, response_s in zip(apart.jobs, outcome.responses_s, strict=True)]
    assert found == pytest.approx(completions_by_key(apart, n_slots, KEYS[name]))


CONSTRAINED = ("sparrow", "pigeon", "central-fifo", "central-srpt")


@pytest.mark.parametrize("name", CONSTRAINED)
@given(workload=workloads(), data=st.data())
@settings(max_examples=examples(25), deadline=None)
def test_constrained_tasks_run_as_well(name, workload, data):
    bits = tuple(data.draw(st.lists(st.integers(0, 7), min_size=2, max_size=6)))
    asked = st.sampled_from([*bits, 0])
    jobs = [
        TraceJob(
            job.index, job.arrival_s, job.durations_s, job.estimate_s, tuple(data.draw(asked) for _ in job.durations_s)
        )
        for job in workload.jobs
    ]
    setting = Setting(n_workers=len(bits), n_lms=1, worker_constraints=bits)
    outcome = SCHEDULERS[name].simulate(Run(workload_of("drawn", jobs), setting))
    assert max(outcome.running[1]) <= len(bits)


WORKLOAD = Workload("w", tuple(TraceJob(index, float(index), (1.0, 3.0), 2.0) for index in range(6)))
SETTING = Setting(n_workers=3, n_lms=3, n_gms=1, seed=5)


def test_each_policy_is_planned_with_each_seed():
    planned = experiments(["random", "pigeon"], SETTING, n_seeds=2)
    assert [(one.policy, one.setting.seed) for one in planned] == [
        ("random", 5), ("random", 6), ("pigeon", 5), ("pigeon", 6),
    ]  # fmt: skip


def test_an_unknown_policy_is_refused_with_those_that_exist():
    with pytest.raises(BadRequestError, match=r"no scheduler is called fastest; there are .*central-fifo"):
        experiments(["random", "fastest"], SETTING)


def test_loss_is_refused_for_those_that_cannot_bear_it():
    lossy = replace(SETTING, loss=0.01)
    assert experiments(["megha"], lossy)
    with pytest.raises(BadRequestError, match="sparrow, pigeon would wait forever"):
        experiments(["sparrow", "megha", "pigeon"], lossy)


def test_processes_change_nothing_but_the_wall_clock():
    planned = experiments(["random", "eagle"], SETTING, n_seeds=2)
    ended = []

    def documents(n_processes):
        outcomes = sweep(planned, WORKLOAD, n_processes=n_processes, on_jobs_end=ended.append)
        return [document(outcome, SETTING) | {"wall_s": None} for outcome in outcomes]

    assert documents(1) == documents(2)
    assert sum(ended) == 2 * len(planned) * len(WORKLOAD.jobs)
