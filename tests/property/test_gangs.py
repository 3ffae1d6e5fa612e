"""Gangs: the first containers of an ApplicationMaster come all at once, or none does; whatever is lost or restarted,
none leaks; no two gangs wait for one another for ever; nothing is held for longer than the limit.

The ledger, the schedulers and the ApplicationMaster of the first part are those of `test_relay_ledger`; the second part
has several attempts, whose schedulers grant one container after the other of a pool that is too small for all gangs.
"""

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from shim.domain.allocations import ANY, AllocateAnswer, AllocateCall, Ask, AskKey, Grant
from shim.domain.gangs import Gang
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.multicluster.core import (
    AMCalled,
    AMRegistered,
    AnswerAM,
    AskLedger,
    Beat,
    CallSession,
    CapacitySplitter,
    ClusterCapacity,
    FoundAtHome,
    OpenSession,
    SessionAnswered,
    SessionOpened,
)
from shim.multicluster.core.session import SessionState
from shim.multicluster.core.withheld import GangTries
from tests.property.test_planned_asks import PlannedRelay
from tests.property.test_relay_ledger import ATTEMPT, HOME, KEYS, NAMES, Relay
from tests.support.examples import examples

LIMIT_S = 10.0
GANG = Gang(4, LIMIT_S)
LONGEST_PAUSE_S = 2 * LIMIT_S


class GangRelay(Relay):
    """Containers come in one answer, or not at all, until a gang of four has been there."""

    @initialize()
    def start(self):
        super().start()
        self.remembered[HOME] = {}
        self.has_begun = False

    @rule()
    def time_passes(self):
        self.now_s += 4.0

    @rule(keeps=st.booleans())
    def master_is_killed(self, keeps):
        super().master_is_killed(keeps)
        self.has_begun = keeps

    def a_ledger(self, splitter):
        self.held_since_s = {}
        return AskLedger(ATTEMPT, HOME, splitter, GANG)

    def found_at_home(self):
        return FoundAtHome(self.found, frozenset(self.remembered[HOME]))

    def tell(self, event):
        before, self.am_answer = getattr(self, "am_answer", None), None
        super().tell(event)
        if self.am_answer is None:
            self.am_answer = before
        elif self.am_answer.grants and not self.has_begun:
            is_whole = len(self.am_answer.grants) >= GANG.count
            assert is_whole or self.now_s >= LIMIT_S, "a part, and not because it asked for too few for too long"
            self.has_begun = True
        held = {name for name, state in self.ledger.containers.items() if state.value == "queued"}
        self.held_since_s = {name: self.held_since_s.get(name, self.now_s) for name in held}
        wants_a_gang = sum((+self.master.wanted).values()) >= GANG.count  # else it is given what there is
        if isinstance(event, Beat) and self.ledger.sessions.get(event.subcluster) is SessionState.OPEN and wants_a_gang:
            assert all(self.now_s - since_s < LIMIT_S for since_s in self.held_since_s.values()), "held for too long"

    def teardown(self):
        if not hasattr(self, "ledger"):
            return
        self.is_restrained(None)
        for _ in range(60):  # the gang is had, or the ApplicationMaster wants too few for one
            self._settle()
            self.home_is_asked_what_runs()
            self.home_tells_what_runs()
            self.now_s += 1.0
            for name in NAMES:
                for key in KEYS:
                    self.grants(name, key, 8)
        for _ in range(3):
            self._settle()
        super().teardown()


TestGangRelay = GangRelay.TestCase
TestGangRelay.settings = settings(max_examples=examples(80), stateful_step_count=15, deadline=None)


class PlannedGangRelay(GangRelay, PlannedRelay):
    """The same by arbitrary plans, which may start a part, and verdicts, which may reject one."""


TestPlannedGangRelay = PlannedGangRelay.TestCase
TestPlannedGangRelay.settings = settings(max_examples=examples(60), stateful_step_count=15, deadline=None)


# ---------------------------------------------------------------------- several gangs, and not room for all

EAST, WEST = SubClusterId("east"), SubClusterId("west")
KEY = AskKey(20, -1, is_opportunistic=False, resource=ResourceVector(1024, 1))
MUCH = ResourceVector(99 * 1024, 99)
CAPACITIES = tuple(
    ClusterCapacity(name, is_home=name == EAST, free=MUCH, size=MUCH, largest=MUCH, nodes=1) for name in (EAST, WEST)
)


@dataclass
class Pool:
    """Two schedulers with so many slots each; they grant to whoever asks, in any order."""

    free: dict[SubClusterId, int]
    used: dict[ContainerId, SubClusterId] = field(default_factory=dict)
    granted: int = 1

    def give(self, name, container):
        self.free[name] -= 1
        self.used[container] = name

    def take_back(self, container):
        name = self.used.pop(container, None)
        if name is not None:
            self.free[name] += 1


