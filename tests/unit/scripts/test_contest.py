"""The contest's workloads and its oracle."""

import pytest

from scripts.contest import (
    HEDDLE,
    SHAPES,
    SINGLE_FAIR,
    Draw,
    completions_of,
    jobs_of,
    oracle,
    phases_of,
    told,
    told_by_phases,
)
from shim.scheduling.durations import recurring_key_of

DRAW = Draw(jobs=60, load=0.8)


@pytest.mark.parametrize("shape", SHAPES)
def test_jobs_of_a_shape_bring_the_load_that_is_asked_for_and_the_same_from_the_same_seed(shape):
    draw = Draw(shape=shape, jobs=400, load=0.8)
    jobs = jobs_of(draw)
    work_s = sum(sum(stage.durations_s) for job in jobs for stage in job.stages)
    assert work_s / (draw.places * jobs[-1].arrival_s) == pytest.approx(draw.load, rel=0.35)
    assert jobs == jobs_of(draw)
    assert len({job.name for job in jobs}) == draw.jobs


def test_nobody_is_faster_than_its_longest_task_and_the_start_of_its_master():
    jobs = jobs_of(DRAW)
    for job, seconds in zip(jobs, oracle(jobs, DRAW), strict=True):
        assert seconds >= job.longest_path_s + 1.8 - 1e-9


def test_with_room_for_all_the_oracle_makes_nobody_wait():
    idle = Draw(jobs=60, load=0.8, nodes=(2000,), am_share=1.0)
    jobs = jobs_of(DRAW)
    for job, seconds in zip(jobs, oracle(jobs, idle), strict=True):
        assert seconds == pytest.approx(job.longest_path_s + 1.8)


def test_the_oracle_is_better_than_one_fair_cluster():
    draw = Draw(jobs=12, nodes=(1, 1))
    fair, best = (completions_of(row, draw) for row in ("one cluster, fair", "oracle"))
    assert sum(best) < sum(fair)


def test_a_recurring_kind_is_known_again_by_its_name_and_differs_from_others():
    jobs = jobs_of(Draw(jobs=200))
    keys = {recurring_key_of(job.user, "YARN", job.name) for job in jobs}
    assert 35 <= len(keys) <= 40
    unknown = {recurring_key_of(job.user, "YARN", job.name) for job in jobs_of(Draw(shape="no-history", jobs=200))}
    assert len(unknown) == 200


@pytest.mark.parametrize(("slow", "cells"), [(0, ["100%", "1.00"]), (1, ["99%", "1.00"]), (2, ["98%", "3.00"])])
def test_a_row_tells_how_many_jobs_are_slower_than_on_one_fair_cluster_and_how_slow_the_slowest(slow, cells):
    draw = Draw(jobs=100)
    times = {(SINGLE_FAIR, draw): (10.0,) * 100, (HEDDLE, draw): (30.0,) * slow + (10.0,) * (100 - slow)}
    lines = list(told(times, [SINGLE_FAIR, HEDDLE], [draw]))
    assert [cell.strip() for cell in lines[3].split("|")][6:8] == cells
    assert len({line.count("|") for line in lines}) == 1


def test_the_phases_of_a_job_are_its_whole_time_and_its_master_starts_before_its_first_task():
    draw = Draw(jobs=6, nodes=(1, 1))
    jobs, whole_s = jobs_of(draw), completions_of(SINGLE_FAIR, draw)
    for job, seconds, (tasks, parts) in zip(jobs, whole_s, phases_of(SINGLE_FAIR, draw), strict=True):
        assert tasks == len(job.stages[0].durations_s)
        assert sum(parts) == pytest.approx(seconds)
        assert min(parts) >= 0
        assert parts[1] >= 1.8 - 0.01
    assert sum(int(line.split("|")[2]) for line in list(told_by_phases([SINGLE_FAIR], [draw]))[2:]) == draw.jobs
