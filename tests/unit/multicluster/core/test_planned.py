"""A splitter that carries plans out: what is proposed, what is asked for where, and what the next cycle is told."""

from dataclasses import replace

import pytest

from shim.domain.allocations import ANY, Ask, AskKey, PendingRequest, RequestPlan
from shim.domain.ids import SubClusterId
from shim.domain.launches import LaunchVerdict, Verdict
from shim.domain.resources import ResourceVector
from shim.multicluster.core import Beat, ClusterCapacity
from shim.multicluster.core.asks import AskBook
from shim.multicluster.core.events import (
    AllocationsExpired,
    AllocationsVerified,
    ContainerGranted,
    ExpiredAllocation,
    LeftQueue,
    PlanEvent,
    Planned,
    Propose,
    PublishRequests,
    SettleAllocation,
)
from shim.multicluster.core.planned import PlannedSplitter
from shim.multicluster.core.splitter import SplitSettings
from tests.doubles.settings import usual

EAST, WEST, NORTH = SubClusterId("east"), SubClusterId("west"), SubClusterId("north")
BOTH = frozenset({EAST, WEST})
KEY = AskKey(20, -1, is_opportunistic=False, resource=ResourceVector(1024, 1))


def gib(count):
    return ResourceVector(1024 * count, count)


def a_room(name, **more):
    return ClusterCapacity(name, **({"is_home": name == EAST, "size": gib(20), "largest": gib(10)} | more))


CAPACITIES = (a_room(EAST), a_room(WEST))


class Split:
    """A splitter, and the demand that its ledger would give it."""

    def __init__(self, wanted, capacities=CAPACITIES, move_after_beats=3, **demand):
        self.splitter = PlannedSplitter(usual(SplitSettings, move_after_beats=move_after_beats))
        self.demand = PendingRequest(KEY, wanted, **demand)
        self.capacities = capacities

    def asked(self, **demand):
        self.demand = replace(self.demand, **demand)
        return dict(self.splitter.split(self.demand, self.capacities))

    def plan(self, starts=(), may_queue=BOTH, **more):
        self.splitter.take(Planned((RequestPlan(KEY, dict(starts), frozenset(may_queue), **more),)))

    def verdict(self, subcluster, number, accepted, verdict=Verdict.ACCEPTED):
        self.splitter.take(AllocationsVerified((LaunchVerdict(subcluster, number, verdict, accepted),)))

    def effects(self, kind):
        return [effect for effect in self.splitter.drain() if isinstance(effect, kind)]


def test_what_is_newly_wanted_is_published_and_asked_for_nowhere_before_its_plan():
    split = Split(3, held=2)
    assert split.asked() == {}
    assert split.splitter.awaits_plan
    (published,) = split.effects(PublishRequests)
    assert published.is_urgent
    (row,) = published.requests
    assert (row.wanted, row.unallocated, row.may_use, row.held) == (3, 3, BOTH, 2)
    assert split.asked() == {}
    assert split.effects(PublishRequests) == [], "nothing has changed"


def test_starts_are_proposed_and_asked_for_with_their_verdict_at_home_at_once():
    split = Split(5)
    split.asked()
    split.plan({EAST: 2, WEST: 3})
    proposals = {effect.subcluster: (effect.number, effect.count) for effect in split.effects(Propose)}
    assert {name: count for name, (_, count) in proposals.items()} == {EAST: 2, WEST: 3}
    assert split.asked() == {EAST: 2}
    assert not split.splitter.awaits_plan
    split.verdict(WEST, proposals[WEST][0], 3)
    assert split.asked() == {EAST: 2, WEST: 3}


def test_what_is_rejected_is_for_the_next_cycle_to_place():
    split = Split(4)
    split.asked()
    split.plan({WEST: 4}, may_queue=())
    (proposal,) = split.effects(Propose)
    split.verdict(WEST, proposal.number, 1, Verdict.REJECTED)
    assert split.asked() == {WEST: 1}
    (published,) = split.effects(PublishRequests)
    assert published.requests[-1].unallocated == 3
    assert not published.is_urgent, "a rejection is an event of the next cycle"


