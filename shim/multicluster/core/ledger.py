"""The ask ledger of one application attempt: one ApplicationMaster in front, any number of schedulers behind.

The home is called when the ApplicationMaster calls, with its own login; the other sub-clusters at a heartbeat of their
own, and at once when something changes for them. What they answer waits for the ApplicationMaster's next answer.

Theory of operation. Every wire may lose, repeat and delay; schedulers, sub-clusters and Heddle restart at any moment;
YARN's protocol counts absolutely and promises nothing about what is under way. Seven invariants hold all the same. Each
names the race that it guards against, the function that keeps it, and the property that tries it.

1. *An ask is in one place.* A count is raised at one scheduler by no more than what no other one may still grant
   (`Session.bound`): two would grant the same container while the news of the first grant is on its way. Spares of a
   late-binding policy are the exception. One scheduler alone may grant what it was asked for once more, as an absolute
   count may cross a grant: see 2. `UnbrokenRelay.tell`, `AddingRelay` of constrained asks.
2. *A container is in one state* (the table of `containers.py`), and is given once or never. A grant may cross the
   withdrawal of its ask: nobody wants it then, it is released, and the ApplicationMaster never hears of it
   (`Intake.take`). `Relay.no_container_is_in_two_places`, `ModelApplicationMaster.take`.
3. *The end of a container is told once*, and kept until the next call acknowledges the answer that told it: answers are
   lost (`_acknowledge`). `ModelApplicationMaster.take`.
4. *A request is said in the same words until it is answered* (`Session.request`). The scheduler may have taken it, and
   other words under the next response id would take back half of it. An answer names the serial number of its request,
   so that a late one changes nothing. `Relay.says_the_same_until_it_is_answered`.
5. *A scheduler that was opened again may believe anything.* Every count is said to it once more, zeros too, and a grant
   of what nobody asks for shows an older ask, which is taken back (`Session.suspect`). `Relay.teardown`.
6. *What is given elsewhere is in the store before the answer leaves*, and forgotten once its end is acknowledged: a
   Heddle that starts releases what runs and was not given, and reports as lost what was given and runs no more
   (`remembered`, `Intake.adopt`). `Relay.remembers_before_it_gives`, `heddle_is_killed`.
7. *When nothing happens any more, what is asked for is what is wanted, and what runs is what the ApplicationMaster
   has.* `Relay.teardown`, after every sequence of the events above; the same events have the same effects in another
   ledger (`Relay.replays_alike`), as it reads no clock and draws nothing.

The properties are in `tests/property/test_relay_ledger.py`, `test_constrained_asks.py`, `test_gangs.py` and, with plans
and verdicts of Local Masters between, `test_planned_asks.py`.

Source: the rules for response ids are those of `ApplicationMasterService.allocate`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from shim.domain.allocations import AllocateAnswer
from shim.domain.gangs import Gang
from shim.domain.ids import ApplicationAttemptId, ContainerId, SubClusterId
from shim.errors import InvariantViolationError
from shim.multicluster.core.asks import AskBook
from shim.multicluster.core.containers import ContainerBook, ContainerState
from shim.multicluster.core.events import (
    AllocationsVerified,
    AMCalled,
    AMRegistered,
    AnswerAM,
    AskRunning,
    Beat,
    CallSession,
    CapacityChanged,
    CloseSession,
    ClusterCapacity,
    Fate,
    Finished,
    FoundAtHome,
    LedgerEffect,
    LedgerEvent,
    NotRunning,
    OpenSession,
    PlanEvent,
    Proceed,
    Recall,
    RefuseAM,
    SessionAnswered,
    SessionForgotten,
    SessionLost,
    SessionOpened,
    SessionRefused,
)
from shim.multicluster.core.intake import (
    CallIntake,
    Heard,
    Intake,
    MasterSide,
    Outbox,
    Rejections,
    SessionLives,
    refusal_of,
    remembered,
)
from shim.multicluster.core.session import Conversations, Session, SessionState
from shim.multicluster.core.splitter import AskSplitter
from shim.multicluster.core.withheld import AttemptHoldings, GangHold, Recalls

NOT_REGISTERED = "org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException"
_INVALID = "org.apache.hadoop.yarn.exceptions.InvalidApplicationMasterRequestException"


class AskLedger:
    """See the module. Mutate through `handle` only; it never reads a clock.

    Args:
        home: Where its ApplicationMaster runs.
        splitter: Decides which sub-cluster is asked.
        gang: Containers that are given together; None where each is by itself.
        move_after_beats: Beats without a grant after which an ask with a placement may move.
        grace: Answers of a scheduler that has restarted, before its ResourceManager is to be asked about containers
            that it may not know.
    """

    def __init__(
        self,
        attempt: ApplicationAttemptId,
        home: SubClusterId,
        splitter: AskSplitter,
        gang: Gang | None = None,
        move_after_beats: int = 10,
        grace: int = 3,
    ) -> None:
        self._attempt = attempt
        self._master = MasterSide(attempt)
        self._splitter = splitter
        self._containers = ContainerBook(splitter)
        self._asks = AskBook(self._containers, move_after_beats, splitter.groups)
        self._talk = Conversations(home, self._asks)
        self._home = self._talk.home
        self._outbox = Outbox(self._containers)
        self._gang = GangHold(attempt, gang, self._asks, self._containers, self._talk)
        self._intake = Intake(self._asks, self._containers, self._talk, splitter, self._gang)
        self._calls = CallIntake(self._asks, self._containers, self._talk, self._master)
        self._lives = SessionLives(
            self._asks, self._containers, self._talk, self._outbox, self._gang, self._intake, grace
        )
        self._recalls = Recalls(self._asks, self._containers, self._talk)
        self._rejections = Rejections(self._asks, self._containers, self._talk, self._outbox)
        self._is_finished = False
        self._is_held = False
        self._unregistered = f"AM is not registered for known application attempt: {attempt}"

    @property
    def sessions(self) -> Mapping[SubClusterId, SessionState]:
        return {session.subcluster: session.state for session in self._talk}

    @property
    def needs_registration(self) -> bool:
        """Return whether the home has to be told of the ApplicationMaster (again)."""
        return self._home.state is not SessionState.OPEN

    @property
    def home_response_id(self) -> int:
        """Response id that the home expects next, unless it has taken a request that it did not answer."""
        return self._home.response_id

    @property
    def containers(self) -> Mapping[ContainerId, ContainerState]:
        return {each.id: each.state for each in self._containers}

    @property
    def wanted(self) -> int:
        """Containers that are asked for and that no scheduler has granted."""
        return sum(group.wanted for group in self._asks.groups)

    @property
    def holdings(self) -> AttemptHoldings:
        return self._recalls.holdings()

    def handle(self, event: LedgerEvent) -> list[LedgerEffect]:  # noqa: C901, PLR0912 - a table of events
        """Take in an event; return what is to be done, in this order."""
        effects: list[LedgerEffect] = []
        match event:
            case AMRegistered():
                self._am_registered(event)
            case AMCalled():
                self._am_called(event, effects)
            case CapacityChanged():
                self._capacities_changed(event, effects)
            case Beat():
                self._beat(event, effects)
            case SessionOpened():
                self._session_opened(event, effects)
            case FoundAtHome(running, known):
                self._intake.adopt(self._home, running, known)
            case SessionAnswered():
                self._session_answered(event, effects)
            case SessionRefused():
                self._session_refused(event, effects)
            case SessionForgotten():
                self._session_forgotten(event, effects)
            case NotRunning():
                self._lives.not_running(event)
            case SessionLost():
                self._lives.lost(event)
            case Recall():
                self._recall(event, effects)
            case PlanEvent():
                self._planned(event, effects)
            case Proceed():
                self._proceed(effects)
            case Finished():
                self._finished(effects)
            case _:
                raise InvariantViolationError(f"nobody knows what {event} means")
        return [*self._splitter.drain(), *effects]

    # ------------------------------------------------------------------ the ApplicationMaster's side

    def _am_registered(self, event: AMRegistered) -> None:
        self._gang.doubt_home()
        self._splitter.begin_anew()  # withdraws what is allocated, as long as the groups are there
        self._asks.clear(self._containers.on_way())
        self._outbox.forget_rejected()
        self._talk.blacklist = frozenset()
        self._talk.is_told = False
        self._is_held = False
        self._talk.is_resuming = event.is_resumed
        self._master.registered()
        self._lives.home_reopened(event.home_response_id, is_resumed=event.is_resumed)

    def _am_called(self, event: AMCalled, effects: list[LedgerEffect]) -> None:
        if self._home.state is not SessionState.OPEN:
            effects.append(RefuseAM(NOT_REGISTERED, self._unregistered))
            return
        match self._master.hear(event.call):
            case Heard.NEW if refusal := refusal_of(event.call, self._asks, self._attempt):
                effects.append(refusal)
            case Heard.NEW:
                self._take_call(event, effects)
            case Heard.AGAIN:
                effects.append(self._say(self._home, self._master.rest))
            case Heard.ANSWERED if self._master.last is not None:
                effects.append(AnswerAM(self._master.last))
            case _:
                effects.append(RefuseAM(_INVALID, self._master.complaint(event.call)))

    def _take_call(self, event: AMCalled, effects: list[LedgerEffect]) -> None:
        call = event.call
        self._talk.look(event.capacities)
        self._acknowledge(effects)
        self._calls.take(call)
        self._gang.pass_time(event.at_s)
        self._split(event.capacities)
        self._asks.forget_quiet(self._talk.asked().union(self._containers.on_way()))
        self._is_held = self._splitter.awaits_plan
        if not self._is_held:
            self._pass_on(effects)

    def _pass_on(self, effects: list[LedgerEffect]) -> None:
        """Ask every scheduler: the home within the ApplicationMaster's call."""
        self._open_needed(effects)
        effects.append(self._say(self._home, self._master.rest))
        self._say_news(effects)

    def _proceed(self, effects: list[LedgerEffect]) -> None:
        """Go on with a call that waited for its plan, by whatever was planned."""
        if self._is_held:
            self._is_held = False
            self._split(self._talk.capacities)
            self._pass_on(effects)

    def _split(self, capacities: Sequence[ClusterCapacity]) -> None:
        """Decide anew what each session is to be asked for."""
        self._gang.demand()
        held = self._containers.tags() if self._asks.has_placed else {}
        self._asks.split(self._splitter, capacities, held)
        self._gang.was_split()

    def _planned(self, event: PlanEvent, effects: list[LedgerEffect]) -> None:
        """A plan or a verdict: the home hears of it in the ApplicationMaster's next call, the others at once."""
        self._splitter.take(event)
        if isinstance(event, AllocationsVerified) and event.is_rejected:
            self._gang.rejected()
        if self._is_held or not self._talk.is_told or self._is_finished or self._home.state is not SessionState.OPEN:
            return
        self._split(self._talk.capacities)
        self._open_needed(effects)
        self._say_news(effects)

    def _capacities_changed(self, event: CapacityChanged, effects: list[LedgerEffect]) -> None:
        """Ask the others at once; the home is asked in the ApplicationMaster's next call."""
        if not self._talk.is_told or self._is_finished or self._home.state is not SessionState.OPEN:
            return
        self._talk.look(event.capacities)
        self._split(event.capacities)
        self._open_needed(effects)
        self._say_news(effects)

    def _say_news(self, effects: list[LedgerEffect]) -> None:
        """Say news that cannot wait for a beat."""
        effects.extend(self._say(session) for session in self._talk.others if self._talk.has_news(session))

    def _say(self, session: Session, rest: bytes = b"") -> CallSession:
        return CallSession(session.subcluster, self._talk.say(session, rest))

    def _acknowledge(self, effects: list[LedgerEffect]) -> None:
        """A new call says that the last answer has arrived."""
        told = self._containers.in_state(ContainerState.TOLD)
        self._containers.forget(told)
        effects.extend(remembered(told, self._remembered_otherwise, Fate.ENDED))

    @property
    def _remembered_otherwise(self) -> SubClusterId | None:
        """The home, which tells another ledger itself what runs there; not whether it was given or held for a gang."""
        return None if self._gang.has_gang else self._home.subcluster

    def _open_needed(self, effects: list[LedgerEffect]) -> None:
        needed = {name for group in self._asks.groups for name, count in group.targets.items() if count}
        for name in sorted(needed):
            session = self._talk.of(name)
            if session.state is SessionState.ABSENT:
                session.state = SessionState.OPENING
                effects.append(OpenSession(name))

    def _answer_am(self, home: AllocateAnswer, effects: list[LedgerEffect]) -> None:
        """Answer the ApplicationMaster with the home's answer, and news from elsewhere."""
        answer, granted = self._outbox.compose(
            home, self._master.next_id, self._talk.elsewhere(), holds_back=self._gang.holds_back()
        )
        answer = replace(answer, asked_back=self._recalls.told())
        self._master.answered(answer)
        self._calls.settle()
        effects.extend(remembered(granted, self._remembered_otherwise, Fate.GIVEN, answer.response_id))
        effects.append(AnswerAM(answer))

    # ------------------------------------------------------------------ the schedulers' side

    def _beat(self, event: Beat, effects: list[LedgerEffect]) -> None:
        if not self._is_held and self._gang.pass_time(event.at_s):
            self._split(self._talk.capacities)
            self._say_news(effects)
            return
        session = self._talk.find(event.subcluster)
        if session is not None and session.state is SessionState.OPEN and session is not self._home:
            effects.append(self._say(session))

    def _session_opened(self, event: SessionOpened, effects: list[LedgerEffect]) -> None:
        if self._is_finished:
            effects.append(CloseSession(event.subcluster))
        else:
            effects.append(self._say(self._lives.opened(event)))

    def _answering(self, subcluster: SubClusterId, serial: int) -> Session | None:
        session = self._talk.find(subcluster)
        is_due = session is not None and session.in_flight is not None and session.in_flight.serial == serial
        return session if is_due else None

    def _session_answered(self, event: SessionAnswered, effects: list[LedgerEffect]) -> None:
        session = self._answering(event.subcluster, event.serial)
        if session is None:
            return
        answer = event.answer
        request = session.answered(answer.response_id)
        session.headroom, session.nodes = answer.headroom, answer.nodes
        self._intake.take(session, request, answer)
        self._intake.lose(session, session.lost())
        if overdue := session.overdue():
            effects.append(AskRunning(session.subcluster, tuple(overdue)))
        self._rejections.take(session, answer.rejected)
        is_home = session is self._home
        self._outbox.add(answer.node_tokens, b"" if is_home else answer.joined)
        if not is_home:
            if self._talk.is_believed_too_much(session):  # what was granted before a new count is granted once more
                effects.append(self._say(session))
            if self._asks.has_spares and self._talk.is_told and not self._is_finished:
                self._say_news(effects)  # what one has bound, the others are asked for no more
            return
        self._talk.is_resuming = False  # what was not asked in this call is asked in the next: each has one answer
        self._answer_am(answer, effects)

    def _session_refused(self, event: SessionRefused, effects: list[LedgerEffect]) -> None:
        session = self._answering(event.subcluster, event.serial)
        if session is None:
            return
        if event.expected_id is not None:
            request = session.renumber(self._talk.next_serial(), event.expected_id)
            assert request is not None  # noqa: S101 - it is under way
            effects.append(CallSession(session.subcluster, request))
            return
        request = session.refused()
        if session is self._home:
            self._calls.undo()
            effects.append(RefuseAM(event.java_class, event.message))
            return
        self._asks.refuse({ask.key for ask in request.asks} if request is not None else (), session.subcluster)

    def _session_forgotten(self, event: SessionForgotten, effects: list[LedgerEffect]) -> None:
        session = self._answering(event.subcluster, event.serial)
        if session is None or session.state is not SessionState.OPEN:
            return
        session.state = SessionState.OPENING
        request = session.refused()
        if session is not self._home:
            session.updates[:0] = request.updates if request is not None else ()
            effects.append(OpenSession(event.subcluster))
        elif self._master.call is not None:
            self._master.call = None
            self._calls.settle()
            effects.append(RefuseAM(NOT_REGISTERED, self._unregistered))

    def _recall(self, event: Recall, effects: list[LedgerEffect]) -> None:
        self._recalls.handle(event)
        if self._is_finished:
            return
        if self._talk.is_told:
            self._split(self._talk.capacities)
            self._open_needed(effects)
        self._say_news(effects)

    def _finished(self, effects: list[LedgerEffect]) -> None:
        self._is_finished = True
        self._splitter.clear()
        for session in self._talk.others:
            if session.state in (SessionState.OPEN, SessionState.OPENING):
                effects.append(CloseSession(session.subcluster))
            session.state = SessionState.CLOSED
