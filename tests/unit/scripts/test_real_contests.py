import math

import pytest

from scripts.calibrating.draw import DrawnJob
from scripts.calibrating.lab_side import JobSeen, RealRun
from scripts.paper_contests import unlike_shares
from scripts.real_contests import REAL_CONTESTS, lost_to
from shim.domain.resources import ResourceVector

TOTAL = ResourceVector(1000, 10)
MEMORY, CORES = ResourceVector(100, 1), ResourceVector(10, 2)


@pytest.mark.parametrize("system", REAL_CONTESTS)
def test_a_seed_draws_the_same_jobs_with_names_of_their_own_and_another_seed_others(system):
    made = REAL_CONTESTS[system].made_jobs
    assert made(1) == made(1)
    assert made(1) != made(2)
    assert len({job.name for job in made(1)}) == len(made(1))


@pytest.mark.parametrize("system", REAL_CONTESTS)
def test_a_contest_has_the_systems_own_way_first_and_names_rivals_that_run(system):
    contest = REAL_CONTESTS[system]
    ways = [way.name for way in contest.ways]
    assert ways[0] == contest.ways[0].containers == system
    assert set(contest.least) <= set(ways[1:])
    assert len(contest.lab().clusters) == 2


def test_jobs_of_the_contest_of_shares_have_about_equal_dominant_work():
    contest = REAL_CONTESTS["drf"]
    node = contest.nodes[0][0]
    works = [
        sum(job.durations_s) * max(job.size.memory_mib / node.memory_mib, job.size.vcores / node.vcores)
        for job in contest.made_jobs(1)
    ]
    assert max(works) / min(works) < 1.25


def test_a_contest_is_lost_to_rivals_that_ran_and_need_too_little():
    contest = REAL_CONTESTS["drf"]
    assert lost_to(contest, {"drf": 1.0, "fair": 1.2}) == []
    assert lost_to(contest, {"drf": 1.3, "fair": 1.2}) == ["fair"]
    assert lost_to(contest, {"drf": 1.0, "heddle as installed": math.inf}) == []


def test_shares_are_of_the_dominant_resource_while_all_want_more():
    early, late = [(0.0, 10.0), (10.0, 20.0), (20.0, 30.0)], [(5.0, 15.0), (15.0, 25.0)]
    # from 15 s to 15 s nobody divides anything: the second began with a container until 15, and has its last from then
    assert unlike_shares([(MEMORY, early), (CORES, late)], TOTAL) == math.inf
    longer = [*late, (25.0, 35.0)]
    assert unlike_shares([(MEMORY, early), (CORES, longer)], TOTAL) == pytest.approx(2.0)
    twice = early * 2
    assert unlike_shares([(MEMORY, twice), (CORES, longer)], TOTAL) == pytest.approx(1.0)


def test_who_gets_nothing_while_others_are_served_has_no_share():
    assert unlike_shares([(MEMORY, [(0.0, 10.0), (10.0, 20.0)]), (MEMORY, [(50.0, 60.0)])], TOTAL) == math.inf


def test_deadlines_missed_count_for_jobs_that_have_one():
    jobs = [
        DrawnJob("due", 0.0, (8.0,) * 8, tags=("heddle-deadline=+27s",)),
        DrawnJob("other", 0.0, (8.0,) * 8),
    ]
    seen = (JobSeen(), JobSeen())
    measured = REAL_CONTESTS["jockey"].measured
    assert measured(jobs, RealRun((26.0, 900.0), seen)) == 1.0
    assert measured(jobs, RealRun((28.0, 900.0), seen)) == 2.0