def test_silence_of_a_local_master_stands_in_nobody_s_way():
    split = Split(2)
    split.asked()
    split.plan({WEST: 2})
    (proposal,) = split.effects(Propose)
    split.verdict(WEST, proposal.number, 0, Verdict.UNVERIFIED)
    assert split.asked() == {WEST: 2}


@pytest.mark.parametrize(("may_queue", "asked"), [(BOTH, {EAST: 3, WEST: 3}), ({WEST}, {WEST: 6}), (set(), {})])
def test_what_no_plan_allocates_waits_at_schedulers_only_where_the_plan_allows_it(may_queue, asked):
    split = Split(6)
    split.asked()
    split.plan(may_queue=may_queue)
    assert split.asked() == asked


def test_what_waits_at_a_scheduler_stays_asked_for_while_it_is_allocated_there():
    split = Split(2)
    split.asked()
    split.plan(may_queue={WEST})
    assert split.asked() == {WEST: 2}
    split.plan({WEST: 2}, may_queue={WEST})
    (proposal,) = split.effects(Propose)
    assert split.asked() == {WEST: 2}, "no place in its queue is lost"
    split.verdict(WEST, proposal.number, 0, Verdict.REJECTED)
    assert split.asked() == {WEST: 2}


@pytest.mark.parametrize("place", [EAST, WEST])
@pytest.mark.parametrize(("queued", "started"), [(0, 2), (1, 3), (2, 4), (2, 5), (3, 3)])
def test_of_what_is_rejected_as_much_stays_asked_for_as_waited_there_before(place, queued, started):
    """Also where as much again was newly allocated at home, which is asked for at once, too."""
    split = Split(queued)
    split.asked()
    split.plan(may_queue={place})
    assert split.asked().get(place, 0) == queued
    split.asked(wanted=started)
    split.splitter.drain()
    split.plan({place: started}, may_queue=())
    proposals = [(each.number, each.count) for each in split.effects(Propose)]
    assert [count for _, count in proposals] == [count for count in (queued, started - queued) if count]
    for number, _ in proposals:
        split.verdict(place, number, 0, Verdict.REJECTED)
    assert split.asked().get(place, 0) == queued


def test_a_request_that_goes_before_anybody_read_of_it_is_told_as_gone_alone():
    split = Split(2)
    split.asked()
    split.effects(PublishRequests)
    split.asked(wanted=3)
    split.splitter.drop(KEY)
    (published,) = split.effects(PublishRequests)
    assert (published.requests, published.dropped) == ((), (KEY,))


def test_where_others_go_first_nothing_waits_any_more():
    split = Split(4)
    split.asked()
    split.plan({EAST: 1})
    assert sum(split.asked().values()) == 4
    split.plan(may_queue={WEST})
    assert split.asked() == {EAST: 1, WEST: 2} or split.asked() == {EAST: 1, WEST: 3}


def test_a_grant_honours_the_oldest_allocation_and_one_without_is_told():
    split = Split(2)
    split.asked()
    split.plan({EAST: 1}, may_queue={WEST})
    split.asked()
    split.effects(Propose)
    split.splitter.granted(KEY, EAST)
    granted, settled = split.splitter.drain()
    assert granted == ContainerGranted(EAST, KEY)
    assert (settled.honoured, settled.withdrawn) == (1, 0)
    split.splitter.granted(KEY, WEST)
    assert split.effects(ContainerGranted) == [ContainerGranted(WEST, KEY, is_unplanned=True)]
    assert split.asked(wanted=0 + 1) == {}, "another is wanted, and no plan knows of it"
    assert split.splitter.awaits_plan


def test_less_is_wanted_and_what_waits_goes_first_then_the_newest_allocation():
    split = Split(6)
    split.asked()
    split.plan({EAST: 2, WEST: 2}, capacity={EAST: 2, WEST: 9})
    for effect in split.effects(Propose):
        split.verdict(effect.subcluster, effect.number, 2)
    assert sum(split.asked().values()) == 6
    assert split.asked(wanted=4) == {EAST: 2, WEST: 2}
    assert split.asked(wanted=3) == {EAST: 1, WEST: 2}
    (settled,) = split.effects(SettleAllocation)
    assert (settled.subcluster, settled.withdrawn) == (EAST, 1)


