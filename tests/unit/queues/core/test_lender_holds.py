"""Jobs at their shares ask for nothing more while a job of their queue that gave lacks containers of its own share."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.preemption import (
    AskingAttempt,
    HeldContainer,
    PreemptionSettings,
    PreemptionStage,
    QueueShare,
    ShareSnapshot,
    WaitingWork,
)
from shim.domain.resources import ResourceVector
from shim.queues.core.lender_holds import LenderHolds, with_holds
from shim.queues.core.lent_recalls import LenderNeed, LentRecalls
from shim.queues.core.preemption_effects import CapDemand, Step

EAST = SubClusterId("east")
LENDER, BORROWER, THIRD = (ApplicationAttemptId(ApplicationId(1, number), 1) for number in (1, 2, 3))
UNIT = ResourceVector(1024, 1)
PLACES = 12
TOTAL = UNIT.times(PLACES)
ETL = "root.etl"
PATIENCE = PreemptionSettings(preempt_after_s=2, preempt_grace_s=4, settle_s=3, idle_s=30, stale_s=10, stuck_s=100)


@dataclass
class Queue:
    """A preemptable queue of three jobs with a share of four places each; nothing is free unless `free` says so."""

    holds: dict[ApplicationAttemptId, int] = field(default_factory=lambda: {LENDER: 1, BORROWER: 9, THIRD: 2})
    needs: int = 3
    free: int = 0
    is_open: bool = True
    is_fresh: bool = True
    at_s: float = 1000.0
    shares: dict[ApplicationAttemptId, ResourceVector] = field(
        default_factory=lambda: dict.fromkeys((LENDER, BORROWER, THIRD), UNIT.times(4))
    )
    core: LenderHolds = field(default_factory=lambda: LenderHolds(PATIENCE))

    def snapshot(self) -> ShareSnapshot:
        waiting = {EAST: WaitingWork(UNIT, self.needs, self.free)} if self.needs else {}
        queue = QueueShare(ETL, TOTAL, TOTAL, waiting, may_be_taken_from=self.is_open, budget=10)
        containers = [
            HeldContainer(ContainerId(attempt, number), ETL, EAST, NodeId("n", 1), UNIT, 900.0)
            for attempt, count in self.holds.items()
            for number in range(1, count + 2)  # the first is its ApplicationMaster's
        ]
        attempts = tuple(AskingAttempt(attempt, ETL, UNIT.times(20)) for attempt in self.holds)
        return ShareSnapshot(
            self.at_s, TOTAL, (queue,), tuple(containers), attempts, {EAST: self.at_s}, is_fresh=self.is_fresh
        )

    def look(self, seconds: int = 1, served: frozenset[ApplicationAttemptId] = frozenset()) -> list[CapDemand]:
        """What is told in the last of so many looks, a second from one to the next."""
        told: list[CapDemand] = []
        for _ in range(seconds):
            self.at_s += 1
            needs = [LenderNeed(LENDER, ETL, UNIT, self.needs)] if self.needs else []
            told = self.core.handle(self.snapshot(), needs, self.shares, served)
        return told

    def limits(self, seconds: int = 1) -> dict[ApplicationAttemptId, int | None]:
        """Containers that each job may ask for, of those that are told."""
        return {
            each.attempt: None if each.amount is None else each.amount.memory_mib // UNIT.memory_mib
            for each in self.look(seconds)
        }


def test_who_has_its_share_asks_for_nothing_and_who_has_less_for_what_it_lacks():
    assert Queue().limits() == {BORROWER: 0, THIRD: 2}


def test_limits_are_lifted_once_and_reasons_are_told_when_they_begin_and_end():
    queue = Queue()
    assert [str(LENDER.application) in each.reason for each in queue.look()] == [True, True]
    assert [each.reason for each in queue.look()] == ["", ""]
    queue.needs = 0
    lifted = queue.look()
    assert {each.attempt: each.amount for each in lifted} == {BORROWER: None, THIRD: None}
    assert all(each.reason for each in lifted)
    assert queue.look() == []
    assert not queue.core.is_busy


def test_a_lender_that_leaves_what_is_free_is_not_waited_for():
    queue = Queue(free=3)
    assert queue.limits(29) == {BORROWER: 0, THIRD: 2}
    assert queue.limits(2) == {BORROWER: None, THIRD: None}
    assert queue.limits(60) == {}
    queue.holds[LENDER] += 1
    assert queue.limits() == {BORROWER: 0, THIRD: 2}, "it takes what it is given"


def test_a_lender_is_waited_for_while_nothing_is_free_or_its_containers_are_on_their_way_back():
    queue = Queue()
    assert queue.limits(300) == {BORROWER: 0, THIRD: 2}
    queue.free = 3
    assert queue.look(100, served=frozenset({LENDER})) != []


def test_who_has_no_known_share_and_queues_that_are_not_preemptable_are_left_alone():
    queue = Queue()
    del queue.shares[THIRD]
    assert queue.limits() == {BORROWER: 0}
    assert Queue(is_open=False).limits() == {}
    closed = Queue()
    closed.look()
    closed.is_open = False
    assert closed.limits() == {BORROWER: None, THIRD: None}


def test_while_a_cluster_does_not_tell_how_it_is_limits_stay_for_a_while():
    queue = Queue()
    queue.look()
    queue.is_fresh = False
    assert queue.limits(9) == {}
    assert queue.core.is_busy
    assert queue.limits() == {BORROWER: None, THIRD: None}


def test_of_two_limits_the_smaller_one_holds_until_both_are_lifted():
    step = Step(Queue().snapshot().containers[1], PreemptionStage.ASKED, "x", "y")
    one, two = UNIT, UNIT.times(2)
    ours, theirs = CapDemand(BORROWER, two, "ours"), CapDemand(BORROWER, one, "theirs")
    assert with_holds([step, theirs], {BORROWER: one}, [ours]) == [CapDemand(BORROWER, one, "ours"), step]
    lifted = CapDemand(BORROWER, None, "well")
    assert with_holds([theirs], {BORROWER: one}, [lifted]) == [theirs]
    assert with_holds([], {BORROWER: one}, [lifted]) == [CapDemand(BORROWER, one)], "between queues nothing is new"
    assert with_holds([lifted], {}, [CapDemand(BORROWER, two)]) == [CapDemand(BORROWER, two)]
    assert with_holds([lifted], {}, []) == [lifted]
    assert with_holds([step], {}, []) == [step]


@given(st.lists(st.booleans(), min_size=60, max_size=60), st.integers(1, 4), st.integers(0, 5))
def test_room_that_is_taken_back_goes_to_the_lender_whoever_the_leaf_queue_serves_first(borrower_first, lent, ends):
    """The borrower has its share of six and all that was lent; its tasks end but rarely, and it always wants more."""
    recalls, holds = LentRecalls(PATIENCE), LenderHolds(PATIENCE)
    shares = dict.fromkeys((LENDER, BORROWER), UNIT.times(PLACES // 2))
    mine = PLACES // 2 - lent
    theirs, marked = list(range(2, 2 + PLACES - mine)), set(range(2 + PLACES - mine - lent, 2 + PLACES - mine))
    newest, may_ask, had = 100, None, mine
    for look, first in enumerate(borrower_first):
        at_s = 1000.0 + look
        if ends and look % 20 == 19:
            theirs.pop(0)
            ends -= 1
        for whom in (BORROWER, LENDER) if first else (LENDER, BORROWER):
            free = PLACES - mine - len(theirs)
            wants = PLACES // 2 - mine if whom == LENDER else free if may_ask is None else may_ask
            count = min(free, wants)
            mine += count if whom == LENDER else 0
            theirs += range(newest, newest + (count if whom == BORROWER else 0))
            newest += PLACES
        need = PLACES // 2 - mine
        containers = tuple(
            HeldContainer(ContainerId(owner, number), ETL, EAST, NodeId("n", 1), UNIT, 900.0, is_lent=number in marked)
            for owner, numbers in ((BORROWER, theirs), (LENDER, range(1000, 1000 + mine)))
            for number in numbers
        )
        queue = QueueShare(
            ETL, TOTAL, TOTAL, {EAST: WaitingWork(UNIT, need)} if need else {}, may_be_taken_from=True, budget=10
        )
        places = frozenset({EAST})
        asking = tuple(AskingAttempt(owner, ETL, UNIT.times(20), places) for owner in (LENDER, BORROWER))
        now = ShareSnapshot(at_s, TOTAL, (queue,), containers, asking, {EAST: at_s})
        needs = [LenderNeed(LENDER, ETL, UNIT, need)] if need else []
        for step in recalls.handle(now, needs, {ETL: 10}, ()):
            if step.stage is PreemptionStage.RELEASED:
                theirs.remove(step.container.id.number)
        told = {each.attempt: each.amount for each in holds.handle(now, needs, shares, recalls.lenders)}
        amount = told.get(BORROWER, may_ask if may_ask is None else UNIT.times(may_ask))
        may_ask = None if amount is None else amount.memory_mib // UNIT.memory_mib
        assert mine >= had, "what the lender has is not taken from it"
        had = mine
    assert mine == PLACES // 2
    assert len(theirs) == PLACES // 2 or may_ask is None
