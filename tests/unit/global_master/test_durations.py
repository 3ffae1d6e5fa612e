import numpy as np
import pytest

from shim.global_master.durations import DurationModel


def expected(model, elapsed_s):
    return float(model.expected(np.array([elapsed_s]))[0])


def test_before_anything_was_seen_a_task_is_as_far_from_its_end_as_from_its_start():
    model = DurationModel()
    assert 100.0 <= expected(model, 100.0) <= 250.0


def test_the_mean_of_what_was_seen_is_expected_of_a_new_job():
    model = DurationModel()
    for duration_s in (1.0, 10.0, 100.0):
        model.observe(duration_s)
    assert expected(model, 0.0) == pytest.approx(37.0, rel=0.01)


def test_who_has_run_longer_than_most_is_expected_to_be_of_the_long_ones():
    model = DurationModel()
    for duration_s in (1.0, 10.0, 100.0):
        model.observe(duration_s)
    assert expected(model, 2.0) == pytest.approx(55.0, rel=0.02)
    assert expected(model, 20.0) == pytest.approx(100.0, rel=0.02)
    assert expected(model, 500.0) >= 500.0


def test_finished_tasks_of_the_job_count_more_the_more_there_are():
    model = DurationModel()
    model.observe(100.0)
    finished = np.array([0.0, 1.0, 99.0])
    estimates = model.estimate(finished, 2.0 * finished, np.zeros(3))
    assert estimates == pytest.approx([100.0, 51.0, 2.98], rel=0.02)


def test_no_jobs_give_no_estimates():
    assert DurationModel().estimate(np.zeros(0), np.zeros(0), np.zeros(0)).shape == (0,)


def test_durations_beyond_all_buckets_are_still_learnt():
    model = DurationModel()
    for duration_s in (0.0, 1e12):
        model.observe(duration_s)
    assert model.observed == 2
    assert np.isfinite(expected(model, 1e13))