def test_what_starves_is_given_up_and_nothing_new_starts_there():
    split = Split(3)
    split.asked()
    split.plan({WEST: 3}, may_queue=(), capacity={WEST: 3})
    (proposal,) = split.effects(Propose)
    split.verdict(WEST, proposal.number, 3)
    assert split.asked(starved={WEST: 2}) == {WEST: 3}
    assert split.asked(starved={WEST: 3}) == {}
    assert split.splitter.repairs == 3
    row = split.effects(PublishRequests)[-1].requests[-1]
    assert (row.avoided, row.unresponsive, row.unallocated) == ({WEST}, {WEST}, 3)
    split.splitter.granted(KEY, WEST)
    split.asked(wanted=2, starved={WEST: 0})
    assert split.effects(PublishRequests)[-1].requests[-1].avoided == frozenset()


def test_an_allocation_that_stands_no_more_is_placed_again():
    split = Split(2)
    split.asked()
    split.plan({WEST: 2}, may_queue=())
    (proposal,) = split.effects(Propose)
    split.verdict(WEST, proposal.number, 2)
    split.splitter.take(AllocationsExpired((ExpiredAllocation(WEST, proposal.number, 2),)))
    assert split.asked() == {}
    assert split.splitter.repairs == 2


def test_a_cluster_that_closes_is_asked_for_nothing():
    split = Split(4)
    split.asked()
    split.plan({EAST: 1, WEST: 1})
    for effect in split.effects(Propose):
        split.verdict(effect.subcluster, effect.number, 1)
    split.capacities = (a_room(EAST), a_room(WEST, is_open=False))
    assert split.asked() == {EAST: 3} or split.asked() == {EAST: 4}
    assert [effect.subcluster for effect in split.effects(SettleAllocation)] == [WEST]


def test_strict_asks_wait_where_their_places_are():
    capacities = (a_room(EAST, racks={"e1": "/e"}), a_room(WEST, racks={"w1": "/w"}))
    split = Split(3, capacities, named={"w1": 3}, is_strict=True, places=("w1",))
    split.asked()
    (published,) = split.effects(PublishRequests)
    assert published.requests[0].places == ("w1",)
    split.plan()
    assert split.asked() == {WEST: 3}


@pytest.mark.parametrize(
    ("capacities", "demand", "reason"),
    [
        ((a_room(EAST, age_s=9.0), a_room(WEST)), {}, "too old"),
        ((a_room(EAST, largest=gib(0)), a_room(WEST, is_open=False)), {}, "no sub-cluster"),
        (CAPACITIES, {"is_strict": True}, "none is named"),
    ],
)
def test_what_no_cycle_can_plan_is_split_by_capacity(capacities, demand, reason):
    split = Split(2, capacities, **demand)
    assert sum(split.asked().values()) == 2
    assert not split.splitter.awaits_plan
    (decision,) = split.splitter.decisions({})
    assert reason in decision.reason
    assert decision.by == "capacity"


def test_who_leaves_withdraws_everything():
    split = Split(2)
    split.asked()
    split.plan({EAST: 2})
    split.splitter.drain()
    split.splitter.clear()
    settled, left, published = split.splitter.drain()
    assert (settled.withdrawn, left, published.dropped) == (2, LeftQueue(), (KEY,))


def test_decisions_tell_what_stands_behind_them():
    split = Split(5)
    split.asked()
    split.plan({EAST: 2}, may_queue=(), behind=("application_1_0001",), capacity={EAST: 2})
    (proposal,) = split.effects(Propose)
    split.verdict(EAST, proposal.number, 2)
    split.asked()
    (decision,) = split.splitter.decisions({})
    assert (decision.wanted, decision.asked, decision.promised) == (5, {EAST: 2}, {EAST: 2})
    assert (decision.withheld, decision.behind) == (3, ("application_1_0001",))
    assert [(each.subcluster, each.room) for each in decision.candidates] == [(EAST, 2), (WEST, 0)]


def test_what_nobody_knows_is_refused():
    class Unknown(PlanEvent):
        pass

    with pytest.raises(Exception, match="no splitter knows"):
        PlannedSplitter(usual(SplitSettings)).take(Unknown())
    assert not isinstance(Beat(EAST), PlanEvent)


