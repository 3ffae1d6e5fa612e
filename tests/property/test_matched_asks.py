"""Asks that are matched and verified: whatever becomes of verdicts, what is wanted is asked for, once.

A satisfiable ask is granted in the end, though views are old, others are quicker, and a ResourceManager does not keep a
promise.
"""

from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from shim.domain.allocations import AskKey
from shim.domain.ids import NodeId, SubClusterId
from shim.domain.launches import ContainerKind, LaunchNews, LaunchProposal, LaunchVerdict
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport
from shim.domain.verdicts import Verdict
from shim.multicluster.core import CapacityChanged, ClusterCapacity, Demand
from shim.multicluster.core.matching import MatchingSplitter, MatchSettings
from shim.scheduling.local_master.tentative_allocations import TentativeAllocations
from tests.property.test_relay_ledger import CAPACITIES, NAMES, Relay
from tests.support.launches import Unordered

LASTS_S = 30.0


def a_node(host, total, used):
    return NodeReport(NodeId(host, 1), "/r", "RUNNING", total, used)


class LateLaunches(Unordered):
    """Implements `Launches` with books of promises; verdicts come at once, late or never, as it is told."""

    def __init__(self, books, now_s):
        self.books = books
        self.now_s = now_s
        self.is_late = False
        self.waiting = []
        self.number = 0

    def room(self, subcluster, key, places=()):
        return self.books[subcluster].room(ContainerKind("", key.resource, key.label, places))

    def propose(self, subcluster, key, count, places=()):
        self.number += 1
        proposal = LaunchProposal(self.number, "", ContainerKind("", key.resource, key.label, places), count)
        verdict = self.books[subcluster].propose(str(id(self)), proposal, self.now_s())
        if self.is_late:
            self.waiting.append(verdict)
            return self.number, None
        return self.number, verdict

    def tell(self, subcluster, number, *, honoured, withdrawn):
        self.books[subcluster].tell(str(id(self)), LaunchNews(number, honoured, withdrawn), self.now_s())

    def took(self, subcluster, key):
        self.books[subcluster].took("", ContainerKind("", key.resource, key.label), self.now_s())

    def lost(self, subcluster, number):
        return self.books[subcluster].lost(str(id(self)), number)


class Recorded(LateLaunches):
    """Writes down what it answers, in their order."""

    def __init__(self, books, now_s):
        super().__init__(books, now_s)
        self.answers = []

    def _note(self, answer):
        self.answers.append(answer)
        return answer

    def room(self, subcluster, key, places=()):
        return self._note(super().room(subcluster, key, places))

    def propose(self, subcluster, key, count, places=()):
        return self._note(super().propose(subcluster, key, count, places))

    def lost(self, subcluster, number):
        return self._note(super().lost(subcluster, number))


class Repeated(Unordered):
    """Implements `Launches` by what another one has answered."""

    def __init__(self, answers):
        self.answers = iter(answers)

    def _next(self, *_):
        return next(self.answers)

    room = propose = lost = _next

    def tell(self, subcluster, number, *, honoured, withdrawn):
        pass


class MatchedRelay(Relay):
    """The ledger as in `test_relay_ledger`, with a splitter that matches."""

    def a_splitter(self):
        if not hasattr(self, "books"):
            self.at_s = 0.0
            self.books = {name: TentativeAllocations(name, LASTS_S) for name in NAMES}
            self.reports_arrive([4, 8, 2])
        self.launches = Recorded(self.books, lambda: self.at_s)
        self.splitter = MatchingSplitter(self.launches, MatchSettings(patience=2))
        return self.splitter

    def a_splitter_again(self):
        self.splitter_again = MatchingSplitter(Repeated(self.launches.answers), MatchSettings(patience=2))
        return self.splitter_again

    def tell_again(self, ledger, event):
        return (
            self.splitter_again.judge(event) if isinstance(event, LaunchVerdict) else super().tell_again(ledger, event)
        )

    @rule(left=st.lists(st.integers(0, 10), min_size=3, max_size=3))
    def reports_arrive(self, left):
        self.at_s += 1.0
        total = ResourceVector(10 * 1024, 10)
        for name, free in zip(NAMES, left, strict=True):
            used = total - ResourceVector(free * 1024, free)
            self.books[name].apply((a_node(f"{name}-1", total, used),), {}, self.at_s)

    @rule(is_late=st.booleans())
    def local_masters_are_late(self, is_late):
        if hasattr(self, "launches"):
            self.launches.is_late = is_late

    @rule(pick=st.integers(0, 99), is_lost=st.booleans())
    def a_verdict_arrives(self, pick, is_lost):
        if not hasattr(self, "launches") or not self.launches.waiting:
            return
        verdict = self.launches.waiting.pop(pick % len(self.launches.waiting))
        if is_lost:
            verdict = LaunchVerdict(verdict.subcluster, verdict.number, Verdict.UNVERIFIED, 0, "silent")
        is_waited_for = self.splitter.judge(verdict)
        self.log.append((verdict, is_waited_for))
        if is_waited_for:
            self.tell(CapacityChanged(CAPACITIES))

    @rule()
    def time_passes(self):
        if hasattr(self, "at_s"):
            self.at_s += LASTS_S

    def _settle(self):
        self.launches.is_late = False
        while self.launches.waiting:
            self.a_verdict_arrives(0, is_lost=False)
        super()._settle()

    def teardown(self):
        super().teardown()
        if hasattr(self, "books"):
            for book in self.books.values():
                book.check()


