"""Asks before there is room, by policies that place by themselves: no more than come free, and nothing that is held.

Whatever waits, whatever is free and however fast containers end: no scheduler is asked ahead for more than come free
there before whoever is next could be told; what starts still fits; gangs, requests that wait for places that they name,
and whatever waits while a policy plans starts for deadlines stay in Heddle.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from shim.domain.wishes import JobTimes
from shim.scheduling.policy import Fact
from shim.scheduling.queue_policies import QUEUE_POLICIES
from tests.support.examples import examples
from tests.unit.scheduling.test_queue_table import BOTH, EAST, WEST, a_capacity, a_key, a_request, a_table

KERNELS = sorted(name for name, policy in QUEUE_POLICIES.items() if policy.placement.kernel is not None)
SECONDS, WINDOW_S, EXCHANGE_S = 1.0, 10.0, 4.0

REQUESTS = st.lists(
    st.tuples(
        st.integers(1, 12),  # containers
        st.sampled_from([1, 2, 4]),  # GiB of each
        st.sampled_from(["", "", "gang", "named"]),
        st.sampled_from([BOTH, BOTH, frozenset({EAST}), frozenset({WEST})]),
    ),
    min_size=2,
    max_size=7,
)


def an_attempt(number):
    return ApplicationAttemptId(ApplicationId(1, number), 1)


def a_busy_table(requests, grants, **more):
    """Requests of one attempt each, after so many grants and ends at each cluster within the last seconds."""
    table = a_table(**more)
    for number, (count, size, kind, may_use) in enumerate(requests, start=1):
        told = {"gang": {"gang": count}, "named": {"named": {"east-0": count}}}.get(kind, {})
        table.put(an_attempt(number), [a_request(count, a_key(size), may_use=may_use, **told)], (), 0.0)
    for name, count in grants.items():
        for each in range(count):
            table.granted(an_attempt(99), name, SECONDS)
            table.ended(an_attempt(99), ContainerId(an_attempt(99), each + 2), SECONDS, is_whole=True)
    return table


@settings(max_examples=examples(150), deadline=None)
@given(
    name=st.sampled_from(KERNELS),
    requests=REQUESTS,
    free=st.tuples(st.integers(0, 5), st.integers(0, 5)),
    grants=st.tuples(st.integers(0, 25), st.integers(0, 25)),
)
def test_no_more_is_asked_for_ahead_than_comes_free_and_what_is_held_stays_held(name, requests, free, grants):
    policy, soon = QUEUE_POLICIES[name], dict(zip((EAST, WEST), grants, strict=True))
    table = a_busy_table(requests, soon)
    plans = table.plan(a_capacity([free[0]], [free[1]]), name, SECONDS)
    ahead, started = dict.fromkeys((EAST, WEST), 0), dict.fromkeys((EAST, WEST), 0)
    for number, (count, size, kind, may_use) in enumerate(requests, start=1):
        (plan,) = plans[an_attempt(number)]
        assert plan.may_queue == set(plan.at_most), "others wait: no scheduler chooses by itself"
        assert plan.may_queue <= may_use
        assert sum(plan.at_most.values()) + sum(plan.starts.values()) <= count
        if kind == "gang" or (kind == "named" and Fact.LOCALITY in policy.needs):
            assert not plan.at_most
        for where in (EAST, WEST):
            ahead[where] += plan.at_most.get(where, 0)
            started[where] += plan.starts.get(where, 0) * size
    for number, where in enumerate((EAST, WEST)):
        assert ahead[where] <= int(soon[where] / WINDOW_S * EXCHANGE_S + 1e-9)
        assert started[where] <= free[number]


@pytest.mark.parametrize("name", KERNELS)
def test_all_that_comes_free_is_asked_for_where_enough_of_it_is_wanted(name):
    table = a_busy_table([(9, 1, "", BOTH), (9, 1, "", BOTH)], {EAST: 10, WEST: 5})
    plans = table.plan(a_capacity([1], [0]), name, SECONDS)
    told = [plan for each in plans.values() for plan in each]
    assert {where: sum(plan.at_most.get(where, 0) for plan in told) for where in (EAST, WEST)} == {EAST: 4, WEST: 2}
    assert sum(sum(plan.starts.values()) for plan in told) == 1


def test_by_tetrisched_nothing_is_asked_for_ahead_while_a_deadline_is_to_be_met():
    requests, grants = [(9, 1, "", BOTH), (9, 1, "", BOTH)], {EAST: 10}
    found = []
    for deadline_s in (0.0, 500.0, 0.5):  # the last one is lost
        times = {an_attempt(2).application: JobTimes(0.0, deadline_s)}
        table = a_busy_table(requests, grants, times_of=lambda name, times=times: times.get(name))
        plans = table.plan(a_capacity([0], [0]), "tetrisched", SECONDS)
        found.append(sum(sum(plan.at_most.values()) for each in plans.values() for plan in each))
    assert found == [4, 0, 4]


@pytest.mark.parametrize("name", KERNELS)
def test_a_gang_keeps_nobody_from_what_comes_free(name):
    table = a_busy_table([(12, 4, "gang", BOTH), (9, 1, "", BOTH)], {EAST: 10})
    (plan,) = table.plan(a_capacity([0], [0]), name, SECONDS)[an_attempt(2)]
    assert plan.at_most == {EAST: 4}


@pytest.mark.parametrize("name", ["delay", "quincy"])
def test_what_waits_for_its_data_is_before_those_after_it(name):
    table = a_busy_table([(3, 1, "named", BOTH), (9, 1, "", BOTH)], {EAST: 10})
    (plan,) = table.plan(a_capacity([0], [0]), name, SECONDS)[an_attempt(2)]
    assert plan.at_most == {EAST: 1}
