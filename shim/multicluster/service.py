"""The service that receives the calls of ApplicationMasters whose applications span sub-clusters.

One attempt that may hold containers of several sub-clusters: its ledger's effects, carried out.

The ledger (`shim.multicluster.core`) decides. The home is called inside the ApplicationMaster's own call, with its own
login; each further sub-cluster has a session (`sessions.py`).
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import structlog

from shim.concurrency.keep_going import aside
from shim.domain.allocations import SessionRequest
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, SubClusterId
from shim.errors import HeddleError, InvariantViolationError, StoreError
from shim.multicluster.core import (
    AMCalled,
    AMRegistered,
    AnswerAM,
    AskLedger,
    AskRunning,
    AttemptHoldings,
    CallSession,
    CapacityChanged,
    ClusterCapacity,
    Fate,
    Finished,
    FoundAtHome,
    LedgerEffect,
    LedgerEvent,
    NotRunning,
    OpenSession,
    Recall,
    RefuseAM,
    Remember,
    SessionAnswered,
    SessionForgotten,
    SessionRefused,
)
from shim.multicluster.core.events import PlanEffect, Proceed, PublishRequests
from shim.multicluster.core.intake import RESPONSE_IDS
from shim.multicluster.sessions import AttemptSessions, SessionTools
from shim.ports.attempt_calls import ALLOCATE, FINISH, REGISTER, Attempt, HomeSession
from shim.ports.multicluster_store import RegisteredAttempt
from shim.ports.resource_manager_rpc import RPCAnswer, RPCRefusal
from shim.protocol.hrpc import JavaClass
from shim.protocol.yarn.allocations import (
    ANSWER_AT_ONCE_BYTES,
    read_allocate_answer,
    read_allocate_call,
    read_registration,
    with_containers,
    write_allocate_answer,
    write_session_request,
)
from shim.protocol.yarn.placements import (
    ImposedConstraints,
    RegisteredConstraints,
    imposed_constraints,
    read_constraints,
)
from shim.protocol.yarn.unmanaged import expected_id

_ALREADY = "already registered"
_NOT_REGISTERED = JavaClass.APPLICATION_MASTER_NOT_REGISTERED
_READ_AT_ONCE_BYTES = 64 * 1024
"""A larger call is read in a thread: each of its rows costs 6 us."""
_WRITTEN_AT_ONCE = 1000
NODES_ARE_BACK_S = 60.0
"""After a ResourceManager's start NodeManagers come within `yarn.resourcemanager.connect.retry-interval.ms`: 30 s."""
_NOTED_WITHIN_S = 2.0
"""An answer waits no longer than this for the store to know what it gives."""