def test_hosts_that_a_plan_has_chosen_are_proposed_and_named_until_they_are_granted():
    split = Split(4, named={"e1": 2, "e2": 2, "/r": 4})
    split.asked()
    split.effects(PublishRequests)
    split.plan({EAST: 3}, frozenset(), hosts={EAST: {"e1": 1, "e2": 1}})
    assert split.asked() == {EAST: 3}, "at home at once"
    proposed = [(each.count, each.places) for each in split.splitter.drain() if isinstance(each, Propose)]
    assert proposed == [(2, ("e1", "e2")), (1, ())]
    assert split.splitter.pins(KEY) == {EAST: {"e1": 1, "e2": 1}}
    split.verdict(EAST, 1, 2)
    split.verdict(EAST, 2, 1)
    split.asked()
    split.splitter.granted(KEY, EAST, "e2")
    assert split.splitter.pins(KEY) == {EAST: {"e1": 1}}
    assert split.effects(SettleAllocation) == [SettleAllocation(EAST, 1, 1, 0)]
    split.splitter.granted(KEY, EAST, "elsewhere")
    assert split.splitter.pins(KEY) == {EAST: {}}, "no more hosts than containers"
    assert split.asked(wanted=1) == {EAST: 1}


def test_rows_of_cycles_name_no_place_that_an_allocation_is_for():
    split = Split(3, named={"e1": 2, "w1": 1})
    split.asked()
    split.effects(PublishRequests)
    split.plan({EAST: 2}, frozenset(), hosts={EAST: {"e1": 2}})
    split.asked()
    (published,) = split.effects(PublishRequests)
    assert [dict(row.named) for row in published.requests] == [{"w1": 1}]


def test_a_scheduler_that_chooses_by_its_own_rules_is_told_of_every_place():
    split = Split(2, named={"e1": 2})
    split.asked()
    split.plan({EAST: 1}, BOTH, hosts=None)
    split.asked()
    assert split.splitter.pins(KEY) == {}
    split.plan({}, BOTH, hosts={})
    assert sum(split.asked().values()) == 2
    assert EAST not in split.splitter.pins(KEY) or not split.splitter.pins(KEY)[EAST]


def test_what_starves_at_its_host_is_given_up_and_waits_at_that_scheduler_by_its_rules():
    split = Split(1, named={"e1": 1})
    split.asked()
    split.plan({EAST: 1}, frozenset(), hosts={EAST: {"e1": 1}})
    split.verdict(EAST, 1, 1)
    assert split.asked() == {EAST: 1}
    assert split.asked(starved={EAST: 3}) == {}
    (published,) = [each for each in split.effects(PublishRequests) if each.requests[-1].avoided]
    assert published.requests[-1].avoided == {EAST}
    split.plan({}, {EAST}, hosts={})
    assert split.asked(starved={EAST: 3}) == {EAST: 1}
    assert split.splitter.pins(KEY) == {}


# ---------------------------------------------------------------------- late binding


def test_by_late_binding_each_scheduler_that_was_drawn_is_asked_for_all_and_for_less_once_one_has_bound():
    split = Split(4, (*CAPACITIES, a_room(NORTH)))
    split.asked()
    split.plan(may_queue=BOTH, is_late_bound=True)
    assert split.asked() == {EAST: 4, WEST: 4}
    assert split.splitter.has_spares(KEY)
    (published,) = split.effects(PublishRequests)
    assert published.requests[-1].withheld == 0
    split.splitter.granted(KEY, WEST)
    assert split.asked(wanted=3) == {EAST: 3, WEST: 3}
    assert split.asked(wanted=6) == {EAST: 3, WEST: 3}, "what is newly wanted has no plan yet"
    split.plan(may_queue=BOTH, is_late_bound=True)
    assert split.asked() == {EAST: 6, WEST: 6}


@pytest.mark.parametrize("demand", [{"is_limited": True}, {"is_strict": True, "places": ("e1",), "named": {"e1": 4}}])
def test_nothing_is_asked_for_twice_beyond_what_the_queue_may_have_or_where_places_decide(demand):
    rooms = (a_room(EAST, racks={"e1": "/r"}), a_room(WEST, racks={"w1": "/r"}))
    split = Split(4, rooms, **demand)
    split.asked()
    split.plan(may_queue=BOTH, is_late_bound=True)
    assert sum(split.asked().values()) == 4
    assert not split.splitter.has_spares(KEY)


