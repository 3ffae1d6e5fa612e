"""A ledger that carries out plans: whatever plans and verdicts say, and however late, each ask is in one place.

The ledger, the schedulers and the ApplicationMaster are those of `test_relay_ledger`. Plans are arbitrary: they start
more than is wanted, on sub-clusters that are not there, and are late; Local Masters accept a part, or do not answer.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from shim.domain.allocations import RequestPlan
from shim.domain.launches import LaunchVerdict, Verdict
from shim.multicluster.core import AMCalled
from shim.multicluster.core.events import (
    AllocationsExpired,
    AllocationsVerified,
    ContainerBegan,
    ContainerEnded,
    ContainerGranted,
    ExpiredAllocation,
    LeftQueue,
    PlanEffect,
    Planned,
    Proceed,
    Propose,
    PublishRequests,
    SettleAllocation,
)
from shim.multicluster.core.planned import PlannedSplitter
from shim.multicluster.core.splitter import SplitSettings
from tests.doubles.settings import usual
from tests.property.test_relay_ledger import CAPACITIES, HOME, KEYS, NAMES, Relay
from tests.support.examples import examples

PATIENCE = 2
A_PLAN = st.tuples(
    st.dictionaries(st.sampled_from([*NAMES, "nowhere"]), st.integers(0, 5), max_size=3),
    st.frozensets(st.sampled_from(NAMES)),
    st.dictionaries(st.sampled_from(NAMES), st.integers(0, 3), max_size=2),
)
EVERYWHERE: tuple[dict[str, int], frozenset[str], dict[str, int]] = ({}, frozenset(NAMES), {})


class PlannedRelay(Relay):
    """Plans come from hypothesis; `rows` are what the queue's cycle would have, `proposed` what Local Masters have."""

    keys = KEYS

    def a_splitter(self):
        self.rows, self.proposed, self.settled, self.honoured = {}, {}, {}, {}
        self.splitter = PlannedSplitter(usual(SplitSettings, move_after_beats=PATIENCE))
        return self.splitter

    def a_splitter_again(self):
        return PlannedSplitter(usual(SplitSettings, move_after_beats=PATIENCE))

    def tell(self, event):
        super().tell(event)
        if self.carry_all_out(self.log[-1][1]):
            self.plan(*getattr(self, "next_plan", EVERYWHERE))
            if isinstance(event, AMCalled):
                super().tell(Proceed())
                assert not self.carry_all_out(self.log[-1][1]), "a call is planned once"

    def carry_all_out(self, effects):
        """Whether a plan is wanted at once. Verdicts are events: they come when all that was to be done is done."""
        wishes = [self.carry_out(effect) for effect in effects]
        for effect in effects:
            if isinstance(effect, Propose):
                self.answer_proposal(effect.number)
        return any(wishes)

    def carry_out(self, effect):
        match effect:
            case PublishRequests(requests, dropped, is_urgent):
                self.rows |= {row.key: row for row in requests}
                for key in dropped:
                    del self.rows[key]
                return is_urgent
            case Propose(subcluster, number, key, count):
                assert number not in self.proposed, "each number is given once"
                assert count > 0
                self.proposed[number] = (subcluster, key, count)
            case SettleAllocation(subcluster, number, honoured, withdrawn):
                before = self.settled.get(number, (0, 0))
                assert before[0] <= honoured
                assert before[1] <= withdrawn
                assert honoured + withdrawn <= self.proposed[number][2]
                self.settled[number] = (honoured, withdrawn)
            case PlanEffect():
                assert isinstance(effect, ContainerGranted | ContainerBegan | ContainerEnded | LeftQueue)
        return False

    def plan(self, starts, may_queue, at_most):
        self.at_most = at_most
        plans = tuple(
            RequestPlan(
                key,
                starts,
                may_queue & row.may_use,
                {name: most for name, most in at_most.items() if name in may_queue & row.may_use},
            )
            for key, row in self.rows.items()
        )
        super().tell(Planned(plans))
        self.carry_all_out(self.log[-1][1])

    def answer_proposal(self, number, accepted=None, *, is_late=False):
        accepts = getattr(self, "accepts", None)
        if accepts is None and not is_late:
            self.waiting = [*getattr(self, "waiting", ()), number]
            return
        subcluster, _, count = self.proposed[number]
        accepted = min(count, accepts if accepted is None else accepted)
        word = Verdict.ACCEPTED if accepted == count else Verdict.REJECTED
        self.tell(AllocationsVerified((LaunchVerdict(subcluster, number, word, accepted),)))

    # ------------------------------------------------------------ what the world does

    @rule(plan=A_PLAN)
    def the_next_plan_will_be(self, plan):
        self.next_plan = plan

    @rule(plan=A_PLAN)
    def a_cycle_runs(self, plan):
        if hasattr(self, "ledger"):
            self.plan(*plan)

    @rule(accepts=st.one_of(st.none(), st.integers(0, 3)))
    def local_masters_accept(self, accepts):
        """At most so many of each proposal, at once; None: later."""
        self.accepts = accepts

    @rule(pick=st.integers(0, 99), accepted=st.one_of(st.none(), st.integers(0, 5)))
    def a_verdict_arrives(self, pick, accepted):
        waiting = getattr(self, "waiting", [])
        waiting = [number for number in waiting if number in self.proposed] if waiting else []
        if not waiting:
            return
        number = waiting[pick % len(waiting)]
        self.waiting.remove(number)
        if accepted is None:
            self.tell(AllocationsVerified((LaunchVerdict(self.proposed[number][0], number, Verdict.UNVERIFIED, 0),)))
        else:
            self.answer_proposal(number, accepted, is_late=True)

    @rule(pick=st.integers(0, 99), count=st.integers(1, 3))
    def an_allocation_expires(self, pick, count):
        if getattr(self, "proposed", None):
            numbers = sorted(self.proposed)
            number = numbers[pick % len(numbers)]
            self.tell(AllocationsExpired((ExpiredAllocation(self.proposed[number][0], number, count),)))

    @rule(
        plan=A_PLAN,
        accepts=st.integers(0, 6),
        key=st.sampled_from(KEYS),
        wants=st.integers(2, 6),
        less=st.integers(0, 5),
        script=st.lists(st.sampled_from(range(64)), max_size=8),
    )
    def lives_by_plans(self, plan, accepts, key, wants, less, script):
        """Asks, has them planned and granted in part, and wants less: single rules seldom get that far."""
        self.next_plan, self.accepts = plan, accepts
        self.wants_more(key, wants)
        for each in (self.calls_or_repeats, self._all_arrives, self.takes_if_there):
            each()
        self.lives_on(script)
        self.wants_less(key, less)
        for each in (self.calls_or_repeats, self._all_arrives, self.takes_if_there):
            each()

    def _all_arrives(self):
        for name in sorted(self.opening):
            self._open(name)
        for name in NAMES:
            if name in self.wires:
                self._deliver(name)
            while self.answers[name]:
                self._hear(name)

    @invariant()
    def what_is_asked_for_and_awaited_is_never_more_than_what_is_wanted(self):
        for row in getattr(self, "rows", {}).values():
            assert sum(row.tentative.values()) + sum(row.queued.values()) <= row.wanted
            assert row.key in self.keys
            assert set(row.tentative) | set(row.queued) <= row.may_use

    def _settle(self):
        self.accepts, self.next_plan = 99, EVERYWHERE
        for number in getattr(self, "waiting", ()):
            if number in self.proposed:
                self.answer_proposal(number, 99, is_late=True)
        self.waiting = []
        self.plan(*self.next_plan)
        super()._settle()

    def teardown(self):
        super().teardown()
        if hasattr(self, "rows"):
            live = {number: sum(self.settled.get(number, (0, 0))) for number in self.proposed}
            tentative = sum(sum(row.tentative.values()) for row in self.rows.values())
            assert tentative <= sum(each[2] - live[number] for number, each in self.proposed.items())


TestPlannedRelay = PlannedRelay.TestCase
TestPlannedRelay.settings = settings(max_examples=examples(100), stateful_step_count=15, deadline=None)


class PlannedAtHome(PlannedRelay):
    """Nothing can be asked but the home: what plans hold back is asked for there in the end, once."""

    capacities = tuple(room for room in CAPACITIES if room.is_home)

    @invariant()
    def nobody_else_is_asked(self):
        assert not self.opening - {HOME}
        assert not self.wires.keys() - {HOME}


TestPlannedAtHome = PlannedAtHome.TestCase
TestPlannedAtHome.settings = settings(max_examples=examples(60), stateful_step_count=15, deadline=None)
