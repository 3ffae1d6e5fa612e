"""A splitter that carries plans out, for asks with a placement constraint: who is asked, for how many at most."""

from dataclasses import replace

from shim.domain.allocations import (
    AskKey,
    ClaimedCapacity,
    ConstraintHandling,
    PendingRequest,
    PlacementConstraint,
    RequestPlan,
    TagCounts,
)
from shim.domain.ids import SubClusterId
from shim.domain.launches import LaunchVerdict, Verdict
from shim.domain.resources import ResourceVector
from shim.multicluster.core import ClusterCapacity
from shim.multicluster.core.events import AllocationsVerified, Planned, Propose, PublishRequests
from shim.multicluster.core.planned import PlannedSplitter
from shim.multicluster.core.splitter import SplitSettings
from tests.doubles.settings import usual

EAST, WEST, NORTH = SubClusterId("east"), SubClusterId("west"), SubClusterId("north")
BOTH = frozenset({EAST, WEST})
WEB = frozenset({"web"})
APART = PlacementConstraint(WEB, b"apart", most_a_node=1, is_local=True)
BESIDE = PlacementConstraint(frozenset({"cache"}), b"beside", needs=WEB, is_local=True)
MUCH = ResourceVector(64 * 1024, 64)


def a_key(placement=APART, number=7):
    return AskKey(3, number, is_opportunistic=False, resource=ResourceVector(1024, 1), placement=placement)


def a_room(name, **more):
    values = {"is_home": name == EAST, "size": MUCH, "free": MUCH, "largest": MUCH, "nodes": 2}
    return ClusterCapacity(name, **(values | {"constraints": ConstraintHandling.TOTALS} | more))


CAPACITIES = (a_room(EAST), a_room(WEST))


class Split:
    def __init__(self, wanted, capacities=CAPACITIES, placement=APART, held=None, **demand):
        self.splitter = PlannedSplitter(usual(SplitSettings, move_after_beats=3))
        self.key = a_key(placement)
        self.claimed = ClaimedCapacity()
        self.demand = PendingRequest(self.key, wanted, tags=TagCounts(held or {}, self.claimed), **demand)
        self.capacities = capacities

    def asked(self, **demand):
        self.demand = replace(self.demand, **demand)
        return dict(self.splitter.split(self.demand, self.capacities))

    def plan(self, starts=(), may_queue=BOTH):
        self.splitter.take(Planned((RequestPlan(self.key, dict(starts), frozenset(may_queue)),)))

    def proposed(self):
        return {effect.subcluster: effect for effect in self.splitter.drain() if isinstance(effect, Propose)}

    def row(self):
        return [effect for effect in self.splitter.drain() if isinstance(effect, PublishRequests)][-1].requests[-1]


def test_they_wait_for_their_plan_as_all_asks_do_with_what_their_constraint_leaves_to_each_cluster():
    split = Split(3, held={WEST: {WEB: 1}})
    assert split.asked() == {}
    assert split.splitter.awaits_plan
    row = split.row()
    assert (row.wanted, row.may_use, row.most_at, row.local) == (3, BOTH, {EAST: 2, WEST: 1}, {EAST: 3})


def test_a_plan_is_carried_out_where_it_says():
    split = Split(3)
    split.asked()
    split.plan({EAST: 1, WEST: 2}, may_queue=())
    (proposal,) = [each for each in split.proposed().values() if each.subcluster == WEST]
    assert split.asked() == {EAST: 1}
    split.splitter.take(AllocationsVerified((LaunchVerdict(WEST, proposal.number, Verdict.ACCEPTED, 2),)))
    assert split.asked() == {EAST: 1, WEST: 2}


def test_what_waits_at_schedulers_is_no_more_than_nodes_may_have_but_at_home():
    for wanted, asked in ((2, {EAST: 2}), (3, {EAST: 2, WEST: 1}), (6, {EAST: 4, WEST: 2})):
        split = Split(wanted)
        split.asked()
        split.plan()
        assert split.asked() == asked
    split = Split(2)
    split.claimed.add(a_key(number=8), {EAST: 1})
    split.asked()
    split.plan()
    assert split.asked() == {EAST: 1, WEST: 1}, "another ask of the application has a node of the home"


def test_who_rejected_it_is_planned_for_no_more_and_keeps_no_promise():
    split = Split(2)
    split.asked()
    split.plan({EAST: 2}, may_queue=())
    assert split.asked() == {EAST: 2}
    split.splitter.drain()
    assert split.asked(rejected=frozenset({EAST})) == {}
    assert split.row().may_use == {WEST}
    split.plan()
    assert split.asked() == {WEST: 2}


def test_who_cannot_judge_it_is_not_planned_for():
    for placement, held, may_use in (
        (replace(APART, is_local=False), {}, {EAST}),
        (BESIDE, {}, {EAST}),
        (BESIDE, {WEST: {WEB: 1}}, {WEST}),
        (BESIDE, {WEST: {WEB: 1}, EAST: {WEB: 2}}, BOTH),
    ):
        split = Split(2, placement=placement, held=held)
        split.asked()
        row = split.row()
        assert (row.may_use, row.most_at) == (may_use, {} if placement is BESIDE else {EAST: 2})
    split = Split(2, (a_room(EAST), a_room(WEST, constraints=ConstraintHandling.NONE)))
    split.asked()
    assert split.row().may_use == {EAST}


def test_by_an_old_view_they_are_split_by_capacity_as_without_plans():
    split = Split(3, (a_room(EAST), a_room(WEST, age_s=999.0)))
    assert split.asked() == {EAST: 2, WEST: 1}
    assert not split.splitter.awaits_plan
