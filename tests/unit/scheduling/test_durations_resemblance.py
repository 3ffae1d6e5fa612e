"""How much tasks of one job resemble each other: learnt from drawn jobs whose truth is known."""

import math

import numpy as np
import pytest

from shim.scheduling.durations import DurationBeliefs, DurationModel, Resemblance, log2_of
from shim.simulation.engine import seeded


def learnt(durations_of_job, n_jobs=300):
    found = Resemblance()
    rng = seeded(1, "jobs")
    for _ in range(n_jobs):
        durations = durations_of_job(rng)
        for duration_s in durations:
            found.note(duration_s)
        logs = [found.log2_of(duration_s) for duration_s in durations]
        found.compare(len(logs), sum(logs), sum(log * log for log in logs))
    return found


def unrelated(rng):
    return [rng.expovariate(0.05) for _ in range(rng.randint(2, 30))]


def alike(rng):
    mean_s = rng.lognormvariate(3.0, 1.5)
    return [mean_s * rng.lognormvariate(0.0, 0.1) for _ in range(rng.randint(2, 30))]


def half(rng):
    mean_s = rng.lognormvariate(3.0, 1.0)
    return [mean_s * rng.lognormvariate(0.0, 1.0) for _ in range(rng.randint(2, 30))]


def test_nothing_is_doubted_before_anything_was_seen():
    assert Resemblance().alike == 1.0


@pytest.mark.parametrize(("jobs", "least", "most"), [(unrelated, 0.0, 0.1), (half, 0.4, 0.6), (alike, 0.98, 1.0)])
def test_the_part_between_jobs_is_found(jobs, least, most):
    assert least <= learnt(jobs).alike <= most


def test_a_job_with_one_task_tells_nothing():
    found = Resemblance()
    for _ in range(100):
        found.compare(1.0, 5.0, 25.0)
    assert found.alike == 1.0


@pytest.mark.parametrize(("jobs", "octaves"), [(alike, 0.1 / math.log(2.0)), (half, 1.0 / math.log(2.0))])
def test_the_spread_within_a_job_is_found(jobs, octaves):
    assert learnt(jobs).spread_octaves(1.0) == pytest.approx(octaves, rel=0.25)


@pytest.mark.parametrize("believed", [0.25, 2.0])
def test_what_is_believed_of_the_spread_counts_for_a_few_jobs(believed):
    assert Resemblance().spread_octaves(believed) == believed
    few, many = (abs(learnt(half, n_jobs).spread_octaves(believed) - believed) for n_jobs in (2, 300))
    assert 0.0 < few < many


def test_several_tasks_weigh_more_than_one_and_none_weighs_more_than_everything():
    weights = learnt(half).weight_of(np.array([1.0, 2.0, 10.0, 1000.0]))
    assert (np.diff(weights) > 0.0).all()
    assert weights[0] == pytest.approx(0.5, abs=0.1)
    assert weights[-1] == pytest.approx(1.0, abs=0.01)


def test_an_ended_task_tells_as_much_as_tasks_of_a_job_resemble_each_other():
    told_s, ended, running = np.array([1.0, 1000.0]), np.array([1.0, 1.0]), np.zeros(2)
    spread = {}
    for jobs in (unrelated, half, alike):
        model = DurationModel()
        for duration_s in (1.0, 20.0, 1000.0):
            model.observe(duration_s)
        model.resemblance = learnt(jobs)
        short_s, long_s = model.believed(told_s, ended, running)
        spread[jobs] = long_s / short_s
    assert 1.0 <= spread[unrelated] < 2.0
    assert 2.0 < spread[half] < 60.0
    assert 900.0 < spread[alike] <= 1000.0


def taught_by(jobs, **beliefs):
    model = DurationModel(beliefs=DurationBeliefs(**beliefs))
    model.resemblance = learnt(jobs)
    for duration_s in (10.0, 20.0, 40.0, 80.0) * 100:
        model.observe(duration_s)
    return model


def expected_s(model, *, ended=0, running=0, elapsed_s=0.0):
    logs = ended * log2_of(20.0)
    return model.expected(*(np.array([float(each)]) for each in (ended, logs, running, elapsed_s))).item()


def test_the_more_alike_tasks_of_a_job_have_been_the_closer_others_are_expected_to_an_ended_one():
    close_s, far_s = (expected_s(taught_by(jobs), ended=1) for jobs in (alike, half))
    assert close_s == pytest.approx(20.0, rel=0.06)
    assert far_s > 1.2 * close_s


def test_the_more_alike_tasks_of_a_job_have_been_the_less_is_one_expected_to_end_long_before_others():
    """All have run for 25 s. That they take 20 s is out of the question only where they are alike."""
    close_s, far_s = (expected_s(taught_by(jobs), running=10, elapsed_s=25.0) for jobs in (alike, half))
    assert close_s > 1.1 * far_s


def test_a_spread_that_is_taken_for_granted_is_not_learnt():
    narrow_s, wide_s = (expected_s(taught_by(jobs, learns_spread=False), ended=1) for jobs in (alike, half))
    assert narrow_s == wide_s


def test_where_an_end_tells_nothing_a_trial_costs_the_whole_job():
    model = DurationModel()
    for duration_s in (1.0, 10.0, 100.0):
        model.observe(duration_s)
    sure = model.trial_work(np.array([100.0]))[0]
    model.resemblance = learnt(unrelated)
    unsure = model.trial_work(np.array([100.0]))[0]
    assert sure < unsure / 3.0
    assert unsure == pytest.approx(100.0 * 37.0, rel=0.3)
