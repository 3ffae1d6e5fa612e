"""Whatever is lost, repeated, late or restarted between an ApplicationMaster and several schedulers: nothing is granted
twice, nothing is lost, and in the end what is asked for is what is wanted.

The model: schedulers that keep YARN's rules for response ids, and an ApplicationMaster that keeps the table of asks
that Hadoop's client library keeps. Between them is the ledger, over wires that lose and repeat.
"""

from collections import Counter
from dataclasses import dataclass, field, replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from shim.domain.allocations import (
    ANY,
    LOST_EXIT_STATUS,
    AllocateAnswer,
    AllocateCall,
    Ask,
    AskKey,
    Ended,
    Grant,
    RunningContainer,
)
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.preemption import PREEMPTED_EXIT_STATUS
from shim.domain.resources import ResourceVector
from shim.multicluster.core import (
    AMCalled,
    AMRegistered,
    AnswerAM,
    AskLedger,
    AskRunning,
    Beat,
    CallSession,
    CapacitySplitter,
    ClusterCapacity,
    DemandCap,
    Fate,
    FoundAtHome,
    HeldBack,
    NotRunning,
    OpenSession,
    PreemptionRequested,
    RefuseAM,
    ReleaseOrder,
    Remember,
    SessionAnswered,
    SessionForgotten,
    SessionLost,
    SessionOpened,
    SessionRefused,
)
from shim.multicluster.core.session import SessionState
from tests.support.examples import examples

ATTEMPT = ApplicationAttemptId(ApplicationId(1, 1), 1)
HOME = SubClusterId("east")
OTHERS = (SubClusterId("west"), SubClusterId("north"))
NAMES = (HOME, *OTHERS)
SMALL = ResourceVector(1024, 1)
KEYS = tuple(
    AskKey(priority, -1, is_opportunistic=False, resource=resource)
    for priority, resource in ((10, SMALL), (20, SMALL), (30, ResourceVector(2048, 2)))
)
PLENTY = ResourceVector(64 * 1024, 64)
CAPACITIES = tuple(
    ClusterCapacity(
        name, is_home=name == HOME, free=PLENTY, size=PLENTY, largest=PLENTY, nodes=2, racks={f"{name}-1": "/r"}
    )
    for name in NAMES
)


@dataclass
class Scheduler:
    """One ResourceManager, as far as one attempt sees it."""

    name: str
    epoch: int
    is_registered: bool = False
    response_id: int = 0
    pending: Counter[AskKey] = field(default_factory=Counter)
    live: dict[ContainerId, Grant] = field(default_factory=dict)
    hidden: dict[ContainerId, Grant] = field(default_factory=dict)
    to_release: list[ContainerId] = field(default_factory=list)
    fresh: list[Grant] = field(default_factory=list)
    gone: list[Ended] = field(default_factory=list)
    cached: AllocateAnswer | None = None
    number: int = 1  # the first is the ApplicationMaster's own

    def register(self):
        self.is_registered, self.response_id, self.cached = True, 0, None
        self.fresh = []  # those are listed as live
        return tuple(self.live.values())

    def allocate(self, request):
        """The answer, or the event that stands for a refusal."""
        if not self.is_registered:
            return None
        if request.response_id + 1 == self.response_id:
            return self.cached
        if request.response_id != self.response_id:
            return self.response_id
        for ask in request.asks:
            if ask.place == ANY:
                self.is_asked(ask)
        for container in request.releases:
            if container in self.hidden:
                self.to_release.append(container)
            self.end(container, LOST_EXIT_STATUS)
        self.response_id += 1
        self.cached = self.an_answer()
        self.fresh, self.gone = [], []
        return self.cached

    def is_asked(self, ask):
        self.pending[ask.key] = ask.count

    def an_answer(self):
        return AllocateAnswer(self.response_id, tuple(self.fresh), tuple(self.gone), headroom=PLENTY, nodes=2)

    def grant(self, key):
        self.pending[key] -= 1
        self.number += 1
        container = ContainerId(ATTEMPT, (self.epoch << 40) | self.number)
        tags = frozenset() if key.placement is None else key.placement.tags
        grant = Grant(container, NodeId(f"{self.name}-1", 1), key.priority, -1, key.resource, tags=tags)
        self.live[container] = grant
        self.fresh.append(grant)

    def nodes_come_back(self):
        """What was to be released meanwhile is released now."""
        self.live |= self.hidden
        self.hidden = {}
        for container in self.to_release:
            self.end(container, LOST_EXIT_STATUS)
        self.to_release = []

    def end(self, container, status):
        if self.live.pop(container, None) is not None:
            self.gone.append(Ended(container, status))

    def restart(self, started, *, is_late=False):
        """Work-preserving: what nodes run is found again, what was granted and never started is gone.

        With `is_late` it is found again only once the nodes come back.
        """
        if self.cached is not None:  # nodes say again what no ApplicationMaster has acknowledged
            self.gone[:0] = [ended for ended in self.cached.ended if ended not in self.gone]
        self.is_registered, self.cached = False, None
        self.pending.clear()
        found = {container: grant for container, grant in (self.live | self.hidden).items() if container in started}
        self.live, self.hidden = ({}, found) if is_late else (found, {})
        self.fresh = []