TestMatchedRelay = MatchedRelay.TestCase
TestMatchedRelay.settings = settings(max_examples=80, stateful_step_count=15, deadline=None)


KEY = AskKey(20, -1, is_opportunistic=False, resource=ResourceVector(1024, 1))
EAST, WEST = SubClusterId("east"), SubClusterId("west")
SIZE = 12


@dataclass
class MatchedFederation:
    """Two clusters as they are, what is reported of them, and what is promised."""

    used: dict[SubClusterId, int] = field(default_factory=lambda: {EAST: 0, WEST: 0})
    deaf: set[SubClusterId] = field(default_factory=set)
    now_s: float = 1.0

    def __post_init__(self):
        self.books = {name: TentativeAllocations(name, LASTS_S) for name in (EAST, WEST)}
        self.report()

    def report(self):
        for name, book in self.books.items():
            used = ResourceVector(1024 * self.used[name], self.used[name])
            book.apply((a_node(name, ResourceVector(1024 * SIZE, SIZE), used),), {}, self.now_s)

    def capacities(self, home):
        size = ResourceVector(1024 * SIZE, SIZE)
        return [
            ClusterCapacity(name, is_home=name == home, free=size, size=size, largest=size, racks={name: "/r"})
            for name in (EAST, WEST)
        ]


@dataclass
class Attempt:
    """What an attempt wants, and is asked for where."""

    world: MatchedFederation
    home: SubClusterId
    demand: Demand

    def __post_init__(self):
        self.splitter = MatchingSplitter(
            LateLaunches(self.world.books, lambda: self.world.now_s), MatchSettings(patience=3)
        )

    def was_promised(self, name):
        return any(each.subcluster == name for told in self.splitter.decisions for _, each in told.verdicts)

    def beat(self):
        if not self.demand.total:
            self.splitter.drop(KEY)
            return
        asked = dict(self.splitter.split(self.demand, self.world.capacities(self.home)))
        assert sum(asked.values()) == self.demand.total
        assert not self.demand.is_strict or set(asked) <= set(self.demand.allowed)
        starved = dict(self.demand.starved) | {name: self.demand.starved.get(name, 0) + 1 for name in asked}
        for name in tuple(asked):
            while asked[name] and name not in self.world.deaf and self.world.used[name] < SIZE:
                self.world.used[name] += 1
                asked[name] -= 1
                starved[name] = 0
                self.splitter.granted(KEY, name)
        total = sum(asked.values())
        places = dict.fromkeys(self.demand.places, total)
        self.demand = replace(self.demand, total=total, places=places, standing=asked, starved=starved)


@settings(max_examples=150, deadline=None)
@given(
    wanted=st.lists(
        st.tuples(st.sampled_from([EAST, WEST]), st.integers(1, 8), st.sampled_from([None, None, EAST, WEST])),
        min_size=1,
        max_size=5,
    ),
    deaf=st.sampled_from([(), (EAST,), (WEST,)]),
    reports_every=st.integers(1, 5),
)
def test_a_satisfiable_ask_is_granted_in_the_end_and_allocations_that_are_not_kept_are_repaired(
    wanted, deaf, reports_every
):
    world = MatchedFederation(deaf=set(deaf))
    attempts = []
    is_any_strict = any(place for _, _, place in wanted)  # room for them is left, wherever the others go
    room = {name: 0 if name in deaf else SIZE // 2 for name in (EAST, WEST)}
    room[None] = SIZE // 2 if is_any_strict else SIZE * (2 - len(deaf))
    for home, count, place in wanted:
        if count > room[place]:
            continue
        room[place] -= count
        demand = Demand(KEY, count)
        if place is not None:
            demand = replace(demand, places={place: count}, is_strict=True, allowed=(place,))
        attempts.append(Attempt(world, home, demand))
    is_repaired = False
    for beat in range(60):
        world.now_s += 1.0
        if beat % reports_every == 0:
            world.report()
        for attempt in attempts:
            attempt.beat()
            is_repaired = is_repaired or bool(attempt.splitter.repairs)
        for book in world.books.values():
            book.check()
    assert not any(attempt.demand.total for attempt in attempts)
    assert sum(book.open for book in world.books.values()) == 0
    if deaf and any(attempt.was_promised(deaf[0]) for attempt in attempts):
        assert is_repaired
