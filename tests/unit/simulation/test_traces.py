"""Traces: what is read, what is refused, what is generated."""

import math

import pytest

from shim.errors import BadRequestError
from shim.simulation.engine import seeded
from shim.simulation.registry import Experiment, simulate
from shim.simulation.run import Setting
from shim.simulation.traces import fixed_jobs, read_trace, short_cutoff_s


def written(tmp_path, text, name="YH_test.tr"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_trace_is_sorted_by_arrival_and_durations_are_cut_to_whole_seconds(tmp_path):
    workload = read_trace(written(tmp_path, "5.5 2 1.6 1.2 2.9\n\n2 1 9.0 9.99\n"))
    assert [job.arrival_s for job in workload.jobs] == [2.0, 5.5]
    assert [job.index for job in workload.jobs] == [0, 1]
    assert workload.jobs[1].durations_s == (1.0, 2.0)
    assert workload.jobs[1].estimate_s == 1.6
    assert (workload.n_tasks, workload.name) == (3, "YH_test")
    assert (workload.jobs[1].longest_s, workload.jobs[1].work_s) == (2.0, 3.0)


def test_durations_stay_as_they_are_when_asked(tmp_path):
    workload = read_trace(written(tmp_path, "1 2 1.6 1.2 2.9"), whole_seconds=False)
    assert workload.jobs[0].durations_s == (1.2, 2.9)


def test_only_the_first_jobs_are_read_when_asked(tmp_path):
    assert len(read_trace(written(tmp_path, "1 1 1 1\n2 1 1 1\n3 1 1 1\n"), first_jobs=2).jobs) == 2


def test_the_cutoff_follows_the_name(tmp_path):
    workload = read_trace(written(tmp_path, "1 1 90.5 1\n2 1 90.6 1\n"))
    assert [workload.is_short(job) for job in workload.jobs] == [True, False]
    assert short_cutoff_s("synthetic_FB_sub") == 76.5951
    assert math.isnan(short_cutoff_s("somebody's"))


def test_a_cut_that_is_given_counts_and_one_that_is_not_known_is_asked_for(tmp_path):
    path = tmp_path / "somebodys.tr"
    path.write_text("1 1 90.5 1\n2 1 90.6 1\n")
    given = read_trace(path, cutoff_s=90.55)
    assert [given.is_short(job) for job in given.jobs] == [True, False]
    setting = Setting(n_workers=200)
    assert simulate(Experiment("eagle", setting), given).delay().count == 2
    for policy in ("hawk", "eagle", "pigeon", "central-least-work-left"):
        with pytest.raises(BadRequestError, match="--cutoff"):
            simulate(Experiment(policy, setting), read_trace(path))
    assert simulate(Experiment("sparrow", setting), read_trace(path)).delay().count == 2


@pytest.mark.parametrize(
    "line",
    [
        "1 2 1.0 1.0",
        "1 1 1.0 1.0 2.0",
        "1 0 1.0",
        "1 1",
        "x 1 1.0 1.0",
        "1 1 1.0 -2",
        "1 1 nan 2",
        "-1 1 1 1",
        "1 1 1 inf",
        "1 1 1 1e308",
        "nan 1 1 1",
    ],
)
def test_a_line_that_is_no_job_is_refused_with_its_number(tmp_path, line):
    with pytest.raises(BadRequestError, match="line 2"):
        read_trace(written(tmp_path, f"1 1 1.0 1.0\n{line}\n"))


def test_a_trace_that_is_missing_or_empty_is_refused(tmp_path):
    with pytest.raises(BadRequestError, match="cannot be read"):
        read_trace(tmp_path / "missing.tr")
    with pytest.raises(BadRequestError, match="holds no job"):
        read_trace(written(tmp_path, "\n"))


def test_generated_jobs_have_the_load_that_was_asked_for():
    workload = fixed_jobs(seeded(1, "arrivals"), n_jobs=4000, n_tasks=10, duration_s=0.5, load=0.8, n_slots=20)
    span_s = workload.jobs[-1].arrival_s - workload.jobs[0].arrival_s
    assert workload.n_tasks * 0.5 / (20 * span_s) == pytest.approx(0.8, rel=0.05)
    assert workload.jobs[7].durations_s == (0.5,) * 10