class MultiClusterAttempt:
    """One attempt: its ledger and its workers."""

    def __init__(self, attempt: Attempt, tools: SessionTools) -> None:
        self.attempt = attempt
        self.follows: MultiClusterAttempt | None = None
        self._tools = tools
        self._lock = asyncio.Lock()
        self._splitter, self._plans = tools.matching.enter(attempt, self._queue_at, self._tell)
        self._ledger: AskLedger | None = None
        self._constraints: RegisteredConstraints = {}
        self._imposed: ImposedConstraints = ()
        self._saved: RegisteredAttempt | None = None
        self._unanswered: RegisteredAttempt | None = (
            None  # a home answers a registration once: kept until its ApplicationMaster has it
        )
        self._is_forgotten = False  # the home said so to its end, which no ledger hears of
        self._has_taken_over = False
        self._sessions = AttemptSessions(attempt, tools, self._tell)
        self._notes: deque[tuple[Remember, str]] = deque()
        self._notary: asyncio.Task[None] | None = None
        self._recollection: asyncio.Task[None] | None = None
        self._questions: set[asyncio.Task[None]] = set()
        self._waits_since_s: float | None = None
        self._opened_s: dict[SubClusterId, float] = {}

    # ------------------------------------------------------------------ what the ApplicationMaster calls

    @property
    def holdings(self) -> AttemptHoldings:
        """Containers and wants of the attempt; empty before it has registered here."""
        return AttemptHoldings() if self._ledger is None else self._ledger.holdings

    def tell(self, event: Recall) -> None:
        """Tell the attempt what the Global Master wants of it."""
        self._tell(event)

    async def register(self, payload: bytes, home: HomeSession) -> RPCAnswer:
        async with self._lock:
            self._constraints = read_constraints(payload)
            # not with each call: a request may not change but in its count
            self._imposed = imposed_constraints(self._tools.matching.imposed_on(self.attempt.queue))
            saved, ledger = await self._find(), self._ledger
            is_new = saved is None or self._is_forgotten or (ledger is not None and ledger.needs_registration)
            if saved is not None and ledger is None and not saved.registrations and self._unanswered is None:
                self._unanswered = saved  # an earlier Heddle died before it answered
            if self._unanswered is not None:
                saved, is_new = self._unanswered, True
            elif is_new:
                answer = await home.call(REGISTER, payload)
                if answer.refusal is None:
                    before = 0 if saved is None else saved.registrations
                    saved = RegisteredAttempt(self.attempt.id, answer.payload, registrations=before)
                    self._unanswered, self._is_forgotten = saved, False
                elif saved is None or _ALREADY not in answer.refusal.message:
                    return answer
                else:
                    is_new = self._is_forgotten = False
            assert saved is not None  # noqa: S101 - known, or just made
            at = 0 if is_new else (saved.home_response_id if ledger is None else ledger.home_response_id)
            await self._keep(replace(saved, home_response_id=at))
            self._ledger = ledger or self._new_ledger()
            self._tell(AMRegistered(at, is_resumed=not is_new))
            registration = saved.registration if is_new else with_containers(saved.registration, (), (), instead=True)
            if not self._has_taken_over:
                registration = await self._take_over(registration, is_new=is_new)
                self._has_taken_over = True
                if is_new:
                    self._unanswered = saved = replace(saved, registration=registration)
            # counted once all is done: whoever comes after a crash has to answer what was not answered
            await self._keep(replace(saved, home_response_id=at, registrations=saved.registrations + 1))
            self._unanswered = None
            return RPCAnswer(registration)

    def _new_ledger(self) -> AskLedger:
        move_after_beats = self._tools.matching.move_after_beats
        return AskLedger(
            self.attempt.id, self.attempt.home_subcluster, self._splitter, self.attempt.gang, move_after_beats
        )

    async def _take_over(self, registration: bytes, *, is_new: bool) -> bytes:
        """Go on with what an earlier attempt had, or an earlier Heddle; see `AttemptSessions.resume`."""
        if self._recollection is None and (not is_new or read_registration(registration)[0]):
            self._recollection = aside("what runs at home", self._recollect())
        if self.follows is not None:
            await self.follows.stop()
            self.follows = None
        return await self._sessions.resume(registration, is_new=is_new)

    async def allocate(self, payload: bytes, home: HomeSession) -> RPCAnswer:
        """Ask for containers, wherever they may be had."""
        async with self._lock:
            if len(payload) > _READ_AT_ONCE_BYTES:
                call = await asyncio.to_thread(read_allocate_call, payload, self._constraints, self._imposed)
            else:
                call = read_allocate_call(payload, self._constraints, self._imposed)
            if self._ledger is None:
                saved = await self._find()
                if saved is None:  # it registered when its queue did not span: it lives at home
                    return await home.call(ALLOCATE, payload)
                at = (saved.home_response_id + call.response_id) % RESPONSE_IDS  # any number may be said
                unheard = saved.answer_id((call.response_id + 1) % RESPONSE_IDS)  # died with an earlier Heddle, if any
                await self._tools.store.withdraw(self.attempt.id.application, unheard)
                await self._keep(replace(saved, home_response_id=at))
                message = f"AM is not registered for known application attempt: {self.attempt.id}: Heddle has restarted"
                return _refusal(_NOT_REGISTERED, message)
            if self._plans is not None:
                self._plans.heard()
            now_s = self._tools.clock.monotonic_s()
            effects = self._handle(AMCalled(call, self._capacities(), now_s))
            if not self._ledger.wanted:
                self._waits_since_s = None
            elif self._waits_since_s is None:
                self._waits_since_s = now_s
            return await self._answer(effects, home)

    async def finish(self, payload: bytes, home: HomeSession) -> RPCAnswer:
        """End the sessions elsewhere, then the one at home."""
        async with self._lock:
            if self._ledger is not None:
                self._tell(Finished())
            await self._sessions.end(payload)
            answer = await home.call(FINISH, payload)
            refusal = answer.refusal
            self._is_forgotten = refusal is not None and refusal.java_class == _NOT_REGISTERED
            return answer

    def look_again(self) -> None:
        """Take note that other clusters may be asked for containers now."""
        self._tell(CapacityChanged(self._capacities()))

    async def stop(self) -> None:
        """Say nothing more; what is open stays so."""
        self._splitter.clear()
        for effect in self._splitter.drain():
            self._carry_out(effect)
        await self._sessions.stop()
        for task in (self._notary, self._recollection, *self._questions):
            if task is not None:
                task.cancel()

    # ------------------------------------------------------------------ where there is room

    def _capacities(self) -> tuple[ClusterCapacity, ...]:
        """The sub-clusters as they are known now."""
        waited_s = 0.0 if self._waits_since_s is None else self._tools.clock.monotonic_s() - self._waits_since_s
        return self._tools.capacities.look(
            self.attempt.home_subcluster,
            self.attempt.queue,
            self._sessions.usable,
            is_served=waited_s < self._tools.crossings.session_s,
        )

    def _queue_at(self, subcluster: SubClusterId) -> str | None:
        return self._tools.capacities.queue_at(subcluster, self.attempt.queue)

    # ------------------------------------------------------------------ what the ledger wants

    async def _answer(self, effects: Sequence[LedgerEffect], home: HomeSession) -> RPCAnswer:
        """Carry effects out until the ApplicationMaster has its answer."""
        at_home = self.attempt.home_subcluster
        due = deque(effects)
        answer: RPCAnswer | None = None
        gives = False
        while due:
            effect = due.popleft()
            match effect:
                case CallSession(name, request) if name == at_home:
                    told = await home.call(ALLOCATE, await _written(request))
                    due.extend(self._handle(await _event_of(at_home, request.serial, told)))
                case PublishRequests(is_urgent=True):  # what is newly asked for is planned within the call
                    self._carry_out(effect)
                    due.extend(self._handle(Proceed()))
                case AnswerAM(merged):
                    answer = RPCAnswer(write_allocate_answer(merged))
                case RefuseAM(java_class, message):
                    answer = _refusal(java_class, message)
                case _:
                    gives = gives or isinstance(effect, Remember)
                    self._carry_out(effect)
        if answer is None:
            raise InvariantViolationError(f"{self.attempt.id} called, and its ledger has no answer")
        if gives and self._notary is not None:  # an answer that arrives must be known to whoever comes after a crash
            await asyncio.wait({self._notary}, timeout=_NOTED_WITHIN_S)
        return answer

    def _handle(self, event: LedgerEvent) -> list[LedgerEffect]:
        if isinstance(event, SessionAnswered):
            self._note_crossings(event)
        return [] if self._ledger is None else self._ledger.handle(event)

    def _note_crossings(self, event: SessionAnswered) -> None:
        """Learn how long a session takes to bring a container, and how containers end here and elsewhere."""
        home, at, crossings = self.attempt.home_subcluster, event.subcluster, self._tools.crossings
        now_s = self._tools.clock.monotonic_s()
        if at != home and event.answer.grants:
            begun_s = self._opened_s.pop(at, None)
            if begun_s is not None:
                crossings.took(now_s - begun_s)
            for grant in event.answer.grants:
                crossings.granted(home, at, grant.container, now_s)
        for ended in event.answer.ended:
            crossings.ended(home, at, ended.container, ended.exit_status, now_s)

    def _tell(self, event: LedgerEvent) -> None:
        """Tell the ledger news of workers, which concern no call of the ApplicationMaster; carry out its effects."""
        for effect in self._handle(event):
            self._carry_out(effect)

    def _carry_out(self, effect: LedgerEffect) -> None:
        match effect:
            case CallSession(name, request):
                self._sessions.say(name, request)
            case OpenSession(name):
                self._opened_s[name] = self._tools.clock.monotonic_s()
                self._sessions.open(name)
            case Remember():
                assert self._saved is not None  # noqa: S101 - it has registered
                self._notes.append((effect, self._saved.answer_id(effect.answer)))
                if self._notary is None or self._notary.done():
                    self._notary = aside("notes of a span", self._write_notes())
            case AskRunning():
                question = aside("what runs after a restart", self._look_for(effect))
                self._questions.add(question)
                question.add_done_callback(self._questions.discard)
            case PlanEffect() if self._plans is not None:
                for event in self._plans.carry_out(effect):
                    self._tell(event)
            case _:
                pass  # sessions are closed by `finish`, which waits for them

    async def _write_notes(self) -> None:
        """Keep what another Heddle would have to know; a note that is not written costs one container at most."""
        store, application = self._tools.store, self.attempt.id.application
        while self._notes:
            note, answer = self._notes.popleft()
            try:
                if note.fate is Fate.GIVEN:
                    await store.give(application, note.subcluster, note.containers, answer)
                else:
                    await store.take(application, note.subcluster, note.containers)
            except HeddleError as exc:
                _log.warning("a note of a span is not kept", application=str(application), reason=str(exc))

    async def _recollect(self) -> None:
        """Learn what an earlier ledger was granted at home, or an earlier attempt whose containers were kept.

        What runs there is asked for before what was given: whatever was given meanwhile is in the store by then.
        """
        attempt = self.attempt
        running = await self._tools.running(attempt.id, attempt.home_subcluster, attempt.user) or ()
        self._tell(FoundAtHome(running, await self._given_at_home()))

    async def _look_for(self, asked: AskRunning) -> None:
        """Learn which of some containers a ResourceManager that has restarted does not know, once its nodes are back.

        By the clock: how much time some answers take is for whoever calls to say.
        """
        await self._tools.clock.sleep(NODES_ARE_BACK_S)
        attempt = max(container.attempt for container in asked.containers)  # of Heddle's own ApplicationMaster there
        running = await self._tools.running(attempt, asked.subcluster, self.attempt.user)
        if running is not None:
            known = {each.grant.container for each in running}
            self._tell(NotRunning(asked.subcluster, tuple(each for each in asked.containers if each not in known)))

    async def _given_at_home(self) -> frozenset[ContainerId] | None:
        """Containers that the ApplicationMaster was given at home; None if it has all that was granted, or unknown."""
        if self.attempt.gang is None:
            return None
        try:
            given = await self._tools.store.containers(self.attempt.id.application)
        except StoreError as exc:
            _log.warning("what was held for a gang is not known", attempt=str(self.attempt.id), reason=str(exc))
            return None
        return given.get(self.attempt.home_subcluster, frozenset())

    async def _find(self) -> RegisteredAttempt | None:
        if self._saved is None:
            self._saved = await self._tools.store.find_attempt(self.attempt.id)
        return self._saved

    async def _keep(self, saved: RegisteredAttempt) -> None:
        await self._tools.store.save_attempt(saved)
        self._saved = saved


