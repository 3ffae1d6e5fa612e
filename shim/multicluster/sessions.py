"""Sessions of an attempt with the schedulers of further sub-clusters: opened, resumed, ended.

One session of one application in a further sub-cluster: opened, spoken to at a beat, opened again, ended.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum

import structlog

from shim.domain.allocations import Grant, NodeToken, RunningContainer, SessionRequest
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.errors import CannotSpanError, HeddleError, RemoteProtocolError, ResourceManagerError, StoreError
from shim.multicluster.capacity import ClusterCapacities
from shim.multicluster.core import (
    Beat,
    LedgerEvent,
    SessionAnswered,
    SessionForgotten,
    SessionLost,
    SessionOpened,
    SessionRefused,
)
from shim.multicluster.core.crossings import Crossings
from shim.multicluster.splitters import AttemptMatching
from shim.multicluster.unmanaged import Opened, UnmanagedAMs
from shim.ports.attempt_calls import ALLOCATE, Attempt
from shim.ports.clock import Clock
from shim.ports.multicluster_store import MultiClusterStore, RemoteSession
from shim.ports.resource_manager_rpc import RPCRefusal
from shim.protocol.hrpc import JavaClass
from shim.protocol.yarn.allocations import (
    ANSWER_AT_ONCE_BYTES,
    read_allocate_answer,
    read_registration,
    with_containers,
    write_session_request,
)
from shim.protocol.yarn.unmanaged import expected_id

_log = structlog.get_logger("heddle.span")

_UNKNOWN_THERE = frozenset(
    {
        JavaClass.APPLICATION_MASTER_NOT_REGISTERED,
        JavaClass.APPLICATION_ATTEMPT_NOT_FOUND,
        JavaClass.INVALID_TOKEN,
        JavaClass.SASL,
    }
)
"""The scheduler has restarted, or somebody ended the ApplicationMaster there: opening it again tells which."""


class _Outcome(Enum):
    """Outcome of a call."""

    HEARD = "heard"
    SILENT = "silent"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """Settings of sessions.

    Attributes:
        lost_after_s: A sub-cluster that is silent for longer is given up, with its containers.
        retry_s: From one failed opening to the next.
    """

    beat_s: float
    lost_after_s: float
    answer_within_s: float = 10.0
    retry_s: float = 2.0


class SessionWorker:
    """Holds a session. Start with `start`; everything that happens is told to the ledger through `tell`.

    Args:
        open_: Registers Heddle's own ApplicationMaster.
        settings: Heartbeats, and after how long a silent session is lost.
        known: Containers that the ApplicationMaster, or the attempt before it, was given.
        hands_over: Whether a new attempt is told of those that are listed as the session is opened first.
    """

    def __init__(
        self,
        subcluster: SubClusterId,
        open_: Callable[[], Awaitable[Opened]],
        tell: Callable[[LedgerEvent], None],
        keep: Callable[[bytes, Sequence[NodeToken]], Awaitable[None]],
        clock: Clock,
        settings: SessionSettings,
        known: frozenset[ContainerId] = frozenset(),
        *,
        hands_over: bool = False,
    ) -> None:
        self.is_usable = True
        self.opened: asyncio.Future[Opened | None] = asyncio.get_running_loop().create_future()
        self._subcluster = subcluster
        self._open = open_
        self._tell = tell
        self._keep = keep
        self._clock = clock
        self._settings = settings
        self._known, self._orphans = known, frozenset[ContainerId]()
        self._hands_over = hands_over
        self._request: SessionRequest | None = None
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._now: Opened | None = None
        self._token: bytes = b""
        self._node_tokens: dict[NodeId, NodeToken] = {}

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name=f"span to {self._subcluster}")

    def say(self, request: SessionRequest) -> None:
        self._request = request
        self._wake.set()

    async def stop(self) -> Opened | None:
        """Say nothing more; return what is open, for whoever ends it."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        opened, self._now = self._now, None
        return opened

    async def _run(self) -> None:
        try:
            while True:
                opened = await self._opening()
                if opened is None:
                    return
                await self._talk(opened)
                await opened.login.close()
        except RemoteProtocolError as exc:
            self._give_up(f"its scheduler answers with {exc}")
        except Exception:  # noqa: BLE001 - the boundary of a task: a bug is told, and the sub-cluster given up
            _log.exception("a span broke", subcluster=self._subcluster)
            self._give_up("a fault of Heddle's")
        finally:
            if not self.opened.done():
                self.opened.set_result(None)

    async def _opening(self) -> Opened | None:
        """Open the session however long it takes; None if that is hopeless."""
        began_s = self._clock.monotonic_s()
        while True:
            try:
                self._now = opened = await self._open()
            except CannotSpanError as exc:
                self._give_up(str(exc))
                return None
            except HeddleError as exc:
                is_late = self._clock.monotonic_s() - began_s >= self._settings.lost_after_s
                if self.is_usable and (is_late or not self.opened.done()):
                    self._give_up(str(exc))
                await self._clock.sleep(self._settings.retry_s)
                continue
            self.is_usable = True
            self._request = None
            if self._hands_over:  # a new ApplicationMaster is told of what is listed now, and of nothing later
                self._leave_but({grant.container for grant in opened.live})
            self._tell(
                SessionOpened(self._subcluster, opened.live, opened.node_tokens, self._known, orphans=self._orphans)
            )
            self._known = self._orphans = frozenset()
            if not self.opened.done():
                self.opened.set_result(opened)
            return opened

    def hand_over_nothing(self) -> None:
        """The new ApplicationMaster was not told of anything there: what its predecessor had is to be released."""
        self._leave_but(())

    def _leave_but(self, listed: Iterable[ContainerId]) -> None:
        kept = self._known.intersection(listed)
        self._known, self._orphans = kept, self._orphans | (self._known - kept)

    def _give_up(self, reason: str) -> None:
        self.is_usable = False
        if not self.opened.done():
            self.opened.set_result(None)
        _log.warning("a sub-cluster is given up by an application", subcluster=self._subcluster, reason=reason)
        self._tell(SessionLost(self._subcluster, reason))

    async def _talk(self, opened: Opened) -> None:
        heard_s = self._clock.monotonic_s()
        while True:
            request = self._next_request()
            outcome = _Outcome.HEARD if request is None else await self._exchange(opened, request)
            if outcome is _Outcome.ENDED:
                return
            if outcome is _Outcome.HEARD:
                heard_s = self._clock.monotonic_s()
            elif self._clock.monotonic_s() - heard_s >= self._settings.lost_after_s:
                self._give_up(f"silent for {self._settings.lost_after_s:g} s")
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(self._settings.beat_s):
                    await self._wake.wait()

    def _next_request(self) -> SessionRequest | None:
        if self._request is None:
            self._tell(Beat(self._subcluster, self._clock.monotonic_s()))  # comes back by `say`
        request, self._request = self._request, None
        self._wake.clear()
        return request

    async def _exchange(self, opened: Opened, request: SessionRequest) -> _Outcome:
        try:
            answer = await opened.login.call(
                ALLOCATE, write_session_request(request), timeout_s=self._settings.answer_within_s
            )
        except ResourceManagerError as exc:
            _log.info("a scheduler does not answer", subcluster=self._subcluster, reason=str(exc))
            return _Outcome.SILENT
        if answer.refusal is not None:
            return self._refused(request, answer.refusal)
        is_large = len(answer.payload) > ANSWER_AT_ONCE_BYTES
        read = asyncio.to_thread(read_allocate_answer, answer.payload) if is_large else None
        told = read_allocate_answer(answer.payload) if read is None else await read
        self._tell(SessionAnswered(self._subcluster, request.serial, told))
        self._token = told.am_rm_token or self._token
        self._node_tokens |= {each.node: each for each in told.node_tokens}
        await self._keep_tokens()
        return _Outcome.HEARD

    async def _keep_tokens(self) -> None:
        """Store what came; while the store is away it is kept here, and stored with what comes next."""
        if not self._token and not self._node_tokens:
            return
        try:
            await self._keep(self._token, tuple(self._node_tokens.values()))
        except StoreError as exc:
            _log.warning("tokens of a span are not stored yet", subcluster=self._subcluster, reason=str(exc))
        else:
            self._token = b""
            self._node_tokens.clear()

    def _refused(self, request: SessionRequest, refusal: RPCRefusal) -> _Outcome:
        java_class, message = refusal.java_class, refusal.message
        if java_class in _UNKNOWN_THERE:
            self._tell(SessionForgotten(self._subcluster, request.serial))
            return _Outcome.ENDED
        _log.warning("a scheduler refuses", subcluster=self._subcluster, java_class=java_class, message=message)
        self._tell(SessionRefused(self._subcluster, request.serial, java_class, message, expected_id(message)))
        return _Outcome.HEARD