@dataclass
class ModelApplicationMaster:
    """An ApplicationMaster with the table of asks of Hadoop's client library."""

    keys = KEYS

    wanted: Counter[AskKey] = field(default_factory=Counter)
    changed: set[AskKey] = field(default_factory=set)
    releases: list[ContainerId] = field(default_factory=list)
    has: set[ContainerId] = field(default_factory=set)
    ended: set[ContainerId] = field(default_factory=set)
    preempted: set[ContainerId] = field(default_factory=set)
    response_id: int = 0
    call: AllocateCall | None = None
    may_hear_twice: bool = False
    may_hear_of_strangers: bool = False

    def next_call(self):
        if self.call is None:
            asks = tuple(Ask(key, ANY, self.count_of(key)) for key in self.keys if key in self.changed)
            self.call = AllocateCall(self.response_id, asks, tuple(self.releases))
            self.changed, self.releases = set(), []
        return self.call

    def count_of(self, key):
        """What it says of a key that has changed."""
        return self.wanted[key]

    def take(self, answer):
        assert answer.response_id == self.response_id + 1
        self.response_id, self.call = answer.response_id, None
        for grant in answer.grants:
            assert grant.container not in self.has, f"{grant.container} was granted twice"
            key = next(key for key in self.keys if (key.priority, key.resource) == (grant.priority, grant.resource))
            assert self.wanted[key] > 0, f"{grant.container} was not wanted"
            self.has.add(grant.container)
            self.wanted[key] -= 1
            self.changed.add(key)
        for ended in answer.ended:
            if self.may_hear_of_strangers and ended.container not in self.has:
                continue  # of an attempt before
            assert ended.container in self.has, f"{ended.container} ended and was never granted"
            assert self.may_hear_twice or ended.container not in self.ended, (
                f"the end of {ended.container} was told twice"
            )
            self.ended.add(ended.container)
            if ended.exit_status == PREEMPTED_EXIT_STATUS:
                self.preempted.add(ended.container)

    def resync(self):
        self.response_id, self.call = 0, None
        self.changed = {key for key in self.keys if self.wanted[key]}

    @property
    def running(self):
        return self.has - self.ended


ORDINARY = (
    *(("wants_more", key, 3) for key in KEYS),
    *(("wants_less", key, 1) for key in KEYS),
    *(("calls_or_repeats",), ("takes_if_there",)) * 4,
    *(("request_arrives", name) for name in NAMES * 2),
    *(("answer_arrives", name) for name in NAMES * 2),
    *(("beats", name) for name in OTHERS),
    *(("opens", name) for name in OTHERS),
    *(("grants", name, key, 2) for name in NAMES for key in KEYS),
    *(("container_ends", 3, 0), ("container_ends", 0, 1), ("releases_one", 1)),
)


