import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.wishes import WorkLeft
from shim.scheduling.durations import (
    DurationModel,
    FormerRun,
    FormerRuns,
    RecurringJobModels,
    horizon_of,
    log2_of,
    recurring_key,
    wider_key,
    work_left,
)
from shim.scheduling.former_runs import FormerStage
from tests.doubles.reports import a_document

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


SUMMARY = a_document(1, "east").summary
NOBODY = np.zeros(1)


def expected_s(model):
    return model.expected(NOBODY, NOBODY, NOBODY, NOBODY).item()


@pytest.mark.parametrize(
    ("one", "other", "is_alike"),
    [
        ({"name": "load 2026-11-21"}, {"name": "load 2026-12-02"}, True),
        ({"name": "load_20261121_0300"}, {"name": "load_20261202_1200"}, True),
        ({"name": "load 21.11.2026"}, {"name": "load 2.12.2026"}, True),
        ({"name": "load 03:15:22"}, {"name": "load 12:00:01"}, True),
        ({"name": "load 2026-11-21T03:15:22"}, {"name": "load 2026-12-02T12:00:01"}, True),
        ({"name": "job-00017"}, {"name": "job-00018"}, True),
        ({"name": "etl-7-20261121"}, {"name": "etl-7-20261202"}, True),
        ({"name": "etl-7-20261121"}, {"name": "etl-9-20261121"}, False),
        ({"name": "q3"}, {"name": "q4"}, False),
        ({"name": "load"}, {"name": "sort"}, False),
        ({"user": "ada"}, {"user": "bob"}, False),
        ({"application_type": "SPARK"}, {"application_type": "TEZ"}, False),
    ],
)
def test_applications_are_alike_by_user_type_and_name_without_dates_and_long_numbers(one, other, is_alike):
    assert (recurring_key(replace(SUMMARY, **one)) == recurring_key(replace(SUMMARY, **other))) == is_alike


def test_what_was_never_seen_is_known_by_those_that_are_alike_but_for_numbers():
    seen, new, other = "ada SPARK etl-7-#", "ada SPARK etl-9-#", "ada SPARK sort-9-#"
    assert [wider_key(each) for each in (seen, "ada7 SPARK etl", "kin 7")] == [
        "ada SPARK etl-#-#",
        "ada7 SPARK etl",
        "kin 7",
    ]
    models, runs = RecurringJobModels(DurationModel()), FormerRuns()
    for _ in range(5):
        models.observe(seen, 10.0)
        models.observe("bob SPARK giant", 1000.0)
    runs.observe("root.a", seen, 4, 8.0)
    assert expected_s(models.model(seen)) < expected_s(models.model(new)) < expected_s(models.model(other))
    assert (models.observed(new), models.observed(other)) == (5, 0)
    assert runs.of("root.a", new) == FormerRun(4, 2.0, 1)
    assert runs.of("root.a", other) is None


def test_a_job_key_is_known_by_a_few_runs_and_begins_from_its_queue():
    recurring_jobs = RecurringJobModels(DurationModel())
    for _ in range(50):
        recurring_jobs.observe("long", 1000.0)
    assert recurring_jobs.model("short") is recurring_jobs.queue
    assert expected_s(recurring_jobs.queue) == pytest.approx(1000.0, rel=0.1)
    recurring_jobs.observe("short", 10.0)
    once = expected_s(recurring_jobs.model("short"))
    for _ in range(4):
        recurring_jobs.observe("short", 10.0)
    assert 100.0 < expected_s(recurring_jobs.model("short")) < once < 1000.0, "the queue weighs as much as one of five"
    assert (recurring_jobs.observed("short"), recurring_jobs.observed("long"), recurring_jobs.observed("")) == (
        5,
        50,
        0,
    )


def test_a_queue_begins_from_all_others():
    everything = DurationModel()
    one, other = RecurringJobModels(everything), RecurringJobModels(everything)
    one.observe("", 100.0)
    assert expected_s(other.queue) == pytest.approx(expected_s(everything), rel=1e-6)
    assert (one.queue.observed, other.queue.observed, other.observed_in_all) == (1, 0, 1)


def test_only_so_many_job_key_are_kept():
    recurring_jobs = RecurringJobModels(DurationModel())
    for number in range(1100):
        recurring_jobs.observe(f"kin {number}", 1.0)
    assert recurring_jobs.observed("kin 0") == 0
    assert recurring_jobs.observed("kin 1099") == 1


