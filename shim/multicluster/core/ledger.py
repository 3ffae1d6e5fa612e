"""The ask ledger of one application attempt: one ApplicationMaster in front, any number of schedulers behind.

The home is called when the ApplicationMaster calls, with its own login; the other sub-clusters at a beat of their own,
and at once when something changes for them. What they say waits for the ApplicationMaster's next answer.

Two rules keep containers from being asked for twice. A count is raised at one scheduler only by as much as no other one
may still grant, but for spares that a late-binding policy wants. And a container that nobody wants (any more) is
released before the ApplicationMaster hears of it.

Source: the rules for response ids are those of `ApplicationMasterService.allocate`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from shim.domain.allocations import ANY, LOST_EXIT_STATUS, AllocateAnswer, Ask, AskKey, Ended
from shim.domain.gangs import Gang
from shim.domain.ids import ApplicationAttemptId, ContainerId, SubClusterId
from shim.errors import InvariantViolationError
from shim.multicluster.core.ask_group import AskGroup, rows_by_key
from shim.multicluster.core.asks import AskBook
from shim.multicluster.core.bounds import refusal_of
from shim.multicluster.core.cluster_capacity import ClusterCapacity
from shim.multicluster.core.containers import Container, ContainerBook, ContainerState
from shim.multicluster.core.conversations import Conversations
from shim.multicluster.core.events import (
    AMCalled,
    AMRegistered,
    AnswerAM,
    AskRunning,
    Beat,
    CallSession,
    CapacityChanged,
    CloseSession,
    Fate,
    Finished,
    FoundAtHome,
    LedgerEffect,
    LedgerEvent,
    NotRunning,
    OpenSession,
    Recall,
    RefuseAM,
    SessionAnswered,
    SessionForgotten,
    SessionLost,
    SessionOpened,
    SessionRefused,
)
from shim.multicluster.core.gangs import GangHold
from shim.multicluster.core.intake import Intake
from shim.multicluster.core.master_side import Heard, MasterSide
from shim.multicluster.core.outbox import Outbox, remembered
from shim.multicluster.core.plan_events import AllocationsVerified, PlanEvent, Proceed
from shim.multicluster.core.recalls import AttemptHoldings, Recalls
from shim.multicluster.core.rejections import Rejections
from shim.multicluster.core.session import Session, SessionState
from shim.multicluster.core.splitter import AskSplitter

__all__ = ["NOT_REGISTERED", "AskLedger"]

NOT_REGISTERED = "org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException"
_INVALID = "org.apache.hadoop.yarn.exceptions.InvalidApplicationMasterRequestException"
_WANTED = frozenset({ContainerState.QUEUED, ContainerState.GIVEN})


class AskLedger:
    """See the module. Mutate through `handle` only; it never reads a clock.

    Args:
        attempt: Whose ledger it is.
        home: Where its ApplicationMaster runs.
        splitter: Decides which sub-cluster is asked.
        gang: Containers that are given together; None where each is by itself.
        patience: Beats without a grant after which an ask with a placement may move.
        grace: Answers of a scheduler that has restarted, before its ResourceManager is asked about containers that it
            may not know: its nodes turn up within 30 s by `yarn.resourcemanager.connect.retry-interval.ms`.
    """

    def __init__(
        self,
        attempt: ApplicationAttemptId,
        home: SubClusterId,
        splitter: AskSplitter,
        gang: Gang | None = None,
        patience: int = 10,
        grace: int = 90,
    ) -> None:
        self._attempt = attempt
        self._master = MasterSide(attempt)
        self._splitter = splitter
        self._containers = ContainerBook(splitter)
        self._asks = AskBook(self._containers, patience)
        self._talk = Conversations(home, self._asks)
        self._home = self._talk.home
        self._outbox = Outbox(self._containers)
        self._gang = GangHold(attempt, gang, self._asks, self._containers, self._talk)
        self._intake = Intake(self._asks, self._containers, self._talk, splitter, self._gang)
        self._recalls = Recalls(self._asks, self._containers, self._talk)
        self._rejections = Rejections(self._asks, self._containers, self._talk, self._outbox)
        self._before: tuple[Mapping[AskKey, AskGroup | None], frozenset[str]] | None = None
        self._grace = grace
        self._is_finished = False
        self._is_held = False
        self._unregistered = f"AM is not registered for known application attempt: {attempt}"

    @property
    def sessions(self) -> Mapping[SubClusterId, SessionState]:
        """State of each session that was ever needed."""
        return {session.subcluster: session.state for session in self._talk}

    @property
    def needs_registration(self) -> bool:
        """Tell whether the home has to be told of the ApplicationMaster (again)."""
        return self._home.state is not SessionState.OPEN

    @property
    def home_response_id(self) -> int:
        """Response id that the home expects next, unless it has taken a request that it did not answer."""
        return self._home.response_id

    @property
    def containers(self) -> Mapping[ContainerId, ContainerState]:
        """Containers that are not done with."""
        return {each.id: each.state for each in self._containers}

    @property
    def holdings(self) -> AttemptHoldings:
        """Containers and wants of the attempt."""
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
                self._not_running(event)
            case SessionLost():
                self._session_lost(event)
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
        self._asks.clear(self._containers.on_way())
        self._outbox.forget_rejected()
        self._splitter.begin_anew()
        self._talk.blacklist = frozenset()
        self._talk.is_told = False
        self._is_held = False
        self._talk.is_resuming = event.is_resumed
        self._master.registered()
        if self._home.was_open and not event.is_resumed:
            self._expect(self._home)
        self._home.reopen(event.home_response_id)

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
        self._master.call = call
        self._before = self._asks.snapshot(rows_by_key(call.asks)), self._talk.blacklist
        self._asks.tell(call.asks, self._containers.on_way(), adds=self._home.adds)
        self._asks.count_call()
        self._take_back(call.asks)
        self._talk.is_told = True
        self._talk.blacklist = (self._talk.blacklist | set(call.blacklist_additions)) - set(call.blacklist_removals)
        for container in call.releases:
            self._owner(container).releases[container] = None
            self._containers.give_back(container, is_used=not self._master.was_just_given(container))
        for update in call.updates:
            self._owner(update.container).updates.append(update)
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

    def _take_back(self, asks: Iterable[Ask]) -> None:
        """Release what the ApplicationMaster wanted and has not been given, if it wants less than that by now."""
        waiting = self._containers.on_way()
        said = [ask for ask in asks if ask.place == ANY and not self._home.adds_up(ask.key)]
        surplus = Counter({ask.key: waiting[ask.key] - ask.count for ask in said})
        for container in reversed(self._containers.in_state(ContainerState.QUEUED)):
            if container.key is not None and surplus[container.key] > 0:
                surplus[container.key] -= 1
                container.become_surplus()
                self._talk.of(container.subcluster).releases[container.id] = None

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

    def _owner(self, container: ContainerId) -> Session:
        """Return the session whose scheduler gave a container: the home's, if nobody knows."""
        known = self._containers.find(container)
        return self._home if known is None else self._talk.of(known.subcluster)

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
        self._before = None
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
        session = self._talk.of(event.subcluster)
        if self._is_finished:
            effects.append(CloseSession(event.subcluster))
            return
        self._outbox.tell_of(session.places if session.is_lost else (), is_lost=False)
        session.reopen(0)
        if event.known:
            self._gang.begun()
        live = {grant.container: grant for grant in event.live}
        for name in event.known:
            if self._containers.find(name) is None and not self._containers.is_done(name):
                known = Container(name, event.subcluster, ContainerState.GIVEN, grant=live.get(name))
                self._containers.add(known)
        for name in sorted(live):
            if self._containers.find(name) is None:
                self._containers.add(Container(name, event.subcluster, ContainerState.SURPLUS))
        mine = self._containers.of(event.subcluster)
        unwanted = (each.id for each in mine if each.id in live and each.state not in _WANTED)
        session.releases |= dict.fromkeys(unwanted)  # those that were given up with their sub-cluster, too
        self._expect(session, besides=live)
        self._outbox.add(event.node_tokens)
        effects.append(self._say(session))

    def _expect(self, session: Session, besides: Iterable[ContainerId] = ()) -> None:
        """A scheduler has restarted: it may know nothing of what it gave, but for what it has listed."""
        mine = [each.id for each in self._containers.of(session.subcluster) if each.ended is None]
        session.expect(sorted(set(mine).difference(besides)), self._grace)

    def _not_running(self, event: NotRunning) -> None:
        session = self._talk.find(event.subcluster)
        if session is not None and session.state is SessionState.OPEN:
            self._intake.lose(session, event.containers)

    def _answering(self, subcluster: SubClusterId, serial: int) -> Session | None:
        """The session that waits for this answer; None for a late answer to a request that was given up."""
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
            self._take_back_call()
            effects.append(RefuseAM(event.java_class, event.message))
            return
        self._asks.refuse({ask.key for ask in request.asks} if request is not None else (), session.subcluster)

    def _take_back_call(self) -> None:
        """The home refused the call whole: nothing of it is said again, or every later one would be refused."""
        call, self._master.call = self._master.call, None
        if self._before is not None:
            before, self._talk.blacklist = self._before
            self._asks.restore(before)
            self._before = None
        for container in call.releases if call is not None else ():
            if self._containers.find(container) is None:
                self._home.releases.pop(container, None)

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
            self._master.call, self._before = None, None
            effects.append(RefuseAM(NOT_REGISTERED, self._unregistered))

    def _session_lost(self, event: SessionLost) -> None:
        session = self._talk.find(event.subcluster)
        if session is None or session is self._home:
            return
        session.give_up()
        self._outbox.tell_of(session.places, is_lost=True)
        self._asks.leave(event.subcluster)
        for container in self._containers.of(event.subcluster):
            if container.state is ContainerState.GIVEN:
                diagnostics = f"sub-cluster {event.subcluster} is lost: {event.reason}"
                self._containers.end(container, Ended(container.id, LOST_EXIT_STATUS, diagnostics))
            elif self._gang.lost(container):
                continue
            elif container.state in (ContainerState.QUEUED, ContainerState.SURPLUS):
                if container.key is not None:
                    self._asks.give_back(container.key)
                self._containers.forget([container])

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
