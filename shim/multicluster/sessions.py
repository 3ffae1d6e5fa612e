"""Sessions of an attempt with the schedulers of further sub-clusters: opened, resumed, ended."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from shim.domain.allocations import Grant, NodeToken, RunningContainer, SessionRequest
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, SubClusterId
from shim.multicluster.capacity import ClusterCapacities
from shim.multicluster.core import LedgerEvent
from shim.multicluster.core.crossings import Crossings
from shim.multicluster.session_worker import SessionSettings, SessionWorker
from shim.multicluster.splitters import AttemptMatching
from shim.multicluster.unmanaged import Opened, UnmanagedAMs
from shim.ports.attempt_calls import Attempt
from shim.ports.clock import Clock
from shim.ports.multicluster_store import MultiClusterStore, RemoteSession
from shim.protocol.yarn.allocations import read_registration, with_containers

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
    """The sessions of one attempt beyond its home.

    Args:
        attempt: Whose they are.
        tools: What every span needs.
        tell: Takes what the schedulers say.
    """

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
            queue = self._tools.capacities.queue_at(name, self._attempt.queue)
            newest = await self._tools.store.sessions(session.application)
            current = next((each for each in newest if each.subcluster == name), session)
            opened = await self._tools.unmanaged_ams.open(current, queue or self._attempt.queue)
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