def test_spares_go_when_the_queue_has_another_policy_and_a_plan_s_allocations_are_kept():
    split = Split(4)
    split.asked()
    split.plan(may_queue=BOTH, is_late_bound=True)
    assert split.asked() == {EAST: 4, WEST: 4}
    split.plan({EAST: 1}, may_queue={WEST})
    asked = split.asked()
    assert sum(asked.values()) == 4
    split.plan(may_queue=BOTH, is_late_bound=True)
    assert split.asked() == {EAST: 4, WEST: 3}, "one is allocated at home already"


def test_no_more_is_queued_than_a_plan_allows_and_what_was_granted_of_it_counts():
    split = Split(9)
    split.asked()
    split.plan(may_queue={EAST, WEST}, at_most={EAST: 2, WEST: 1})
    assert split.asked() == {EAST: 2, WEST: 1}
    split.splitter.granted(KEY, EAST)
    assert split.asked(wanted=8) == {EAST: 1, WEST: 1}, "until the next plan"
    split.plan(may_queue={EAST}, at_most={EAST: 4})
    assert split.asked() == {EAST: 4}
    split.plan(may_queue={EAST, WEST}, at_most={EAST: 3})
    assert split.asked() == {EAST: 3, WEST: 5}, "where a plan states no bound there is none"


def test_what_is_allocated_tentatively_is_none_of_what_may_be_queued():
    split = Split(9)
    split.asked()
    split.plan({EAST: 3}, may_queue={EAST}, at_most={EAST: 2})
    assert split.asked() == {EAST: 5}
    split.plan(may_queue=())
    assert split.asked() == {EAST: 3}


def test_where_nobody_knows_whether_it_finds_what_it_needs_one_container_tries():
    split = Split(5, capacities=(a_room(EAST), a_room(WEST, is_trial=True)))
    split.asked()
    split.plan({WEST: 4, EAST: 1})
    assert [(each.subcluster, each.count) for each in split.effects(Propose)] == [(WEST, 1), (EAST, 1)]
    split.verdict(WEST, 1, 1)
    split.verdict(EAST, 2, 1)
    assert split.asked() == {WEST: 1, EAST: 4}, "the rest waits at home alone"
    split.plan({WEST: 3})
    assert split.effects(Propose) == [], "one is under way"


def test_without_a_plan_nothing_tries():
    split = Split(5, capacities=(a_room(EAST, age_s=99.0), a_room(WEST, is_trial=True)))
    assert split.asked() == {EAST: 5}


# ---------------------------------------------------------------------- calls that are taken back


def test_a_plan_outlives_the_call_that_is_taken_back_and_goes_with_the_next_split():
    state = Split(0)
    book = AskBook(groups=state.splitter.groups)
    book.tell([Ask(KEY, ANY, 1)], {})
    book.split(state.splitter, CAPACITIES)
    before = book.snapshot([KEY])
    book.tell([Ask(KEY, ANY, 3)], {})
    book.split(state.splitter, CAPACITIES)
    state.plan({EAST: 3})
    state.splitter.drain()
    book.restore(before)
    (group,) = book.groups
    assert (group.wanted, group.tentative()) == (1, {EAST: 3})
    book.split(state.splitter, CAPACITIES)
    assert group.targets == {EAST: 1}
    assert [each.withdrawn for each in state.splitter.drain() if isinstance(each, SettleAllocation)] == [2]


def test_what_a_call_that_is_taken_back_asked_for_first_is_withdrawn():
    state = Split(0)
    book = AskBook(groups=state.splitter.groups)
    before = book.snapshot([KEY])
    book.tell([Ask(KEY, ANY, 2)], {})
    book.split(state.splitter, CAPACITIES)
    state.plan({EAST: 2})
    state.splitter.drain()
    book.restore(before)
    assert [(group.wanted, group.tentative()) for group in book.groups] == [(0, {EAST: 2})]
    book.split(state.splitter, CAPACITIES)
    settled, published = state.splitter.drain()
    assert (published.dropped, settled.withdrawn) == ((KEY,), 2)
    state.plan({EAST: 2})
    assert state.splitter.drain() == [], "no plan is taken in for what nobody asks for"
    book.forget_quiet([])
    assert book.groups == ()
