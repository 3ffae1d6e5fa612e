"""Within a queue lent containers, and no others, go back to who gave and needs them."""

from collections import Counter
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from shim.domain.allocations import AskKey
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.preemption import (
    AskingAttempt,
    HeldContainer,
    PreemptionSettings,
    PreemptionStage,
    QueueShare,
    ShareSnapshot,
)
from shim.domain.resources import ResourceVector
from shim.queues.core.lent import QueueJobHeld
from shim.queues.core.lent_recalls import LenderNeed, LentRecalls, need_of
from shim.queues.core.preemption_effects import Step

EAST, WEST = SubClusterId("east"), SubClusterId("west")
LENDER, BORROWER = (ApplicationAttemptId(ApplicationId(1, number), 1) for number in (1, 2))
UNIT = ResourceVector(1024, 1)
TOTAL = ResourceVector(8 * 1024, 8)
ETL = "root.etl"
PATIENCE = PreemptionSettings(preempt_after_s=2, preempt_grace_s=4, settle_s=3, stuck_s=100)


def a_container(number, *, owner=BORROWER, at=EAST, since_s=900.0, lent=True, size=UNIT, told=True):
    return HeldContainer(ContainerId(owner, number), ETL, at, NodeId(at, 1), size, since_s, told, is_lent=lent)


@dataclass
class Queue:
    """A preemptable queue of two jobs; the lender may have containers in the east."""

    held: list[HeldContainer]
    needs: int = 0
    budget: int = 10
    is_open: bool = True
    is_fresh: bool = True
    at_s: float = 1000.0
    busy: set[ContainerId] = field(default_factory=set)
    core: LentRecalls = field(default_factory=lambda: LentRecalls(PATIENCE))

    def look(self, seconds: int = 1) -> list[tuple[str, int]]:
        """What was done in so many looks, a second from one to the next."""
        done: list[Step] = []
        for _ in range(seconds):
            self.at_s += 1
            queue = QueueShare(ETL, TOTAL, TOTAL, {}, may_be_taken_from=self.is_open, budget=self.budget)
            lender = AskingAttempt(LENDER, ETL, UNIT, frozenset({EAST}))
            now = ShareSnapshot(
                self.at_s, TOTAL, (queue,), tuple(self.held), (lender,), {EAST: self.at_s}, is_fresh=self.is_fresh
            )
            needs = [LenderNeed(LENDER, ETL, UNIT, self.needs)] if self.needs else []
            done += self.core.handle(now, needs, {ETL: self.budget} if self.is_open else {}, self.busy)
        return [(step.stage.value, step.container.id.number) for step in done]


def test_the_youngest_that_was_lent_is_asked_back_at_once_and_then_released():
    queue = Queue([a_container(2, since_s=900), a_container(3, since_s=950), a_container(4, since_s=990, lent=False)])
    queue.needs = 1
    assert queue.look() == [("asked back", 3)]
    assert queue.look(2) == [("demanded", 3)]
    assert queue.look(2) == [("released", 3)]
    queue.held = [each for each in queue.held if each.id.number != 3]
    assert queue.look(2) == [], "its room is on its way"
    assert queue.look(2) == [("asked back", 2)], "somebody else had it"


def test_what_the_lender_does_not_need_any_more_is_spared():
    queue = Queue([a_container(2), a_container(3)], needs=2)
    assert Counter(stage for stage, _ in queue.look()) == {"asked back": 2}
    queue.needs = 1
    assert queue.look() == [("spared", 2)]
    queue.needs = 0
    assert queue.look() == [("spared", 3)]
    assert not queue.core.victims


def test_what_was_released_is_not_spared_and_a_queue_that_is_closed_gives_nothing():
    queue = Queue([a_container(2)], needs=1)
    assert queue.look(6)[-1] == ("released", 2)
    queue.is_open = False
    assert queue.look() == []
    closed = Queue([a_container(2), a_container(3)], needs=1)
    closed.look()
    closed.is_open = False
    assert closed.look() == [("spared", 2)]


def test_only_what_fits_where_the_lender_may_have_it_and_nobody_else_is_taking():
    others = [
        a_container(1),  # an ApplicationMaster's
        a_container(2, owner=LENDER),
        a_container(3, at=WEST),
        a_container(4, size=ResourceVector(512, 1)),
        a_container(5, told=False),
        a_container(6, lent=False),
        a_container(7),
    ]
    queue = Queue(others, needs=5, busy={ContainerId(BORROWER, 7)})
    assert queue.look(10) == []
    queue.busy.clear()
    assert queue.look() == [("asked back", 7)]


def test_while_a_cluster_does_not_tell_how_it_is_nothing_is_done():
    queue = Queue([a_container(2)], needs=1, is_fresh=False)
    assert queue.look(5) == []


def test_a_lender_needs_what_it_asks_for_within_its_share():
    large = AskKey(4, -1, is_opportunistic=False, resource=ResourceVector(2048, 1))
    small = AskKey(5, -1, is_opportunistic=False, resource=UNIT)
    job = QueueJobHeld(LENDER, [(ContainerId(LENDER, 2), UNIT)], share=0.5, given=0.0)
    assert need_of(ETL, job, {small: 9}, TOTAL) == LenderNeed(LENDER, ETL, UNIT, 3)
    assert need_of(ETL, job, {small: 2}, TOTAL) == LenderNeed(LENDER, ETL, UNIT, 2)
    assert need_of(ETL, job, {small: 9, large: 1}, TOTAL) == LenderNeed(LENDER, ETL, large.resource, 1)
    assert need_of(ETL, job, {small: 0}, TOTAL) is None
    full = QueueJobHeld(LENDER, [(ContainerId(LENDER, number), UNIT) for number in range(2, 6)], 0.5, 0.0)
    assert need_of(ETL, full, {small: 9}, TOTAL) is None


LOOKS = st.lists(
    st.tuples(st.integers(0, 4), st.booleans(), st.booleans(), st.integers(0, 3), st.integers(2, 9)), max_size=30
)


@given(LOOKS)
def test_in_any_order_of_events_stages_follow_each_other_and_budgets_hold(looks):
    queue = Queue([a_container(number, lent=number % 3 != 0, since_s=900.0 + number) for number in range(2, 10)])
    stage: dict[int, str] = {}
    before = {"asked back": None, "demanded": "asked back", "released": "demanded"}
    for needs, is_open, is_fresh, budget, gone in looks:
        queue.needs, queue.is_open, queue.is_fresh, queue.budget = needs, is_open, is_fresh, budget
        done = queue.look()
        assert sum(what == "asked back" for what, _ in done) <= min(needs, budget if is_open else 0)
        for what, number in done:
            assert number % 3, "it was not lent"
            if what == "spared":
                assert stage.pop(number) in {"asked back", "demanded"}
            else:
                assert stage.get(number) == before[what]
                stage[number] = what
        if stage.get(gone) == PreemptionStage.RELEASED.value:
            queue.held = [each for each in queue.held if each.id.number != gone]
            stage.pop(gone)
