import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.scheduling.durations import DurationModel, horizon_of, log2_of

LENGTHS_S = (1.0, 10.0, 100.0)


def taught(*durations_s):
    model = DurationModel()
    for duration_s in durations_s:
        model.observe(duration_s)
    return model


def expected(model, *, finished_s=(), running=0, elapsed_s=0.0, horizon_s=math.inf):
    logs = sum(map(log2_of, finished_s))
    evidence = (len(finished_s), logs, running, elapsed_s)
    return model.expected(*(np.array([float(value)]) for value in evidence), (horizon_s,)).item()


def trial_work(model, n_tasks, horizon_s=math.inf):
    return model.trial_work(np.array([float(n_tasks)]), horizon_s).item()


def test_the_mean_of_what_was_seen_is_expected_of_a_job_whose_tasks_have_just_begun():
    assert expected(taught(*LENGTHS_S * 100_000), running=1) == pytest.approx(37.0, rel=0.10)


def test_who_has_run_longer_than_most_is_expected_to_be_of_the_long_ones():
    model = taught(*LENGTHS_S * 100)
    expectations = [expected(model, running=50, elapsed_s=elapsed_s) for elapsed_s in (0.0, 2.0, 20.0, 200.0)]
    assert expectations == sorted(expectations)
    assert expectations[2] == pytest.approx(100.0, rel=0.25)
    assert expectations[3] > 150.0


def test_many_running_tasks_say_more_than_one():
    model = taught(*LENGTHS_S * 100)
    assert expected(model, running=100, elapsed_s=5.0) > expected(model, running=1, elapsed_s=5.0)


def test_an_ended_task_says_more_than_all_other_jobs():
    model = taught(*LENGTHS_S * 100)
    assert expected(model, finished_s=(10.0,)) == pytest.approx(10.0, rel=0.25)
    assert expected(model, finished_s=(10.0, 11.0, 9.0)) == pytest.approx(10.0, rel=0.15)


def test_an_ended_task_that_ran_as_none_before_is_believed():
    model = taught(*LENGTHS_S * 100)
    assert 1500.0 < expected(model, finished_s=(3000.0, 3000.0)) < 6000.0


def test_a_trial_costs_less_than_the_whole_job_where_durations_differ():
    model = taught(*LENGTHS_S)
    # limit 1 s: the trial takes 37 s on average, and a third of the jobs go on, for 9 s; a third of them is completed
    assert trial_work(model, 10) == pytest.approx(min(3 * (37 + 3), 1.5 * (37 + 33), 37 + 9 * 37), rel=0.01)
    assert trial_work(model, 10) < 10 * 37.0


def test_a_trial_of_equal_jobs_costs_the_whole_job():
    assert trial_work(taught(5.0, 5.0), 40) == pytest.approx(200.0)


def test_before_anything_was_learnt_somebody_has_to_begin():
    assert trial_work(DurationModel(), 1000) <= 1.0


@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=20), st.integers(1, 3000), st.integers(1, 3000))
def test_a_trial_is_never_dearer_than_the_job_and_grows_with_it(durations_s, fewer, more):
    model = taught(*durations_s)
    fewer, more = sorted((fewer, more))
    work = trial_work(model, fewer)
    assert work <= fewer * np.mean(durations_s) * 1.001
    assert work <= trial_work(model, more) * 1.001


@given(
    st.lists(st.floats(0.001, 1e6), min_size=1, max_size=20),
    st.floats(0.01, 1e5),
    st.integers(1, 3000),
    st.floats(0.0, 1e5),
)
def test_no_task_counts_for_longer_than_the_horizon(durations_s, horizon_s, n_tasks, elapsed_s):
    model = taught(*durations_s)
    within_s = expected(model, running=3, elapsed_s=elapsed_s, horizon_s=horizon_s)
    assert within_s <= min(horizon_s, expected(model, running=3, elapsed_s=elapsed_s)) * 1.001
    assert trial_work(model, n_tasks, horizon_s) <= min(trial_work(model, n_tasks), n_tasks * horizon_s) * 1.001


def test_it_is_not_the_mean_that_the_horizon_cuts_but_each_duration():
    model = taught(*[1.0, 1000.0] * 1000)
    assert expected(model, horizon_s=100.0) == pytest.approx(50.5, rel=0.05)


def test_within_a_short_horizon_a_trial_tells_nothing_and_all_tasks_cost_the_same():
    assert trial_work(taught(*LENGTHS_S), 40, horizon_s=0.5) == pytest.approx(20.0)


def test_what_a_model_knows_within_one_horizon_is_not_taken_for_what_it_knows_within_another():
    model = taught(*LENGTHS_S)
    asked = [trial_work(model, 10, horizon_s) for horizon_s in (math.inf, 5.0, math.inf, 5.0)]
    assert asked[:2] == asked[2:]
    model.observe(1000.0)
    assert trial_work(model, 10, 5.0) > asked[1]


@given(st.floats(0.0, 1e9))
def test_the_horizon_is_twice_what_somebody_has_waited_and_at_most_a_fifth_more(waited_s):
    assert max(2.0 * waited_s, 0.0005) <= horizon_of(waited_s) <= max(2.4 * waited_s, 0.0012)


def test_no_jobs_give_no_expectations():
    none = np.zeros(0)
    assert DurationModel().expected(none, none, none, none).shape == (1, 0)


def test_durations_beyond_all_buckets_are_still_learnt():
    model = taught(0.0, 1e12)
    assert model.observed == 2
    assert np.isfinite(expected(model, running=5, elapsed_s=1e13))
    assert np.isfinite(expected(model, finished_s=(1e13, 0.0)))


def test_tasks_are_long_where_most_jobs_are_short_and_take_little():
    model = taught(*(1.0,) * 85, *(100.0,) * 15)
    assert 1.0 < model.long_from_s <= 2.0


@pytest.mark.parametrize(
    "durations_s",
    [
        pytest.param((1.0,) * 60 + (100.0,) * 40, id="many jobs are long"),
        pytest.param((1.0,) * 85 + (9.0,) * 15, id="short ones take a lot"),
        pytest.param((1.0,) * 9 + (100.0,), id="too few have been seen"),
        pytest.param((), id="none have"),
    ],
)
def test_elsewhere_none_are(durations_s):
    assert taught(*durations_s).long_from_s == np.inf
