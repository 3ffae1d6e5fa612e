"""Asks with a placement constraint between an ApplicationMaster and several schedulers, whatever is lost or restarted.

Beside the asks of `test_relay_ledger.py` the ApplicationMaster has some with tags. Schedulers take their counts as
totals, or add them up and may reject them, or refuse calls with such asks. Nothing is granted or rejected twice or for
nothing; what was granted from before a restart is given back; in the end what is asked for is what is wanted.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from shim.domain.allocations import AskKey, ConstraintHandling, PlacementConstraint, RejectedAsk
from shim.domain.ids import SubClusterId
from shim.multicluster.core import AskLedger, DemandCap, SessionLost
from tests.property.test_relay_ledger import (
    ATTEMPT,
    CAPACITIES,
    HOME,
    KEYS,
    NAMES,
    OTHERS,
    SMALL,
    ModelApplicationMaster,
    Relay,
    Scheduler,
)
from tests.support.examples import examples

WEST, NORTH = OTHERS
TOTALS, ADDS, NONE = ConstraintHandling.TOTALS, ConstraintHandling.ADDS, ConstraintHandling.NONE
APART, BESIDE, AT_HOME = (
    AskKey(priority, -1, is_opportunistic=False, resource=SMALL, placement=placement)
    for priority, placement in (
        (40, PlacementConstraint(frozenset({"web"}), is_local=True)),
        (50, PlacementConstraint(frozenset({"cache"}), needs=frozenset({"web"}), is_local=True)),
        (60, PlacementConstraint(frozenset({"odd"}), b"of other applications' tags")),
    )
)
PLACED = (APART, BESIDE, AT_HOME)
COULD_NOT_PLACE = 0


@dataclass
class JudgingScheduler(Scheduler):
    """One that takes asks with a placement in one of the three ways."""

    handling: ConstraintHandling = TOTALS
    rejected: list[RejectedAsk] = field(default_factory=list)
    granted: Counter[AskKey] = field(default_factory=Counter)
    has_restarted: bool = False

    def is_asked(self, ask):
        if ask.key.placement is None:
            super().is_asked(ask)
            return
        assert self.handling is not NONE, f"{self.name} refuses such a call"
        assert ask.key != AT_HOME or self.name == HOME
        if self.handling is ADDS:
            self.pending[ask.key] += ask.count
        else:
            self.pending[ask.key] = ask.count

    def an_answer(self):
        rejected, self.rejected = tuple(self.rejected), []
        return replace(super().an_answer(), rejected=rejected)

    def reject(self, key, count):
        self.pending[key] -= count
        self.rejected.append(RejectedAsk(key.priority, -1, key.placement.tags, count, COULD_NOT_PLACE))

    def grant(self, key):
        super().grant(key)
        self.granted[key] += 1

    def restart(self, started, *, is_late=False):
        super().restart(started, is_late=is_late)
        self.rejected = []
        self.has_restarted = True


@dataclass
class PlacingMaster(ModelApplicationMaster):
    """An ApplicationMaster whose home adds its counts up, or takes them as totals."""

    keys = (*KEYS, *PLACED)
    adds: bool = False
    more: Counter[AskKey] = field(default_factory=Counter)

    def count_of(self, key):
        return self.more.pop(key, 0) if self.adds and key.placement is not None else super().count_of(key)

    def take(self, answer):
        super().take(answer)
        for each in answer.rejected:
            key = next(key for key in PLACED if key.priority == each.priority)
            assert 0 < each.count <= self.wanted[key], "more is rejected than is wanted"
            self.wanted[key] -= each.count

    def resync(self):
        super().resync()
        self.more = Counter({key: self.wanted[key] for key in PLACED})


class ConstrainedRelay(Relay):
    """The ledger between such an ApplicationMaster and such schedulers."""

    handlings: Mapping[SubClusterId, ConstraintHandling] = MappingProxyType(dict.fromkeys(NAMES, TOTALS))

    @property
    def capacities(self):
        return tuple(replace(room, constraints=self.handlings[room.subcluster]) for room in CAPACITIES)

    def begins_a_ledger(self):
        self.ledgers = getattr(self, "ledgers", 0) + 1
        super().begins_a_ledger()

    def tell(self, event):
        self.was_lost = getattr(self, "was_lost", False) or isinstance(event, SessionLost)
        super().tell(event)

    def wants_more(self, key, count):
        super().wants_more(key, count)
        self.ever = getattr(self, "ever", Counter())
        self.ever[key] += count

    def a_master(self, **more):
        return PlacingMaster(adds=self.handlings[HOME] is ADDS, **more)

    def a_scheduler(self, name, epoch):
        return JudgingScheduler(name, epoch, handling=self.handlings[name])

    def a_ledger(self, splitter):
        return AskLedger(ATTEMPT, HOME, splitter, move_after_beats=2)

    @rule(key=st.sampled_from(PLACED), count=st.integers(1, 4))
    def wants_more_placed(self, key, count):
        self.wants_more(key, count)
        self.master.more[key] += count

    @precondition(lambda self: not self.master.adds)
    @rule(key=st.sampled_from(PLACED), count=st.integers(1, 4))
    def wants_less_placed(self, key, count):
        self.wants_less(key, count)

    @rule(name=st.sampled_from(NAMES), key=st.sampled_from(PLACED), count=st.integers(1, 3))
    def grants_placed(self, name, key, count):
        self.grants(name, key, count)

    @rule(name=st.sampled_from(NAMES), key=st.sampled_from(PLACED), count=st.integers(1, 4))
    def rejects_placed(self, name, key, count):
        scheduler = self.schedulers[name]
        count = min(count, scheduler.pending[key])
        if scheduler.handling is ADDS and count > 0:
            scheduler.reject(key, count)

    @rule(key=st.sampled_from(PLACED), count=st.integers(1, 4), beats=st.integers(0, 3))
    def smooth_round_placed(self, key, count, beats):
        """Everything arrives; the home is late, or what it has not granted for too long is asked elsewhere."""
        self.wants_more_placed(key, count)
        for _ in range(1 + beats):
            self._settle()
        for name in reversed(NAMES):
            self.grants_placed(name, key, count)
        self._settle()

    def moves_on(self, key, count):
        """More is wanted, and the home rejects it, or grants nothing for too long: it is asked elsewhere."""
        self.wants_more_placed(key, count)
        self._settle()
        self.rejects_placed(HOME, key, count)
        for _ in range(4):
            self._settle()

    @rule(key=st.sampled_from(PLACED), count=st.integers(1, 4), less=st.integers(1, 4), more=st.integers(0, 2))
    def second_thoughts(self, key, count, less, more):
        """What has moved to another cluster is wanted no more, is granted there, and some is wanted again."""
        self.moves_on(key, count)
        if not self.master.adds:
            self.wants_less_placed(key, less)
        for _ in range(2):
            self._settle()
        for name in reversed(NAMES):
            self.grants_placed(name, key, count)
        self._settle()
        if more:
            self.wants_more_placed(key, more)

    @rule(key=st.sampled_from(PLACED), count=st.integers(1, 4))
    def home_restarts_while_grants_are_on_their_way(self, key, count):
        """The ApplicationMaster says once more what it has not been given: a part of it is granted already."""
        self.moves_on(key, count)
        for name in OTHERS:
            self.grants_placed(name, key, count)
            self.beats(name)
            self.request_arrives(name)
            self.answer_arrives(name)
        self.resource_manager_restarts(HOME, is_late=False)
        for _ in range(2):
            self._settle()
        self.grants_placed(HOME, key, count)
        self._settle()

    def teardown(self):
        if not hasattr(self, "ledger"):
            return
        self.tell(DemandCap(None))  # first of all: what it held back is asked for once more where a scheduler adds up
        for _ in range(3):
            self._settle()
        for _ in range(40):  # what was asked for before a restart cannot be taken back: it is granted, and given back
            for key in PLACED:
                for name in NAMES:
                    if not self.master.wanted[key] or self.most_pending(key) > self.master.wanted[key]:
                        self.grants(name, key, 1)
            self._settle()
        super().teardown()


class AddingRelay(ConstrainedRelay):
    """Every scheduler adds up."""

    handlings: Mapping[SubClusterId, ConstraintHandling] = MappingProxyType(dict.fromkeys(NAMES, ADDS))

    @invariant()
    def as_long_as_nothing_breaks_no_two_are_asked_for_the_same(self):
        if not hasattr(self, "ledger") or self.ledgers > 1 or self.was_lost:
            return
        schedulers = self.schedulers.values()
        if any(each.has_restarted for each in schedulers):
            return
        for key in PLACED:
            assert (
                sum(each.pending[key] + each.granted[key] for each in schedulers)
                <= getattr(self, "ever", Counter())[key]
            )


class AddingHomeRelay(ConstrainedRelay):
    """The home adds up, one other takes totals, and one refuses such calls."""

    handlings: Mapping[SubClusterId, ConstraintHandling] = MappingProxyType({HOME: ADDS, WEST: TOTALS, NORTH: NONE})


class AddingElsewhereRelay(ConstrainedRelay):
    """The home takes totals, one other adds up, and one refuses such calls."""

    handlings: Mapping[SubClusterId, ConstraintHandling] = MappingProxyType({HOME: TOTALS, WEST: ADDS, NORTH: NONE})


TestConstrained = ConstrainedRelay.TestCase
TestAdding = AddingRelay.TestCase
TestAddingHome = AddingHomeRelay.TestCase
TestAddingElsewhere = AddingElsewhereRelay.TestCase
for case in (TestConstrained, TestAdding, TestAddingHome, TestAddingElsewhere):
    case.settings = settings(max_examples=examples(60), stateful_step_count=15, deadline=None)