async def _written(request: SessionRequest) -> bytes:
    """A request as it is sent; a large one is written in a thread."""
    if len(request.asks) + len(request.releases) + len(request.updates) < _WRITTEN_AT_ONCE:
        return write_session_request(request)
    return await asyncio.to_thread(write_session_request, request)


async def _event_of(home: SubClusterId, serial: int, told: RPCAnswer) -> LedgerEvent:
    refusal = told.refusal
    if refusal is None:
        is_large = len(told.payload) > ANSWER_AT_ONCE_BYTES
        read = asyncio.to_thread(read_allocate_answer, told.payload) if is_large else None
        return SessionAnswered(home, serial, read_allocate_answer(told.payload) if read is None else await read)
    if refusal.java_class == _NOT_REGISTERED:
        return SessionForgotten(home, serial)
    return SessionRefused(home, serial, refusal.java_class, refusal.message, expected_id(refusal.message))


def _refusal(java_class: str, message: str) -> RPCAnswer:
    return RPCAnswer(b"", RPCRefusal(java_class, message))


_log = structlog.get_logger("heddle.span")


class MultiClusterService:
    """Implements `AttemptService`."""

    def __init__(self, tools: SessionTools) -> None:
        self._tools = tools
        self._attempts: dict[ApplicationId, MultiClusterAttempt] = {}

    def enter(self, attempt: Attempt, home: HomeSession) -> "MultiClusterCalls":
        """An ApplicationMaster has logged in; a new attempt takes the place of the last."""
        application = attempt.id.application
        known = self._attempts.get(application)
        if known is None or known.attempt.id < attempt.id:
            before, known = known, MultiClusterAttempt(attempt, self._tools)
            known.follows = before
            self._attempts[application] = known
        return MultiClusterCalls(known, home)

    async def was_read(self, attempt: ApplicationAttemptId) -> bool:
        """True if calls of its application were read before, here or by an earlier Heddle; False if nobody can tell."""
        if attempt.application in self._attempts:
            return True
        store = self._tools.store
        try:
            return await store.find_attempt(attempt) is not None or bool(await store.sessions(attempt.application))
        except StoreError as exc:
            _log.warning("taken for one whose calls pass through", attempt=str(attempt), reason=str(exc))
            return False

    @property
    def spans(self) -> Sequence[MultiClusterAttempt]:
        """The newest attempt of each."""
        return tuple(self._attempts.values())

    @property
    def applications(self) -> Sequence[ApplicationId]:
        """Applications whose ApplicationMasters have logged in."""
        return tuple(self._attempts)

    def look_again(self) -> None:
        """Operators' words have changed: split every attempt's asks again now, not at its next call."""
        for span in self._attempts.values():
            span.look_again()

    async def end(self, application: ApplicationId) -> None:
        """An application has ended: nothing is said on its behalf any more."""
        span = self._attempts.pop(application, None)
        if span is not None:
            await span.stop()

    async def close(self) -> None:
        """Heddle ends: the sessions go on without it, for whoever comes next."""
        for span in self._attempts.values():
            await span.stop()
        self._attempts.clear()


class MultiClusterCalls:
    """Implements `AttemptCalls`: one connection of an attempt's ApplicationMaster."""

    def __init__(self, span: "MultiClusterAttempt", home: HomeSession) -> None:
        self._span = span
        self._home = home

    async def register(self, payload_untrusted: bytes) -> RPCAnswer:
        return await self._span.register(payload_untrusted, self._home)

    async def allocate(self, payload_untrusted: bytes) -> RPCAnswer:
        return await self._span.allocate(payload_untrusted, self._home)

    async def finish(self, payload_untrusted: bytes) -> RPCAnswer:
        return await self._span.finish(payload_untrusted, self._home)

    def leave(self) -> None:
        """The ApplicationMaster may well come back: its sessions go on."""