class Relay(RuleBasedStateMachine):
    """The ledger between the two, and everything that can happen on the way."""

    now_s = 0.0
    capacities = CAPACITIES

    @initialize()
    def start(self):
        self.schedulers = {name: self.a_scheduler(name, 10 * (place + 1)) for place, name in enumerate(NAMES)}
        self.master = self.a_master()
        self.wires = {}
        self.answers = {name: [] for name in NAMES}
        self.old_answers = []
        self.opening = set()
        self.ever_opened = set()
        self.away = set()
        self.am_answer = None
        self.must_register = True
        self.remembered = {name: {} for name in OTHERS}
        self.masters, self.registrations = 1, 0
        self.home_id = 0
        self.begins_a_ledger()
        self.found, self.questions = None, []
        self._register()

    def a_master(self, **more):
        return ModelApplicationMaster(**more)

    def a_scheduler(self, name, epoch):
        return Scheduler(name, epoch)

    def a_splitter(self):
        """What decides where is asked, for each ledger a new one."""
        return CapacitySplitter(move_after_beats=2)

    # ------------------------------------------------------------ plumbing

    def begins_a_ledger(self):
        self.ledger, self.log = self.a_ledger(self.a_splitter()), []
        self.said, self.given = {}, set()

    def a_ledger(self, splitter):
        return AskLedger(ATTEMPT, HOME, splitter, grace=2)

    def replays_alike(self):
        """The events that a ledger was told have the same effects in another one."""
        again = self.a_ledger(self.a_splitter_again())
        for event, effects in self.log:
            assert self.tell_again(again, event) == effects

    def a_splitter_again(self):
        return self.a_splitter()

    def tell_again(self, ledger, event):
        return ledger.handle(event)

    def tell(self, event):
        effects = self.ledger.handle(event)
        self.log.append((event, effects))
        self.says_the_same_until_it_is_answered(event, effects)
        self.remembers_before_it_gives(effects)
        for effect in effects:
            match effect:
                case CallSession(name, request):
                    self.wires[name] = request
                case OpenSession(name):
                    self.opening.add(name)
                case AskRunning():
                    self.questions.append(effect)
                case AnswerAM(answer):
                    self.am_answer = answer
                case RefuseAM(java_class, message):
                    assert java_class.endswith("ApplicationMasterNotRegisteredException"), message
                    self.must_register = True
                case Remember(name, fate, containers, answer):
                    known = self.remembered[name]
                    for container in containers:
                        if fate is Fate.GIVEN:
                            known.setdefault(container, self.answer_id(answer))
                        else:
                            known.pop(container, None)

    def says_the_same_until_it_is_answered(self, event, effects):
        """Invariant 4 of the ledger: another request would take back what a scheduler may have taken already."""
        match event:
            case SessionAnswered(name, serial) if name in self.said and self.said[name].serial == serial:
                del self.said[name]
            case SessionOpened(name) | SessionLost(name) | SessionForgotten(name):
                self.said.pop(name, None)
            case AMRegistered():
                self.said.pop(HOME, None)
        for effect in effects:
            if isinstance(effect, CallSession):
                words = replace(effect.request, serial=0, response_id=0)
                before = self.said.setdefault(effect.subcluster, effect.request)
                assert words == replace(before, serial=0, response_id=0), "other words, and the first have no answer"
                self.said[effect.subcluster] = effect.request

    def remembers_before_it_gives(self, effects):
        """Invariant 6 of the ledger: what dies between the two gives no container that the next one does not know."""
        written = set()
        for effect in effects:
            if isinstance(effect, Remember) and effect.fate is Fate.GIVEN:
                written |= set(effect.containers)
            if isinstance(effect, AnswerAM):
                elsewhere = {each.container for each in effect.answer.grants if each.node.host != f"{HOME}-1"}
                assert elsewhere <= written | self.given, "given before it is in the store"
                self.given |= elsewhere

    def answer_id(self, response_id):
        """Name of an answer: of `RegisteredAttempt.answer_id`."""
        return self.masters, self.registrations, response_id

    def _register(self):
        """The ApplicationMaster registers: at its home, or with the ledger alone if the home knows it already."""
        if not self.schedulers[HOME].is_registered:
            self.schedulers[HOME].register()
            self.tell(AMRegistered())
            self.home_offset = 0
        else:
            self.tell(AMRegistered(self.home_id, is_resumed=True))
            self.home_offset = self.home_id
        self.registrations += 1
        self.master.resync()
        self.must_register, self.am_answer = False, None
        self.wires.pop(HOME, None)

    def _deliver(self, name):
        request = self.wires.pop(name)
        outcome = self.schedulers[name].allocate(request)
        self.answers[name].append((request, outcome))

    def _hear(self, name):
        request, outcome = self.answers[name].pop(0)
        if outcome is None:
            self.tell(SessionForgotten(name, request.serial))
        elif isinstance(outcome, int):
            self.tell(SessionRefused(name, request.serial, "Invalid", "expect", expected_id=outcome))
        else:
            self.old_answers.append((name, request.serial, outcome))
            self.tell(SessionAnswered(name, request.serial, outcome))

    def _open(self, name):
        self.opening.discard(name)
        self.ever_opened.add(name)
        live = self.schedulers[name].register()
        self.wires.pop(name, None)
        self.answers[name].clear()
        self.tell(SessionOpened(name, live, known=frozenset(self.remembered[name])))

    # ------------------------------------------------------------ the ApplicationMaster

    @rule(key=st.sampled_from(KEYS), count=st.integers(1, 4))
    def wants_more(self, key, count):
        self.master.wanted[key] += count
        self.master.changed.add(key)

    @rule(key=st.sampled_from(KEYS), count=st.integers(1, 4))
    def wants_less(self, key, count):
        if self.master.call is None:  # else it does not know yet what it gets
            self.master.wanted[key] = max(0, self.master.wanted[key] - count)
            self.master.changed.add(key)

    @rule(pick=st.integers(0, 99))
    def releases_one(self, pick):
        running = sorted(self.master.running)
        if running:
            self.master.releases.append(running[pick % len(running)])

    @rule()
    def calls_or_repeats(self):
        if self.must_register:
            self._register()
        self.am_answer = None
        self.tell(AMCalled(self.master.next_call(), self.capacities, self.now_s))

    @precondition(lambda self: self.am_answer is not None and not self.must_register)
    @rule(is_lost=st.booleans())
    def gets_its_answer(self, is_lost):
        answer, self.am_answer = self.am_answer, None
        if not is_lost:
            self.master.take(answer)

    # ------------------------------------------------------------ its queue holds more than its share

    @rule(slots=st.none() | st.integers(0, 3))
    def is_restrained(self, slots):
        self.tell(DemandCap(None if slots is None else ResourceVector(1024 * slots, slots)))

    @rule(counts=st.dictionaries(st.sampled_from(KEYS), st.integers(0, 4)))
    def puts_off(self, counts):
        self.tell(HeldBack(counts))

    @rule(pick=st.integers(0, 99), is_strict=st.booleans())
    def is_asked_back(self, pick, is_strict):
        running = sorted(self.master.running)
        if running:
            self.tell(PreemptionRequested((running[pick % len(running)],), is_strict))

    @rule(pick=st.integers(0, 99))
    def is_taken_back(self, pick):
        running = sorted(self.master.running)
        if running:
            self.tell(ReleaseOrder((running[pick % len(running)],)))

    # ------------------------------------------------------------ the schedulers and the wires

    @rule(script=st.lists(st.sampled_from(range(64)), min_size=4, max_size=24))
    def lives_on(self, script):
        """Mostly what should happen, in a random order: rules drawn one by one seldom get that far."""
        for pick in script:
            step, *arguments = ORDINARY[pick % len(ORDINARY)]
            getattr(self, step)(*arguments)

    @rule(key=st.sampled_from(KEYS), count=st.integers(1, 4))
    def smooth_round(self, key, count):
        """Everything arrives, and the schedulers grant what they can."""
        self.wants_more(key, count)
        self._settle()
        for name in NAMES:
            self.grants(name, key, count)
        self._settle()

    def takes_if_there(self):
        if self.am_answer is not None and not self.must_register:
            self.gets_its_answer(is_lost=False)

    @rule(name=st.sampled_from(NAMES))
    def request_arrives(self, name):
        if name in self.wires and name not in self.away:
            self._deliver(name)

    @rule(name=st.sampled_from(NAMES))
    def answer_arrives(self, name):
        if self.answers[name] and name not in self.away:
            self._hear(name)

    @rule(name=st.sampled_from(NAMES))
    def answer_is_lost(self, name):
        self.answers[name].clear()

    @precondition(lambda self: self.old_answers)
    @rule(pick=st.integers(0, 99))
    def old_answer_arrives_again(self, pick):
        name, serial, answer = self.old_answers[pick % len(self.old_answers)]
        self.tell(SessionAnswered(name, serial, answer))

    @rule()
    def home_is_asked_what_runs(self):
        home = self.schedulers[HOME]
        self.found = None if self.must_register else tuple(RunningContainer(grant, 1.0) for grant in home.live.values())

    @rule()
    def home_tells_what_runs(self):
        """Maybe late, maybe of what the ApplicationMaster has not been given, and never will be."""
        if self.found is not None:
            self.tell(self.found_at_home())

    def found_at_home(self):
        return FoundAtHome(self.found)

    @rule()
    def is_told_what_runs(self):
        if self.questions:
            asked = self.questions.pop(0)
            live = self.schedulers[asked.subcluster].live
            self.tell(NotRunning(asked.subcluster, tuple(each for each in asked.containers if each not in live)))

    @rule(name=st.sampled_from(OTHERS))
    def beats(self, name):
        self.tell(Beat(name, self.now_s))

    @rule(name=st.sampled_from(OTHERS))
    def opens(self, name):
        if name in self.opening and name not in self.away:
            self._open(name)

    @rule(name=st.sampled_from(OTHERS))
    def cannot_open(self, name):
        if name in self.opening:
            self.tell(SessionLost(name, "refused"))
            if self.ledger.sessions.get(name) is SessionState.ABSENT:
                self.opening.discard(name)

    @rule(name=st.sampled_from(NAMES), key=st.sampled_from(KEYS), count=st.integers(1, 3))
    def grants(self, name, key, count):
        scheduler = self.schedulers[name]
        for _ in range(min(count, scheduler.pending[key])):
            scheduler.grant(key)

    @rule(pick=st.integers(0, 99), status=st.sampled_from([0, 1, -105]))
    def container_ends(self, pick, status):
        running = sorted(self.master.running)
        if running:
            container = running[pick % len(running)]
            for scheduler in self.schedulers.values():
                scheduler.end(container, status)

    # ------------------------------------------------------------ what breaks

    @rule(name=st.sampled_from(NAMES), is_late=st.booleans())
    def resource_manager_restarts(self, name, is_late):
        self.schedulers[name].restart(self.master.has, is_late=is_late)
        self.answers[name].clear()

    @rule(name=st.sampled_from(NAMES))
    def nodes_come_back(self, name):
        self.schedulers[name].nodes_come_back()

    @rule(name=st.sampled_from(OTHERS), dies=st.booleans())
    def subcluster_is_lost(self, name, dies):
        """Either it died with its containers, or the way there is cut and it goes on."""
        if self.ledger.sessions.get(name) is not SessionState.OPEN:
            return
        self.wires.pop(name, None)
        self.answers[name].clear()
        self.opening.add(name)
        self.tell(SessionLost(name, "silent"))
        if dies:
            self.schedulers[name].restart(frozenset())
            self.schedulers[name].gone.clear()

    @rule()
    def heddle_is_killed(self):
        """Another ledger: of this one only what was remembered is left, and what the ApplicationMaster says.

        An end may be told again by it, which ApplicationMasters bear: better twice than never.
        """
        self.master.may_hear_twice = True
        unheard = self.answer_id(self.master.response_id + 1)  # its next call shows it
        for known in self.remembered.values():
            for container in [each for each, answer in known.items() if answer == unheard]:
                del known[container]
        for container, state in self.ledger.containers.items():
            if state.value == "surplus" and container not in self.master.has:
                # nobody has heard of it, and nobody launches it: ContainerAllocationExpirer takes it back
                self.schedulers[HOME].live.pop(container, None)
                self.schedulers[HOME].hidden.pop(container, None)
        self.begins_a_ledger()
        self.found, self.questions = None, []
        self.home_id = self.home_offset + self.master.response_id
        self.wires.clear()
        self.old_answers.clear()
        for answers in self.answers.values():
            answers.clear()
        self.opening = set(self.ever_opened)
        self.am_answer, self.must_register = None, True

    @rule(keeps=st.booleans())
    def master_is_killed(self, keeps):
        """Another attempt: it finds the containers of the first, or they are no more."""
        home, before = self.schedulers[HOME], self.master
        self.masters, self.registrations = self.masters + 1, 0
        home.restart(before.has)
        self.master = self.a_master(may_hear_twice=True, may_hear_of_strangers=True)
        if keeps:
            self.master.has, self.master.ended = before.has, before.ended
        else:
            home.live.clear()
            home.hidden.clear()
            for known in self.remembered.values():
                known.clear()
        self.begins_a_ledger()
        self.found, self.questions = None, []
        self.wires.clear()
        self.old_answers.clear()
        for answers in self.answers.values():
            answers.clear()
        self.opening = set(self.ever_opened)
        self.am_answer, self.must_register = None, True

    # ------------------------------------------------------------ what must be

    @invariant()
    def no_container_is_in_two_places(self):
        if hasattr(self, "ledger"):
            waiting = {name for name, state in self.ledger.containers.items() if state.value in ("queued", "surplus")}
            assert not waiting & self.master.has

    def teardown(self):
        if not hasattr(self, "ledger"):
            return
        self.tell(DemandCap(None))
        for name in NAMES:
            self.nodes_come_back(name)
        for _ in range(40):
            self._settle()
        for _ in range(8):  # asks from before a restart are found out by what they are granted
            for name in NAMES:
                for key in KEYS:
                    if not self.master.wanted[key] or self.most_pending(key) > self.master.wanted[key]:
                        self.grants(name, key, 1)
            self._settle()
        for _ in range(3):
            self._settle()
        self.what_is_asked_for_is_what_is_wanted()
        live = {container for scheduler in self.schedulers.values() for container in scheduler.live}
        assert live == self.master.running
        assert not live & self.master.preempted
        self.replays_alike()
        self.home_is_asked_what_runs()
        self.home_tells_what_runs()
        held = {each.id for each in self.ledger.holdings.held}
        assert self.schedulers[HOME].live.keys() <= held, "whatever runs at home may be taken back"

    def most_pending(self, key):
        """Containers that schedulers may still grant."""
        return sum(scheduler.pending[key] for scheduler in self.schedulers.values())

    def what_is_asked_for_is_what_is_wanted(self):
        pending = Counter()
        for scheduler in self.schedulers.values():
            pending += +scheduler.pending
        assert pending == +self.master.wanted

    def _settle(self):
        """A round in which everything arrives and nobody grants."""
        for name in sorted(self.opening):
            self._open(name)
        if self.must_register:
            self._register()
        self.am_answer = None
        self.tell(AMCalled(self.master.next_call(), self.capacities, self.now_s))
        for name in NAMES:
            self.tell(Beat(name, self.now_s))
        for _ in range(3):
            for name in NAMES:
                if name in self.wires:
                    self._deliver(name)
                while self.answers[name]:
                    self._hear(name)
        while self.questions:
            self.is_told_what_runs()
        if self.am_answer is not None and not self.must_register:
            answer, self.am_answer = self.am_answer, None
            self.master.take(answer)


