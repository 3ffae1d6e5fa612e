"""The tentative allocations of one key: grants, verdicts, what is asked for, and the row of the next cycle."""

from collections import Counter
from copy import copy

import pytest

from shim.domain.allocations import ANY, Ask, AskKey, PendingRequest, RequestPlan
from shim.domain.ids import SubClusterId
from shim.domain.launches import LaunchVerdict, Verdict
from shim.domain.resources import ResourceVector
from shim.multicluster.core.ask_group import AskGroup, TentativeAllocation
from shim.multicluster.core.events import ClusterCapacity

EAST, WEST = SubClusterId("east"), SubClusterId("west")
KEY = AskKey(20, -1, is_opportunistic=False, resource=ResourceVector(1024, 1))
ACCEPTED, REJECTED, UNVERIFIED = Verdict.ACCEPTED, Verdict.REJECTED, Verdict.UNVERIFIED


def pending(number: int, count: int, subcluster: SubClusterId = EAST, *, was_queued: int = 0) -> TentativeAllocation:
    return TentativeAllocation(number, subcluster, count, count, was_queued)


def asked(number: int, count: int, subcluster: SubClusterId = EAST, **hosts: int) -> TentativeAllocation:
    found = TentativeAllocation(number, subcluster, count, count, is_pending=False, is_asked=True)
    found.hosts.update(hosts)
    return found


def a_group(*allocations: TentativeAllocation, **queued: int) -> AskGroup:
    waits = Counter({SubClusterId(name): count for name, count in queued.items()})
    return AskGroup(KEY, request=PendingRequest(KEY, 1), allocations=list(allocations), queued=waits)


# ---------------------------------------------------------------------- verdicts


@pytest.mark.parametrize(
    ("verdict", "accepted", "was_queued", "stays", "queued"),
    [
        (ACCEPTED, 5, 0, 5, 0),
        (REJECTED, 2, 0, 2, 0),
        (REJECTED, 2, 2, 2, 2),
        (REJECTED, 2, 4, 2, 3),
        (REJECTED, 0, 5, 0, 5),
        (REJECTED, 9, 5, 5, 0),
        (UNVERIFIED, 0, 5, 5, 0),
    ],
)
def test_what_is_rejected_is_asked_for_as_before_it_was_proposed(verdict, accepted, was_queued, stays, queued):
    group = a_group(pending(7, 5, was_queued=was_queued))
    assert group.hear(LaunchVerdict(EAST, 7, verdict, accepted))
    assert (group.tentative()[EAST], group.queued[EAST]) == (stays, queued)
    assert (group.asked()[EAST], group.verified()[EAST]) == (stays + queued, stays)
    assert [proposed for proposed, _ in group.verdicts] == [5]


def test_a_rejection_of_what_was_given_up_meanwhile_takes_no_more_than_is_left():
    given_up = TentativeAllocation(7, EAST, proposed=5, count=1, was_queued=5)
    group = a_group(given_up)
    assert group.hear(LaunchVerdict(EAST, 7, REJECTED, 0))
    assert (group.allocations, group.queued) == ([], {EAST: 1})


@pytest.mark.parametrize(
    "verdict",
    [LaunchVerdict(EAST, 8, ACCEPTED, 5), LaunchVerdict(WEST, 7, ACCEPTED, 5), LaunchVerdict(WEST, 8, ACCEPTED, 5)],
    ids=["another number", "another cluster", "neither"],
)
def test_a_verdict_on_something_else_changes_nothing(verdict):
    group = a_group(pending(7, 5))
    assert not group.hear(verdict)
    assert (group.asked(), group.verified(), group.verdicts) == ({}, {}, [])


def test_a_verdict_is_heard_once():
    group = a_group(pending(6, 1), pending(7, 5))
    assert group.hear(LaunchVerdict(EAST, 7, REJECTED, 3))
    assert not group.hear(LaunchVerdict(EAST, 7, REJECTED, 0))
    assert (group.asked(), group.tentative(), len(group.verdicts)) == ({EAST: 3}, {EAST: 4}, 1)


def test_the_newest_verdicts_are_shown():
    group = a_group(*(pending(number, number) for number in range(1, 14)))
    for number in range(1, 14):
        group.hear(LaunchVerdict(EAST, number, ACCEPTED, number))
    assert [(proposed, each.number) for proposed, each in group.verdicts] == [(n, n) for n in range(2, 14)]


# ---------------------------------------------------------------------- grants