class GangMaster:
    """An ApplicationMaster with its ledger, that runs its gang for some calls and is done."""

    def __init__(self, number, count, pool, runs_for):
        self.attempt = ApplicationAttemptId(ApplicationId(1, number), 1)
        self.ledger = AskLedger(self.attempt, EAST, CapacitySplitter(move_after_beats=3), Gang(count, LIMIT_S))
        self.pool, self.count, self.runs_for = pool, count, runs_for
        self.pending = {EAST: 0, WEST: 0}
        self.fresh = {EAST: [], WEST: []}
        self.response_ids = {EAST: 0, WEST: 0}
        self.response_id, self.given, self.is_done, self.said = 0, [], False, False
        self.requests = {}
        self.tell(AMRegistered())

    def tell(self, event):
        for effect in self.ledger.handle(event):
            match effect:
                case CallSession(name, request):
                    self.requests[name] = request
                case OpenSession(name):
                    self.tell(SessionOpened(name))
                case AnswerAM(answer):
                    self.response_id = answer.response_id
                    assert len(answer.grants) in (0, self.count), "all or none"
                    self.given += [grant.container for grant in answer.grants]
        while self.requests:
            self.answer(*self.requests.popitem())

    def answer(self, name, request):
        for ask in request.asks:
            if ask.place == ANY:
                self.pending[name] = ask.count
        for container in request.releases:
            self.pool.take_back(container)
        self.response_ids[name] += 1
        grants, self.fresh[name] = tuple(self.fresh[name]), []
        self.tell(SessionAnswered(name, request.serial, AllocateAnswer(self.response_ids[name], grants)))

    def grant(self, name):
        if not self.pending[name] or not self.pool.free[name] or self.is_done:
            return
        self.pending[name] -= 1
        self.pool.granted += 1
        container = ContainerId(self.attempt, self.pool.granted)
        self.pool.give(name, container)
        grant = Grant(container, NodeId(f"{name}1", 1), KEY.priority, -1, KEY.resource)
        self.fresh[name].append(grant)

    def beat(self, now_s):
        if self.is_done:
            return
        if self.given:
            self.runs_for -= 1
            if not self.runs_for:
                self.is_done = True
                mine = {name for name in self.pool.used if name.attempt == self.attempt}
                assert mine == set(self.given), "what was given back, or never given, is no longer had"
                for container in self.given:
                    self.pool.take_back(container)
                return
        asks = () if self.said else (Ask(KEY, ANY, self.count),)
        self.said = True
        self.tell(AMCalled(AllocateCall(self.response_id, asks), CAPACITIES, now_s))
        self.tell(Beat(WEST, now_s))


@settings(max_examples=examples(40), deadline=None)
@given(
    slots=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    sizes=st.lists(st.tuples(st.integers(2, 12), st.integers(5, 9)), min_size=2, max_size=4),
    luck=st.randoms(use_true_random=False),
)
def test_gangs_that_want_the_same_slots_have_them_in_turn(slots, sizes, luck):
    """Nobody places them: schedulers grant a part of each, as with several Global Masters that know nothing yet."""
    pool = Pool(dict(zip((EAST, WEST), slots, strict=True)))
    masters = [
        GangMaster(number, min(count, sum(slots)), pool, runs_for)
        for number, (count, runs_for) in enumerate(sizes, start=1)
    ]
    for second in range(4000):
        turns = [(master, name) for master in masters for name in (EAST, WEST) for _ in range(3)]
        luck.shuffle(turns)
        for master, name in turns:
            master.grant(name)
        for master in masters:
            master.beat(float(second))
        if all(master.is_done for master in masters):
            break
    assert all(master.is_done for master in masters), "gangs wait for one another"
    assert pool.free == dict(zip((EAST, WEST), slots, strict=True)), "containers leaked"


@given(
    steps=st.lists(st.tuples(st.floats(0.0, 30.0), st.integers(0, 9), st.integers(0, 3)), max_size=60),
    place=st.floats(0.0, 0.99),
)
def test_a_try_ends_within_its_limit_and_the_next_one_begins_within_two_limits(steps, place):
    tries, now_s, began_s, failed_s = GangTries(GANG, place), 0.0, None, None
    for passed_s, n_asked, n_held in steps:
        now_s += passed_s
        is_over = tries.pass_time(now_s, n_asked)
        if tries.is_over:
            assert n_asked < GANG.count
            return
        assert is_over == (began_s is not None and now_s - began_s >= LIMIT_S)
        if is_over:
            tries.fail(is_rejected=False)
            began_s, failed_s = None, now_s
        most = tries.most(n_asked, n_held)
        assert 0 <= most <= GANG.count
        if failed_s is not None and now_s - failed_s > LONGEST_PAUSE_S and n_asked >= GANG.count:
            assert most == max(0, GANG.count - n_held)
        if most and began_s is None:
            tries.begin()
            began_s, failed_s = now_s, None
        assert str(GANG.count) in tries.text(n_asked, n_held)