def test_a_container_whose_answer_died_with_heddle_is_released():
    relay = Relay()
    relay.start()
    relay.smooth_round(key=KEYS[0], count=2)
    relay.smooth_round(key=KEYS[0], count=1)
    relay.lives_on(script=[0, 6, 59, 20])
    relay.heddle_is_killed()
    relay.teardown()


class UnbrokenRelay(Relay):
    """Wires lose, repeat and delay; nothing restarts. Then no two schedulers are asked for the same container.

    One alone may grant what it was asked for once more: a count that it is told is absolute, and may cross a grant.
    """

    @initialize()
    def start(self):
        self.wanted, self.known = {}, {}
        super().start()

    def tell(self, event):
        """Invariant 1 of the ledger: a count is raised by what no other one may still grant."""
        match event:
            case AMCalled(call):
                self.wanted |= {ask.key: ask.count for ask in call.asks}
            case SessionAnswered(name, serial) if name in self.said and self.said[name].serial == serial:
                self.known |= {(name, ask.key): ask.count for ask in self.said[name].asks}
        before = dict(self.said)
        super().tell(event)
        for name, request in self.said.items():
            for ask in () if before.get(name) is request else request.asks:
                others = sum(each.pending[ask.key] for each in self.schedulers.values() if each.name != name)
                assert ask.count <= self.known.get((name, ask.key), 0) or ask.count + others <= self.wanted[ask.key]

    resource_manager_restarts = subcluster_is_lost = heddle_is_killed = master_is_killed = None  # type: ignore[assignment]
    cannot_open = home_is_asked_what_runs = home_tells_what_runs = is_told_what_runs = None  # type: ignore[assignment]

    def teardown(self):
        if hasattr(self, "ledger"):
            self.tell(DemandCap(None))
            for _ in range(40):
                self._settle()
            self.what_is_asked_for_is_what_is_wanted()


TestUnbroken = UnbrokenRelay.TestCase
TestUnbroken.settings = settings(max_examples=examples(60), stateful_step_count=15, deadline=None)
TestRelay = Relay.TestCase
TestRelay.settings = settings(max_examples=examples(120), stateful_step_count=15, deadline=None)