_KEPT_WITHIN_S = 5.0


@dataclass(frozen=True, slots=True)
class SessionTools:
    """Collaborators of every attempt's sessions.

    Attributes:
        keeps_containers: Whether an application asked for its containers to outlive its attempts.
        running: What runs in a sub-cluster for an attempt and its user; None if nobody tells.
        crossings: What is known of the ways between sub-clusters.
    """

    unmanaged_ams: UnmanagedAMs
    store: MultiClusterStore
    capacities: ClusterCapacities
    matching: AttemptMatching
    clock: Clock
    settings: SessionSettings
    keeps_containers: Callable[[ApplicationId], Awaitable[bool]]
    running: Callable[[ApplicationAttemptId, SubClusterId, str], Awaitable[tuple[RunningContainer, ...] | None]]
    crossings: Crossings = field(default_factory=Crossings)


class AttemptSessions:
    """The sessions of one attempt beyond its home."""

    def __init__(self, attempt: Attempt, tools: SessionTools, tell: Callable[[LedgerEvent], None]) -> None:
        self._attempt = attempt
        self._tools = tools
        self._tell = tell
        self._workers: dict[SubClusterId, SessionWorker] = {}
        self._sessions: dict[SubClusterId, RemoteSession] = {}

    @property
    def usable(self) -> Mapping[SubClusterId, bool]:
        """Sub-clusters with a session, each True if containers may be asked for there."""
        return {name: worker.is_usable for name, worker in self._workers.items()}

    def say(self, subcluster: SubClusterId, request: SessionRequest) -> None:
        """Send a request to a sub-cluster next, at once; nothing, where nothing is open."""
        if subcluster in self._workers:
            self._workers[subcluster].say(request)

    def open(self, subcluster: SubClusterId) -> None:
        """Begin a session; nothing, if there is one."""
        attempt = self._attempt
        self._open(RemoteSession(attempt.id.application, subcluster, attempt.home_subcluster, attempt.user))

    def _open(
        self, session: RemoteSession, known: frozenset[ContainerId] = frozenset(), *, hands_over: bool = False
    ) -> SessionWorker:
        name = session.subcluster
        if name in self._workers:
            return self._workers[name]
        self._sessions[name] = session

        async def open_() -> Opened:
            queue = self._tools.capacities.called_at(name, self._attempt.queue)
            newest = await self._tools.store.sessions(session.application)
            current = next((each for each in newest if each.subcluster == name), session)
            opened = await self._tools.unmanaged_ams.open(current, queue)
            self._sessions[name] = opened.session
            return opened

        async def keep(token: bytes, node_tokens: Sequence[NodeToken]) -> None:
            current = self._sessions[name]
            known = {each.node: each for each in read_registration(current.node_tokens)[1]}
            new = known | {each.node: each for each in node_tokens}
            kept = replace(current, token=token or current.token, node_tokens=with_containers(b"", (), new.values()))
            if kept != current:
                await self._tools.store.save_session(kept)
                self._sessions[name] = kept

        tools = self._tools
        clock, settings = tools.clock, tools.settings
        worker = SessionWorker(name, open_, self._tell, keep, clock, settings, known, hands_over=hands_over)
        self._workers[name] = worker
        worker.start()
        return worker

    async def resume(self, registration: bytes, *, is_new: bool) -> bytes:
        """Take over the sessions of an earlier attempt, or of an earlier Heddle.

        Returns:
            The answer to the registration; a new attempt that keeps containers finds those of all sub-clusters in it.
        """
        tools, application = self._tools, self._attempt.id.application
        sessions = await tools.store.sessions(application)
        if not sessions:
            return registration
        given = await tools.store.containers(application)
        keeps = not is_new or await tools.keeps_containers(application)
        if not keeps:
            for name, containers in given.items():  # they are given back: nobody shall miss them later
                await tools.store.take(application, name, containers)
        workers = {
            each.subcluster: self._open(each, given.get(each.subcluster, frozenset()), hands_over=is_new)
            for each in sessions
        }
        if not keeps:
            for worker in workers.values():
                worker.hand_over_nothing()
        return await self._with_kept(registration, workers, given) if keeps and is_new else registration

    async def _with_kept(
        self,
        registration: bytes,
        workers: Mapping[SubClusterId, SessionWorker],
        given: Mapping[SubClusterId, frozenset[ContainerId]],
    ) -> bytes:
        application = self._attempt.id.application
        for name, worker in workers.items():
            await asyncio.wait({worker.opened}, timeout=_KEPT_WITHIN_S)
            opened = worker.opened.result() if worker.opened.done() else None
            had, kept = given.get(name, frozenset()), list[Grant]()
            if opened is None:
                worker.hand_over_nothing()
            else:
                kept = [grant for grant in opened.live if grant.container in had]
                registration = with_containers(registration, kept, opened.node_tokens)
            if lost := had.difference(grant.container for grant in kept):
                await self._tools.store.take(application, name, lost)
        return registration

    async def _end(self, name: SubClusterId, payload: bytes) -> None:
        worker = self._workers.pop(name)
        opened = await worker.stop()
        session = self._sessions[name]
        if opened is not None:
            await self._tools.unmanaged_ams.finish(session, opened.login, payload)
        else:
            await self._tools.unmanaged_ams.end(session, "its application has ended")

    async def end(self, payload: bytes) -> None:
        """The application has ended: end all of them.

        Args:
            payload: What its ApplicationMaster said to its home.
        """
        await asyncio.gather(*(self._end(name, payload) for name in tuple(self._workers)))

    async def stop(self) -> None:
        """Say nothing more; what is open stays so."""
        for worker in self._workers.values():
            opened = await worker.stop()
            if opened is not None:
                await opened.login.close()
        self._workers.clear()
