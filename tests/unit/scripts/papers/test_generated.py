"""Workloads drawn from seeds: the same on every machine, of the shape that they say, and such that all tasks run."""

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.papers.generated import (
    FACEBOOK,
    YAHOO,
    generated_constraints,
    generated_jobs,
    generated_queries,
    generated_resource_jobs,
    large_jobs_of_short_tasks,
    unrelated_durations,
)
from shim.simulation.constraints import apply_constraints
from shim.simulation.engine import seeded


def jobs_of(shape, seed, n_jobs=300, load=0.9):
    return generated_jobs(seeded(seed, "jobs"), shape, n_jobs=n_jobs, load=load, n_slots=500)


@pytest.mark.parametrize("shape", [YAHOO, FACEBOOK], ids=lambda shape: shape.name)
def test_a_seed_draws_one_workload_and_another_seed_another(shape):
    assert jobs_of(shape, 1) == jobs_of(shape, 1)
    assert jobs_of(shape, 1) != jobs_of(shape, 2)


def test_a_workload_is_the_same_on_every_machine_and_version():
    first = jobs_of(FACEBOOK, 1).jobs[0]
    assert (first.n_tasks, first.durations_s[:3], round(first.arrival_s, 3)) == (5, (53.0, 52.0, 54.0), 57.906)


@pytest.mark.parametrize(
    ("shape", "tasks", "most_tasks", "mean_s", "spread"),
    [(YAHOO, 14, 3000, 17.0, 0.33), (FACEBOOK, 52, 600, 114.0, 0.08)],
    ids=lambda value: getattr(value, "name", None),
)
def test_jobs_have_the_medians_of_the_trace(shape, tasks, most_tasks, mean_s, spread):
    jobs = jobs_of(shape, 3, n_jobs=2000).jobs
    assert statistics.median(job.n_tasks for job in jobs) == pytest.approx(tasks, rel=0.15)
    assert statistics.median(job.estimate_s for job in jobs) == pytest.approx(mean_s, rel=0.15)
    assert max(job.n_tasks for job in jobs) <= most_tasks
    assert all(duration_s >= 1.0 and duration_s.is_integer() for job in jobs for duration_s in job.durations_s)
    spreads = [statistics.pstdev(job.durations_s) / job.estimate_s for job in jobs if job.estimate_s > 50 < job.n_tasks]
    assert statistics.median(spreads) == pytest.approx(spread, rel=0.15)


@given(seed=st.integers(0, 50), load=st.floats(0.1, 2.0))
def test_the_work_keeps_the_slots_as_busy_as_asked(seed, load):
    workload = jobs_of(FACEBOOK, seed, n_jobs=100, load=load)
    work_s = sum(job.work_s for job in workload.jobs)
    span_s = workload.jobs[-1].arrival_s
    assert work_s / span_s / 500 == pytest.approx(load, rel=0.5)  # 100 gaps: a tenth is one standard deviation


def test_every_constrained_task_can_run():
    workload = jobs_of(FACEBOOK, 4, n_jobs=40)
    constraints = generated_constraints(seeded(4, "constraints"), workload, n_workers=200)
    constrained = apply_constraints(workload, constraints)
    assert constrained.left_out == 0
    asked = [bits.bit_count() for job in constrained.jobs for bits in job.constraints]
    assert set(asked) == {0, 1, 2, 3}
    satisfied = [sum(worker >> bit & 1 for worker in constraints.workers) for bit in (0, 20)]
    assert satisfied[0] > 4 * satisfied[1] > 0


@given(st.integers(0, 30))
def test_stages_need_only_stages_before_them(seed):
    queries = generated_queries(seeded(seed, "queries"), n_jobs=5, mean_gap_s=25.0)
    assert [query.arrival_ms for query in queries] == sorted(query.arrival_ms for query in queries)
    for job in (*queries, *generated_resource_jobs(seeded(seed, "jobs"), n_jobs=5)):
        for index, stage in enumerate(job.stages):
            assert all(0 <= needed < index for needed in stage.needs)
            assert bool(stage.needs) is bool(index)
            assert stage.tasks >= 1


def test_durations_that_have_nothing_to_do_with_the_job_and_jobs_that_hold_equal_work_are_drawn():
    load = {"n_jobs": 400, "load": 0.9, "n_slots": 2000}
    unrelated, equal = (drawn(seeded(1, "jobs"), **load) for drawn in (unrelated_durations, large_jobs_of_short_tasks))
    for workload in (unrelated, equal):
        busy_s = sum(job.work_s for job in workload.jobs) / 2000
        assert busy_s / workload.jobs[-1].arrival_s == pytest.approx(0.9, rel=0.15)
    large = [job.estimate_s for job in unrelated.jobs if job.n_tasks > 100]
    assert statistics.stdev(large) < 3.0
    assert statistics.fmean(large) == pytest.approx(20.0, rel=0.05)
    assert statistics.fmean(job.work_s for job in equal.jobs) == pytest.approx(500.0, rel=0.05)
    assert max(job.work_s for job in equal.jobs) < 1500.0