def test_a_grant_is_counted_on_the_oldest_allocation_that_is_asked_for_there():
    group = a_group(pending(1, 1), asked(2, 2, WEST), asked(3, 2), asked(4, 2), east=1)
    found = group.granted(EAST)
    assert found is not None
    assert (found.number, found.count, found.honoured, found.withdrawn) == (3, 1, 1, 0)
    assert (group.tentative(), group.queued) == ({EAST: 4, WEST: 2}, {EAST: 1})
    again = group.granted(EAST)
    assert again is found
    assert (found.count, found.honoured) == (0, 2)
    assert [each.number for each in group.allocations] == [1, 2, 4]


def test_a_grant_on_a_host_is_counted_on_the_oldest_allocation_for_that_host():
    group = a_group(asked(1, 2, h1=2), asked(2, 2, h1=1, h2=1), asked(3, 1, h2=1))
    found = group.granted(EAST, "h2")
    assert found is not None
    assert (found.number, found.hosts) == (2, {"h1": 1})
    elsewhere = group.granted(EAST, "h9")
    assert elsewhere is not None
    assert (elsewhere.number, elsewhere.count, elsewhere.hosts) == (1, 1, {"h1": 1}), "no more hosts than containers"


@pytest.mark.parametrize(("queued", "left"), [(2, {EAST: 1, WEST: 1}), (1, {WEST: 1}), (0, {WEST: 1})])
def test_a_grant_without_an_allocation_is_counted_on_what_is_queued(queued, left):
    group = a_group(pending(1, 1), asked(2, 1, WEST), east=queued, west=1)
    assert group.granted(EAST) is None
    group.tidy()
    assert group.queued == left
    assert group.tentative() == {EAST: 1, WEST: 1}


@pytest.mark.parametrize(("planned", "left"), [(3, 2), (1, 0), (0, 0)])
def test_a_grant_ends_the_silence_of_its_cluster_and_one_container_of_the_plan(planned, left):
    group = a_group(east=1)
    group.planned, group.forgiven = planned, {EAST: 4, WEST: 4}
    group.unresponsive = Counter({EAST: 2, WEST: 2})
    group.granted(EAST)
    assert (group.planned, group.forgiven, group.unresponsive) == (left, {WEST: 4}, {WEST: 2})


# ---------------------------------------------------------------------- counts


def test_counts_tell_what_is_asked_for_what_is_verified_and_what_is_committed():
    unanswered = TentativeAllocation(2, WEST, 3, 3, is_asked=True)
    group = a_group(pending(1, 2), unanswered, asked(3, 4), east=1)
    assert group.tentative() == {EAST: 6, WEST: 3}
    assert group.asked() == {EAST: 5, WEST: 3}
    assert group.verified() == {EAST: 4}
    assert group.committed() == 10


def test_the_newest_come_first_of_one_cluster_and_either_asked_for_or_not():
    group = a_group(pending(1, 1), asked(2, 1), asked(3, 1, WEST), asked(4, 1), pending(5, 1))
    assert [each.number for each in group.newest(EAST)] == [4, 2]
    assert [each.number for each in group.newest(EAST, is_asked=False)] == [5, 1]
    assert [each.number for each in group.newest(WEST)] == [3]


@pytest.mark.parametrize(("starved", "forgiven", "counts"), [(5, 0, 5), (5, 2, 3), (5, 5, 0), (2, 5, 0)])
def test_heartbeats_that_are_forgiven_do_not_count(starved, forgiven, counts):
    group = a_group()
    group.forgiven = {EAST: forgiven} if forgiven else {}
    group.request = PendingRequest(KEY, 1, starved={EAST: starved})
    assert group.beats_without_grant(EAST) == counts
    assert group.beats_without_grant(WEST) == 0


@pytest.mark.parametrize(
    ("count", "left"),
    [(9, {"h1": 2, "h2": 3}), (5, {"h1": 2, "h2": 3}), (4, {"h1": 1, "h2": 3}), (2, {"h2": 2}), (0, {})],
)
def test_no_more_hosts_are_named_than_containers_are_left(count, left):
    allocation = TentativeAllocation(1, EAST, 9, count, hosts=Counter(h1=2, h2=3))
    allocation.cut_hosts()
    assert allocation.hosts == left
    assert list(allocation.hosts) == list(left)


# ---------------------------------------------------------------------- plans


@pytest.mark.parametrize(
    ("plan", "reason", "demand", "has_spares"),
    [
        (RequestPlan(KEY, is_late_bound=True), "", {}, True),
        (None, "", {}, False),
        (RequestPlan(KEY), "", {}, False),
        (RequestPlan(KEY, is_late_bound=True), "no cycle", {}, False),
        (RequestPlan(KEY, is_late_bound=True), "", {"is_limited": True}, False),
        (RequestPlan(KEY, is_late_bound=True), "", {"is_strict": True}, False),
    ],
    ids=["bound late", "no plan", "bound at once", "not planned", "limited", "strict places"],
)
def test_schedulers_are_asked_for_the_same_only_if_nothing_but_the_plan_bounds_it(plan, reason, demand, has_spares):
    group = a_group()
    group.plan, group.reason, group.request = plan, reason, PendingRequest(KEY, 1, **demand)
    assert group.may_have_spares is has_spares