# ---------------------------------------------------------------------- former runs


def test_the_last_run_is_known_by_queue_and_key_with_how_many_there_were():
    runs = FormerRuns()
    runs.observe("root.a", "job", 4, 10.0)
    runs.observe("root.a", "job", 2, 12.0)
    runs.observe("root.b", "job", 1, 3.0)
    assert runs.of("root.a", "job") == FormerRun(containers=2, container_s=6.0, runs=2)
    assert runs.of("root.b", "job") == FormerRun(containers=1, container_s=3.0, runs=1)
    assert runs.of("root.a", "other") is None


def test_a_run_that_has_a_number_in_its_name_teaches_what_others_of_that_name_take_and_are():
    runs, stages = FormerRuns(), (FormerStage((10.0,), 4),)
    runs.observe("root.a", "ada SPARK daily 7", 4, 10.0)
    runs.observe_stages("root.a", "ada SPARK daily 7", stages)
    runs.observe_stages("root.a", "ada SPARK hourly", stages)
    for key, is_known in {"ada SPARK daily 7": 1, "ada SPARK daily 8": 1, "bob SPARK daily 7": 0}.items():
        assert (runs.of("root.a", key) is not None, runs.stages_of("root.a", key)) == (is_known, stages * is_known)
        assert runs.stages_of("root.b", key) == ()
    named = {"ada SPARK daily 7", "ada SPARK daily #", "ada SPARK hourly"}
    assert {key for _, key in runs.changed()} == named
    assert runs.changed() == {}


@pytest.mark.parametrize(("job_key", "containers"), [("", 3), ("job", 0)])
def test_a_run_without_a_key_or_a_container_teaches_nothing(job_key, containers):
    runs = FormerRuns()
    runs.observe("root.a", job_key, containers, 9.0)
    assert runs.of("root.a", job_key) is None


def test_of_very_many_runs_those_that_taught_something_last_are_kept():
    runs, most = FormerRuns(), 16 * 1024
    for number in range(most):
        runs.observe("root.a", f"{number}", 1, 1.0)
    assert runs.of("root.a", "0") is not None, "just so many"
    runs.observe("root.a", "0", 1, 1.0)
    runs.observe("root.a", "new", 1, 1.0)
    assert [runs.of("root.a", key) is not None for key in ("0", "1", "2", "new")] == [True, False, True, True]


def test_of_very_many_keys_those_that_taught_something_last_are_kept():
    models = RecurringJobModels(DurationModel())
    for number in range(1024):
        models.observe(f"{number}", 1.0)
    assert models.observed("0") == 1, "just so many"
    models.observe("0", 1.0)
    models.observe("new", 1.0)
    assert [models.observed(key) for key in ("0", "1", "2", "new")] == [2, 0, 1, 1]


def test_a_queue_of_models_asks_the_runs_of_its_own_name():
    runs = FormerRuns()
    one, other = (RecurringJobModels(DurationModel(), queue, runs) for queue in ("root.a", "root.b"))
    one.observe_run("job", 5, 10.0)
    assert one.former_run("job") == FormerRun(5, 2.0, 1)
    assert other.former_run("job") is None


RUN = FormerRun(containers=10, container_s=8.0, runs=3)


@pytest.mark.parametrize(
    ("ended", "ended_s", "asked", "run", "left"),
    [
        (0, 0.0, 5, None, None),
        (2, 6.0, 5, None, WorkLeft(containers=5, container_s=3.0, running=1, runs=0)),
        (0, 0.0, 5, RUN, WorkLeft(containers=10, container_s=8.0, running=1, runs=3)),
        (1, 4.0, 5, RUN, WorkLeft(containers=9, container_s=7.0, running=1, runs=3)),
        (3, 12.0, 12, RUN, WorkLeft(containers=12, container_s=5.0, running=1, runs=3)),
        (4, 12.0, 1, RUN, WorkLeft(containers=6, container_s=3.0, running=1, runs=3)),
        (12, 24.0, 0, RUN, WorkLeft(containers=0, container_s=2.0, running=1, runs=3)),
    ],
    ids=["nothing", "own", "former", "one of four", "three of four", "enough", "more than before"],
)
def test_what_is_left_goes_by_the_former_run_while_few_have_ended(ended, ended_s, asked, run, left):
    assert work_left(ended, ended_s, 1, asked, run) == left
