"""Carbyne: what fair ends take first, leftover to who has least work left, and what each rule does to that."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.wishes import JobWishes
from shim.scheduling.knowledge import Knowledge, StageOutline
from shim.scheduling.policies.carbyne import CARBYNE, CarbyneRules, carbyne
from shim.scheduling.snapshot import Column
from tests.support.cycle_scenes import CycleScene

AT_ONCE = carbyne(CarbyneRules(floor=1.0))
EAGER = carbyne(CarbyneRules(altruism=0.0))
SRTF = carbyne(CarbyneRules(keeps_floor=False))


def two_jobs(free=8, small=4, large=40, task_s=10.0):
    """A small and a large job of one stage each, which came together."""
    scene = CycleScene([[free]])
    rows = [scene.ask(count, job=scene.job(), expected_s=task_s) for count in (small, large)]
    return scene, rows


def granted(plan):
    return dict(plan.granted())


@pytest.mark.parametrize(
    ("policy", "expected"), [(AT_ONCE, (4, 4)), (EAGER, (4, 4)), (CARBYNE, (4, 4)), (SRTF, (4, 4))]
)
def test_nothing_stays_free_while_anybody_wants_it(policy, expected):
    scene, rows = two_jobs()
    assert tuple(granted(scene.decide(policy)).get(row, 0) for row in rows) == expected


def test_leftover_goes_to_who_has_least_work_left_and_the_floor_is_kept():
    scene, (_, large) = two_jobs(free=10, small=20, large=40)
    shares = {
        name: granted(scene.decide(carbyne(rules))).get(large, 0)
        for name, rules in (
            ("all of its fair end", CarbyneRules(floor=1.0)),
            ("half of it", CarbyneRules(floor=0.4)),
            ("nothing", CarbyneRules(keeps_floor=False)),
        )
        if not scene.state.memory.clear()
    }
    assert shares == {"all of its fair end": 5, "half of it": 2, "nothing": 0}


def join(scene, job, short=12, chain_s=(50.0, 50.0)):
    """A chain of two tasks beside a wide stage of short ones, and a join of both."""
    graph = (
        StageOutline(1, chain_s[0], (1,)),
        StageOutline(short, 5.0, (1,)),
        StageOutline(1, chain_s[1], (1,), (0,)),
        StageOutline(1, 5.0, (1,), (1, 2)),
    )
    chain = scene.ask(1, job=job, stage=0, expected_s=chain_s[0])
    wide = scene.ask(short, job=job, stage=1, expected_s=5.0, priority=0)
    scene.jobs.put(Column.TASKS, job, short + 3.0)
    return graph, chain, wide


def test_a_stage_that_nothing_waits_for_as_yet_is_put_off_for_others():
    scene = CycleScene([[8]])
    job, other = scene.job(), scene.job()
    graph, chain, wide = join(scene, job)
    theirs = scene.ask(7, job=other, expected_s=5.0)
    scene.knowledge = Knowledge(graphs={job: graph}, finished={job: (0, 0, 0, 0)})
    assert granted(scene.decide(AT_ONCE)) == {chain: 1, wide: 1, theirs: 6}
    scene.state.memory.clear()
    assert granted(scene.decide(EAGER)) == {chain: 1, wide: 3, theirs: 4}


def test_what_is_put_off_is_due_when_its_time_has_come():
    scene = CycleScene([[8]])
    job, other = scene.job(), scene.job()
    graph, chain, wide = join(scene, job)
    scene.ask(1000, job=other, expected_s=0.1)
    scene.knowledge = Knowledge(graphs={job: graph}, finished={job: (1, 0, 1, 0)})
    scene.requests.set_count(chain, 0)
    scene.jobs.put(Column.FINISHED_S, job, 100.0)
    plan = granted(scene.decide(AT_ONCE, 101.0))
    assert plan[wide] >= 4, "the chain is done: the wide stage is all that the join waits for"


def test_a_job_that_has_fallen_behind_is_given_more_than_its_floor():
    scene, (small, large) = two_jobs(free=4, small=1000, large=2000, task_s=1.0)
    policy = carbyne(CarbyneRules(floor=0.0, patience=1.2))
    assert granted(scene.decide(policy)) == {small: 4}
    found = [granted(scene.decide(policy, float(at_s))).get(large, 0) for at_s in range(50, 1001, 50)]
    assert (found[0], found[-1]) == (0, 2), "in the end both are late, and have what they are owed"


def test_whoever_ended_early_has_its_share_until_it_would_have_ended():
    scene, (small, _) = two_jobs(free=4, small=4, large=400)
    scene.decide(AT_ONCE)
    followed = next(iter(scene.state.memory.values()))
    assert [round(fair.share, 3) for fair in followed.jobs.values()] == [2.0, 2.0]
    scene.requests.set_count(small, 0)
    scene.jobs.put(Column.WAITING, 0, 0.0)
    scene.decide(AT_ONCE, 10.0)
    assert [fair.share for fair in (*followed.ahead, followed.jobs[1])] == pytest.approx([2.0, 2.0])
    scene.decide(AT_ONCE, 30.0)
    assert (followed.ahead, followed.jobs[1].share) == ([], pytest.approx(4.0))


def test_a_row_that_another_job_uses_begins_anew():
    scene, _ = two_jobs()
    scene.decide(AT_ONCE)
    followed = next(iter(scene.state.memory.values()))
    before = followed.jobs[0]
    scene.jobs.put(Column.ARRIVED_S, 0, 5.0)
    scene.decide(AT_ONCE, 5.0)
    assert followed.jobs[0] is not before


def test_an_application_says_how_much_it_gives():
    scene, (small, large) = two_jobs(free=10, small=20, large=40)
    policy = carbyne(CarbyneRules(floor=0.0, patience=10.0))
    assert granted(scene.decide(policy)) == {small: 10}
    scene.state.memory.clear()
    scene.knowledge = Knowledge(wishes={1: JobWishes(altruism=0.0)})
    assert granted(scene.decide(policy)) == {small: 5, large: 5}
    scene.state.memory.clear()
    scene.knowledge = Knowledge(wishes={1: JobWishes(altruism=0.5)})
    assert 0 < granted(scene.decide(policy))[large] < 5


def test_shares_are_of_dominant_resources():
    scene = CycleScene([[9, 18]])
    cores, memory = (scene.ask(50, (c, m), job=scene.job(), expected_s=10.0) for c, m in ((3, 1), (1, 4)))
    assert granted(scene.decide(AT_ONCE)) == {memory: 3, cores: 2}, "the example of DRF's paper"


def test_what_is_asked_for_next_is_due_first_and_no_more_than_is_wanted():
    scene, (small, large) = two_jobs(free=10, small=20, large=40)
    plan = scene.decide(AT_ONCE)
    counts = dict.fromkeys((small, large), 0)
    kernel = AT_ONCE.placement.kernel
    for row, count in kernel.rank(scene.snapshot(), {}, (small, large), plan):
        counts[row] += count
    assert {row: count + granted(plan).get(row, 0) for row, count in counts.items()} == {small: 20, large: 40}


@given(
    st.lists(st.tuples(st.integers(0, 30), st.floats(0.1, 1e4)), min_size=1, max_size=6),
    st.floats(0.0, 1.0),
    st.floats(0.0, 1.0),
    st.integers(0, 20),
)
def test_as_much_is_granted_as_is_free_and_wanted_whatever_the_rules(jobs, altruism, floor, free):
    scene = CycleScene([[free]])
    for count, task_s in jobs:
        scene.ask(count, job=scene.job(), expected_s=task_s)
    policy = carbyne(replace(CarbyneRules(), altruism=altruism, floor=floor))
    for at_s in (0.0, 7.0, 100.0):
        found = granted(scene.decide(policy, at_s))
        assert sum(found.values()) == min(free, sum(count for count, _ in jobs))
    assert np.array_equal(scene.free, [[free]])