@pytest.mark.parametrize(
    ("hosts", "east", "pins"),
    [
        ({}, 0, {EAST: {"h1": 3, "h2": 1}, WEST: {"h3": 1}}),
        ({}, 1, {WEST: {"h3": 1}}),
        (None, 0, {}),
    ],
    ids=["plan decides", "some are queued there", "schedulers decide"],
)
def test_hosts_are_named_where_the_plan_decides_on_them_and_nothing_waits_without(hosts, east, pins):
    proposed = pending(4, 1)
    proposed.hosts["h9"] = 1
    group = a_group(asked(1, 2, h1=2), asked(2, 2, h1=1, h2=1), asked(3, 1, WEST, h3=1), proposed, east=east)
    assert group.planned_hosts() == {}, "no plan yet"
    group.plan = RequestPlan(KEY, hosts=hosts)
    assert group.planned_hosts() == pins


# ---------------------------------------------------------------------- the row of the next cycle


def a_row(group, wanted=4, *, weights=None, avoided=frozenset(), move_after_beats=3, **demand):
    weights = weights or {}
    group.request = PendingRequest(KEY, wanted, **demand)
    group.eligible = {name: ClusterCapacity(name, weight=weights.get(name, 1.0)) for name in (EAST, WEST)}
    return group.row({EAST: 2, WEST: 0}, avoided, move_after_beats)


def test_a_row_tells_what_is_allocated_queued_and_where_it_may_go():
    group = a_group(pending(1, 1), asked(2, 1), west=2)
    row = a_row(group, avoided=frozenset({WEST}), held=6)
    assert (row.key, row.wanted, row.held, row.gang) == (KEY, 4, 6, None)
    assert (row.tentative, row.queued) == ({EAST: 2}, {WEST: 2})
    assert (row.may_use, row.avoided, row.local) == ({EAST, WEST}, {WEST}, {EAST: 2})


def test_a_row_names_weights_that_differ_from_one_and_clusters_that_were_silent_long_enough():
    group = a_group()
    group.unresponsive = Counter({EAST: 2, WEST: 3})
    row = a_row(group, weights={EAST: 1.0, WEST: 0.5}, move_after_beats=3)
    assert (row.weights, row.unresponsive) == ({WEST: 0.5}, {WEST})
    assert a_row(group, move_after_beats=4).unresponsive == frozenset()


@pytest.mark.parametrize(
    ("wanted", "allocated", "named"),
    [
        (4, {}, {"h1": 3, "h2": 1}),
        (3, {}, {"h1": 3, "h2": 1}),
        (2, {}, {"h1": 2, "h2": 1}),
        (1, {}, {"h1": 1, "h2": 1}),
        (0, {}, {}),
        (5, {"h2": 1}, {"h1": 3, "h2": 1}),
        (4, {"h2": 1}, {"h1": 3}),
        (2, {"h2": 1}, {"h1": 1}),
        (5, {"h1": 2}, {"h1": 1, "h2": 1}),
        (4, {"h1": 3}, {"h2": 1}),
    ],
)
def test_each_host_has_its_part_of_the_tasks_that_are_left_at_least_one(wanted, allocated, named):
    """Hosts are named for four tasks; the rack is named as it was. Where as many are left, hosts are not cut."""
    group = a_group(*(asked(number, count, **{host: count}) for number, (host, count) in enumerate(allocated.items())))
    assert a_row(group, wanted, named={"h1": 3, "h2": 1, "/r": 9}).named == named | {"/r": 9}


# ---------------------------------------------------------------------- two lifetimes


def test_a_plan_is_forgotten_without_what_was_said_and_the_other_way_round():
    group = a_group(asked(1, 2), west=3)
    group.put(Ask(KEY, ANY, 5))
    group.wanted, group.targets = 5, {EAST: 2}
    group.is_split, group.reason, group.verdicts, group.repairs = (
        True,
        "too old",
        [(1, LaunchVerdict(EAST, 1, ACCEPTED, 1))],
        4,
    )
    said, planned = copy(group), copy(group)
    said.forget_plan()
    assert (said.rows, said.wanted, said.targets) == (group.rows, 5, {EAST: 2})
    assert said == AskGroup(KEY, rows=group.rows, wanted=5, targets={EAST: 2})
    planned.take_back(None)
    assert (planned.rows, planned.wanted, planned.targets) == ({}, 0, {})
    assert (planned.request, planned.allocations, planned.queued) == (group.request, group.allocations, group.queued)
    planned.forget_plan()
    assert planned == AskGroup(KEY)
