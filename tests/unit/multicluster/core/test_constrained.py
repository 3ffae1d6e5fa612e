"""Where asks with a placement constraint go, and what becomes of those that a scheduler rejects."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.allocations import (
    ANY,
    AllocateAnswer,
    AllocateCall,
    Ask,
    AskKey,
    ConstraintHandling,
    Grant,
    PendingRequest,
    PlacementConstraint,
    RejectedAsk,
    TagCounts,
)
from shim.domain.gangs import Gang
from shim.domain.ids import ContainerId, NodeId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.multicluster.core import (
    AMCalled,
    AMRegistered,
    AnswerAM,
    AskLedger,
    CallSession,
    CapacitySplitter,
    ClusterCapacity,
    OpenSession,
    SessionAnswered,
    SessionOpened,
)
from shim.multicluster.core.splitter import free_elsewhere, split_constrained
from tests.support.ledger_talk import ATTEMPT

EAST, WEST, NORTH = SubClusterId("east"), SubClusterId("west"), SubClusterId("north")
TOTALS, ADDS, NONE = ConstraintHandling.TOTALS, ConstraintHandling.ADDS, ConstraintHandling.NONE
WEB = frozenset({"web"})
APART = PlacementConstraint(WEB, b"apart", most_a_node=1, is_local=True)
PATIENCE = 3


def a_room(name=EAST, free=10, **more):
    gib = ResourceVector(1024 * free, free)
    much = ResourceVector(64 * 1024, 64)
    values = {"is_home": name == EAST, "free": gib, "size": much, "largest": much, "nodes": 2, "constraints": TOTALS}
    return ClusterCapacity(name, **(values | more))


def a_key(placement=APART, **more):
    values = {"is_opportunistic": False, "resource": ResourceVector(1024, 1), "placement": placement} | more
    return AskKey(3, 7, **values)


def split(total, *capacities, placement=APART, held=None, **more):
    demand = PendingRequest(a_key(placement), total, tags=TagCounts(held or {}), **more)
    return dict(split_constrained(demand, capacities, PATIENCE))


def test_the_home_is_asked_for_what_its_nodes_can_hold_and_others_for_the_rest():
    capacities = [a_room(EAST), a_room(WEST, nodes=3)]
    assert split(2, *capacities) == {EAST: 2}
    assert split(4, *capacities) == {EAST: 2, WEST: 2}
    assert split(9, *capacities) == {EAST: 6, WEST: 3}, "what no node is left for waits at home"
    assert split(2, *capacities, held={EAST: {WEB: 1, WEB | {"x"}: 1, frozenset({"y"}): 1}}) == {WEST: 2}
    two = replace(APART, most_a_node=2)
    assert split(9, *capacities, placement=two, held={WEST: {WEB: 1}}) == {EAST: 4, WEST: 5}
    assert split(12, *capacities, placement=two, held={WEST: {WEB: 1}}) == {EAST: 7, WEST: 5}
    assert split(4, a_room(EAST, 1), a_room(WEST, 9), placement=PlacementConstraint(is_local=True)) == {
        EAST: 1,
        WEST: 3,
    }


@pytest.mark.parametrize(
    "closed",
    [{"constraints": NONE}, {"constraints": None}, {"is_open": False}, {"weight": 0.0}, {"largest": ResourceVector(8)}],
)
def test_a_cluster_that_cannot_judge_or_hold_them_is_not_asked(closed):
    assert split(4, a_room(EAST), a_room(WEST, **closed)) == {EAST: 4}


def test_what_needs_knowledge_of_other_clusters_stays_at_home():
    capacities = [a_room(EAST, 0), a_room(WEST)]
    assert split(4, *capacities, placement=replace(APART, is_local=False)) == {EAST: 4}
    demand = PendingRequest(a_key(is_opportunistic=True), 4)
    assert split_constrained(demand, capacities, PATIENCE) == {EAST: 4}
    assert split(4, *capacities, refused=frozenset({WEST})) == {EAST: 4}


def test_affinity_goes_where_the_tags_are_and_stays_at_home_without_any():
    beside = PlacementConstraint(frozenset({"cache"}), b"beside", needs=WEB, is_local=True)
    capacities = [a_room(EAST), a_room(WEST), a_room(NORTH)]
    assert split(4, *capacities, placement=beside) == {EAST: 4}
    assert split(4, *capacities, placement=beside, held={WEST: {WEB: 1}}) == {WEST: 4}
    assert split(12, *capacities, placement=beside, held={WEST: {WEB: 1}, EAST: {WEB: 1}}) == {EAST: 10, WEST: 2}


def test_requests_for_one_container_each_share_the_nodes_and_the_room_of_the_home():
    """As DistributedShell asks: each has an allocation request id of its own."""
    talk = Talk(home=TOTALS, west=TOTALS)
    asks = [Ask(replace(a_key(), allocation_request_id=number), ANY, 1) for number in range(3)]
    talk.rounds(*asks)
    assert [ask.key.allocation_request_id for ask in talk.said[EAST].asks if ask.count] == [0, 1]
    talk.tell(SessionOpened(WEST))
    assert [ask.key.allocation_request_id for ask in talk.said[WEST].asks if ask.count] == [2]
    large = replace(a_key(PlacementConstraint(is_local=True)), resource=ResourceVector(8 * 1024, 8))
    talk = Talk(home=TOTALS, west=TOTALS)
    talk.rounds(*(Ask(replace(large, allocation_request_id=number), ANY, 1) for number in range(2)))
    assert [ask.key.allocation_request_id for ask in talk.said[EAST].asks if ask.count] == [0]
    assert talk.opened == [WEST]


def test_what_waits_too_long_moves_to_where_there_is_room_and_what_was_rejected_is_not_asked_again():
    capacities = [a_room(EAST), a_room(WEST)]
    waiting = {"standing": {EAST: 2}, "starved": {EAST: PATIENCE}}
    assert split(2, *capacities, **waiting) == {WEST: 2}
    assert split(2, *capacities, **(waiting | {"starved": {EAST: PATIENCE - 1}})) == {EAST: 2}
    assert split(2, a_room(EAST), a_room(WEST, 1), **waiting) == {EAST: 1, WEST: 1}
    assert split(2, *capacities, rejected=frozenset({EAST})) == {WEST: 2}
    assert split(2, *capacities, rejected=frozenset({EAST, WEST})) == {EAST: 2}
    assert split(1, *capacities, standing={EAST: 2, WEST: 1}) == {EAST: 1}, "less is asked for elsewhere first"


def test_what_could_be_asked_elsewhere_is_what_fits_where_nobody_rejected_it():
    capacities = [a_room(EAST), a_room(WEST, nodes=5)]
    demand = PendingRequest(
        a_key(), 9, rejected=frozenset({EAST}), standing={WEST: 1}, tags=TagCounts({WEST: {WEB: 1}})
    )
    assert free_elsewhere(demand, capacities) == 3
    assert free_elsewhere(replace(demand, rejected=frozenset({EAST, WEST})), capacities) == 0
    assert free_elsewhere(replace(demand, rejected=frozenset({WEST})), capacities) > 9


@given(
    total=st.integers(1, 20),
    frees=st.lists(st.integers(0, 9), min_size=3, max_size=3),
    standing=st.dictionaries(st.sampled_from([EAST, WEST, NORTH]), st.integers(0, 9)),
    starved=st.dictionaries(st.sampled_from([EAST, WEST, NORTH]), st.integers(0, 5)),
    rejected=st.frozensets(st.sampled_from([EAST, WEST, NORTH])),
    handling=st.sampled_from(ConstraintHandling),
)
def test_a_split_adds_up_and_asks_only_who_may_be_asked(total, frees, standing, starved, rejected, handling):
    rooms = [a_room(name, free) for name, free in zip((EAST, WEST, NORTH), frees, strict=True)]
    rooms[2] = replace(rooms[2], constraints=handling)
    found = split(total, *rooms, standing=standing, starved=starved, rejected=rejected)
    assert sum(found.values()) == total
    assert all(count > 0 for count in found.values())
    assert handling is not NONE or NORTH not in found
    assert not found.keys() & rejected or found == {EAST: total}


# ------------------------------------------------------------------ in the ledger


class Talk:
    """A ledger whose home and the west judge constraints, and what it says."""

    def __init__(self, home=ADDS, west=ADDS, gang=None):
        self.capacities = (a_room(EAST, constraints=home), a_room(WEST, constraints=west))
        self.ledger = AskLedger(ATTEMPT, EAST, CapacitySplitter(), gang, PATIENCE)
        self.said, self.answered, self.opened = {}, None, []
        self.ids = {EAST: 0, WEST: 0}
        self.tell(AMRegistered())

    def tell(self, event):
        for effect in self.ledger.handle(event):
            match effect:
                case CallSession(name, request):
                    self.said[name] = request
                case OpenSession(name):
                    self.opened.append(name)
                case AnswerAM(answer):
                    self.answered = answer

    def asks(self, *asks):
        self.tell(
            AMCalled(AllocateCall(0 if self.answered is None else self.answered.response_id, asks), self.capacities)
        )

    def hears(self, name, *grants, rejected=()):
        self.ids[name] += 1
        answer = AllocateAnswer(self.ids[name], grants, rejected=tuple(rejected))
        self.tell(SessionAnswered(name, self.said[name].serial, answer))
        return self.answered

    def rounds(self, *asks, grants=(), rejected=()):
        self.asks(*asks)
        return self.hears(EAST, *grants, rejected=rejected)

    def counts(self, name):
        return [ask.count for ask in self.said[name].asks]


def a_grant(number, host="e1", tags=WEB, epoch=0):
    container = ContainerId(ATTEMPT, (epoch << 40) | number)
    return Grant(container, NodeId(host, 1), 3, 7, ResourceVector(1024, 1), tags=tags)


def a_rejection(count, tags=WEB):
    return RejectedAsk(3, 7, tags, count, reason=0, raw=b"as the scheduler wrote it")


WANTED = Ask(a_key(), ANY, 2, raw=b"as it was asked")


def test_what_the_home_grants_is_handed_on_and_counted_down():
    talk = Talk(home=TOTALS)
    talk.rounds(WANTED)
    assert talk.counts(EAST) == [2]
    assert talk.said[EAST].asks == (WANTED,), "in the words of the ApplicationMaster"
    answer = talk.rounds(grants=[a_grant(2)])
    assert [grant.container.number for grant in answer.grants] == [2]
    answer = talk.rounds(grants=[a_grant(3), a_grant(4)])
    assert [grant.container.number for grant in answer.grants] == [3]
    talk.asks()
    assert [container.number for container in talk.said[EAST].releases] == [4], "nobody asked for a third"


def test_a_grant_that_comes_with_the_answer_to_a_new_count_is_off_what_was_added_up():
    talk = Talk(west=NONE)
    talk.rounds(WANTED, grants=[a_grant(2)])
    talk.rounds(replace(WANTED, count=1))
    assert talk.counts(EAST) == [1], "one of two is left, and one more is wanted"


def test_a_grant_is_for_the_asks_with_its_tags():
    plain = AskKey(3, 7, is_opportunistic=False, resource=ResourceVector(1024, 1))
    talk = Talk()
    talk.rounds(Ask(plain, ANY, 1), WANTED)
    talk.rounds(grants=[a_grant(2, tags=frozenset()), a_grant(3), a_grant(4)])
    assert not talk.ledger.holdings.asks
    talk.rounds(Ask(plain, ANY, 1))
    answer = talk.rounds(grants=[a_grant(5)])
    assert not answer.grants, "it was granted for asks with tags"
    assert talk.ledger.holdings.asks == {plain: 1}


def test_a_home_that_adds_up_is_asked_only_for_more_and_its_counts_mean_more():
    talk = Talk()
    talk.rounds(WANTED)
    assert talk.counts(EAST) == [2]
    talk.rounds()
    assert talk.counts(EAST) == []
    talk.rounds(replace(WANTED, count=1), grants=[a_grant(2)])
    assert talk.ledger.holdings.asks == {WANTED.key: 2}
    assert talk.opened == [WEST], "the nodes of the home are claimed"


def test_a_home_that_takes_totals_is_told_the_new_total():
    talk = Talk(home=TOTALS)
    talk.rounds(WANTED)
    talk.rounds(replace(WANTED, count=1))
    assert talk.counts(EAST) == [1]
    assert talk.ledger.holdings.asks == {WANTED.key: 1}
    talk.rounds(replace(WANTED, count=0))
    assert talk.counts(EAST) == [0]


def test_a_rejection_of_all_who_may_be_asked_is_told_to_the_am():
    talk = Talk(west=NONE)
    talk.rounds(WANTED)
    answer = talk.rounds(rejected=[a_rejection(2)])
    assert answer.rejected == (replace(a_rejection(2), raw=b"as it was asked"),)
    assert not talk.ledger.holdings.asks
    answer = talk.rounds(WANTED)
    assert talk.counts(EAST) == [2], "asked again, the home is"
    assert not answer.rejected


def test_what_the_home_rejects_is_asked_elsewhere_and_only_then_rejected():
    talk = Talk()
    talk.rounds(WANTED)
    answer = talk.rounds(rejected=[a_rejection(2)])
    assert not answer.rejected
    talk.rounds()
    assert talk.opened == [WEST]
    talk.tell(SessionOpened(WEST))
    assert [(ask.count, ask.raw) for ask in talk.said[WEST].asks] == [(2, b"")], "made with what was registered"
    talk.hears(WEST, a_grant(2, "w1", epoch=200), rejected=[a_rejection(1)])
    answer = talk.rounds()
    assert [grant.node.host for grant in answer.grants] == ["w1"]
    assert [each.count for each in answer.rejected] == [1]
    assert not talk.ledger.holdings.asks


def test_more_is_rejected_than_is_wanted_only_by_the_scheduler():
    talk = Talk(west=NONE)
    talk.rounds(WANTED)
    answer = talk.rounds(grants=[a_grant(2)], rejected=[a_rejection(2), a_rejection(2, tags=frozenset({"db"}))])
    assert [each.count for each in answer.rejected] == [1]
    answer = talk.rounds(rejected=[a_rejection(2)])
    assert not answer.rejected


def test_a_rejection_that_the_am_has_not_heard_is_not_told_after_it_asks_for_all_again():
    talk = Talk()
    talk.rounds(WANTED)
    talk.rounds(rejected=[a_rejection(2)])
    talk.rounds()
    talk.tell(SessionOpened(WEST))
    talk.hears(WEST, rejected=[a_rejection(2)])
    talk.tell(AMRegistered(talk.ids[EAST]))
    talk.answered = None
    assert not talk.rounds(WANTED).rejected


@pytest.mark.parametrize("home", [TOTALS, ADDS])
def test_what_is_on_its_way_when_all_is_asked_for_again_is_not_asked_for_twice(home):
    talk = Talk(home=home)
    talk.rounds(replace(WANTED, count=4))
    talk.tell(SessionOpened(WEST))
    talk.hears(WEST, a_grant(2, "w1", epoch=200))
    talk.ids[EAST] = 0
    talk.tell(AMRegistered())
    talk.answered = None
    answer = talk.rounds(replace(WANTED, count=4))
    assert [grant.node.host for grant in answer.grants] == ["w1"]
    assert talk.ledger.holdings.asks == {WANTED.key: 3}


def test_asks_with_a_placement_are_no_part_of_a_gang():
    talk = Talk(gang=Gang(2, 60.0))
    plain = AskKey(9, -1, is_opportunistic=False, resource=ResourceVector(1024, 1))
    talk.rounds(WANTED)
    assert talk.counts(EAST) == [2], "the gang is not asked for yet"
    answer = talk.rounds(Ask(plain, ANY, 2), grants=[a_grant(2), a_grant(3)])
    assert [grant.container.number for grant in answer.grants] == [2, 3], "nothing holds them back"
    gang = replace(a_grant(4), priority=9, allocation_request_id=-1, tags=frozenset())
    assert not talk.rounds(grants=[gang]).grants


def test_another_cluster_is_not_told_of_requests_that_it_would_refuse():
    talk = Talk(home=TOTALS, west=NONE)
    plain = AskKey(9, -1, is_opportunistic=False, resource=ResourceVector(1024, 1))
    talk.rounds(WANTED, Ask(plain, ANY, 20))
    talk.tell(SessionOpened(WEST))
    assert {ask.key for ask in talk.said[WEST].asks} == {plain}
