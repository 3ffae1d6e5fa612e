"""Heddle's own ApplicationMasters: one in each further sub-cluster that an application uses, under the same id.

    (nothing) ──save the intent──submit──▶ accepted ──save the token──register──▶ registered ──finish──▶ (nothing)

The token is shown only before the first registration, so it is in the store before that. Whatever dies in between, the
next one begins at the top: what is there already is taken as done.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import structlog

from shim.domain.allocations import Grant, NodeToken
from shim.domain.applications import SPAN_TAG
from shim.domain.ids import SubClusterId
from shim.errors import CannotSpanError, HeddleError, NoAnswerError, ResourceManagerError
from shim.ports.attempt_calls import FINISH, REGISTER
from shim.ports.clock import Clock
from shim.ports.multicluster_store import MultiClusterStore, RemoteSession
from shim.ports.resource_manager_rpc import ResourceManagerRPC, RPCAnswer, RPCCall, RPCRefusal
from shim.ports.scheduler_login import SchedulerLogin, SchedulerLogins
from shim.protocol.hrpc import JavaClass
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.yarn.allocations import read_registration
from shim.protocol.yarn.unmanaged import (
    REGISTRATION,
    is_finished,
    is_killed,
    kill_message,
    read_report,
    report_message,
    unmanaged_submission,
)
from shim.telemetry.application_life import LifeEvent, tell

_log = structlog.get_logger("heddle.span")


@dataclass(frozen=True, slots=True)
class UnmanagedSettings:
    """Patience.

    Attributes:
        token_within_s: For a ResourceManager to accept a submission and to show its token.
        tries: How often an end is asked for before the next sweep does it.
    """

    answer_within_s: float = 5.0
    token_within_s: float = 20.0
    poll_s: float = 0.1
    tries: int = 20


@dataclass(frozen=True, slots=True)
class Opened:
    """An ApplicationMaster that has registered.

    Attributes:
        live: Containers that run there for the application.
    """

    session: RemoteSession
    login: SchedulerLogin
    live: tuple[Grant, ...]
    node_tokens: tuple[NodeToken, ...]


class UnmanagedAMs:
    """Starts, registers and ends ApplicationMasters.

    Args:
        rpcs: The sub-clusters' client RPC servers.
    """

    def __init__(
        self,
        rpcs: Mapping[SubClusterId, ResourceManagerRPC],
        logins: SchedulerLogins,
        store: MultiClusterStore,
        clock: Clock,
        settings: UnmanagedSettings | None = None,
    ) -> None:
        self._rpcs = rpcs
        self._logins = logins
        self._store = store
        self._clock = clock
        self._settings = settings or UnmanagedSettings()

    async def open(self, session: RemoteSession, queue: str) -> Opened:
        """Have an ApplicationMaster registered, whether or not there is one already.

        Args:
            session: Whose; with the token, if it is known.
            queue: In the words of the sub-cluster.

        Raises:
            CannotSpanError: The sub-cluster will not have it.
            ResourceManagerError: It does not answer now.
            StoreUnavailableError: The token could not be kept.
        """
        if not session.token:
            session = await self._start(session, queue)
        login = self._logins.log_in(session.subcluster, session.token)
        try:
            live, fresh = read_registration(await self._register(session, login))
            kept = read_registration(session.node_tokens)[1]
        except BaseException:
            await login.close()
            raise
        tokens = tuple({token.node: token for token in (*kept, *fresh)}.values())  # those of before are not given again
        tell(LifeEvent.SPANS, session.application, cluster=session.subcluster, home=session.home)
        return Opened(session, login, live, tokens)

    async def _register(self, session: RemoteSession, login: SchedulerLogin) -> bytes:
        answer = await login.call(REGISTER, REGISTRATION, timeout_s=self._settings.answer_within_s)
        if answer.refusal is not None:
            raise await self._trouble(session, answer.refusal)
        return answer.payload

    async def _trouble(self, session: RemoteSession, refusal: RPCRefusal) -> HeddleError:
        """Reason why an ApplicationMaster is not registered: it has ended, or its ResourceManager is not ready yet."""
        report = await self._call(session, "getApplicationReport", report_message(session.application))
        said = f"does not register {session.application}: {refusal.java_class}: {refusal.message}"
        is_unknown = report.refusal is not None and report.refusal.java_class == JavaClass.APPLICATION_NOT_FOUND
        if is_unknown or (report.refusal is None and read_report(report.payload)[0]):
            return CannotSpanError(f"{session.subcluster} {said}")
        return NoAnswerError(session.subcluster, said)

    async def finish(self, session: RemoteSession, login: SchedulerLogin, payload: bytes) -> None:
        """End an ApplicationMaster in good order, as its application ended; else by force.

        Args:
            login: Its connection; closed afterwards.
            payload: How the application says that it ended: a `FinishApplicationMasterRequestProto`.
        """
        try:
            for _ in range(self._settings.tries):
                answer = await login.call(FINISH, payload, timeout_s=self._settings.answer_within_s)
                if answer.refusal is not None or is_finished(answer.payload):
                    break
                await self._clock.sleep(self._settings.poll_s)
        except ResourceManagerError as exc:
            _log.warning("could not finish in good order", subcluster=session.subcluster, reason=str(exc))
        finally:
            await login.close()
        await self.end(session, "its application has ended")

    async def end(self, session: RemoteSession, why: str) -> bool:
        """Make sure that an ApplicationMaster is no more, and forget it; return whether that is certain by now."""
        try:
            is_ended = await self._is_ended(session, why)
            if is_ended:
                await self._store.remove_session(session.application, session.subcluster)
                tell(LifeEvent.LEAVES, session.application, cluster=session.subcluster, home=session.home)
        except HeddleError as exc:  # the next sweep finds it in the store
            _log.warning("a span did not end", application=str(session.application), reason=str(exc))
            return False
        return is_ended

    async def _is_ended(self, session: RemoteSession, why: str) -> bool:
        for _ in range(self._settings.tries):
            report = await self._call(session, "getApplicationReport", report_message(session.application))
            if report.refusal is not None:
                if report.refusal.java_class == JavaClass.APPLICATION_NOT_FOUND:
                    return True
                raise CannotSpanError(f"{session.subcluster} tells nothing of {session.application}: {report.refusal}")
            if read_report(report.payload)[0]:
                return True
            killed = await self._call(session, "forceKillApplication", kill_message(session.application, why))
            if killed.refusal is None and is_killed(killed.payload):
                return True
            await self._clock.sleep(self._settings.poll_s)
        return False

    async def _start(self, session: RemoteSession, queue: str) -> RemoteSession:
        """Submit, and keep the token."""
        await self._store.save_session(session)
        submission = unmanaged_submission(session.application, home=session.home, queue=queue, tag=SPAN_TAG)
        answer = await self._call(session, "submitApplication", submission)  # a known id is taken as done
        if answer.refusal is not None:
            raise CannotSpanError(f"{session.subcluster} refuses {session.application}: {answer.refusal.message}")
        token = await self._token(session)
        session = replace(session, token=token)
        await self._store.save_session(session)
        return session

    async def _token(self, session: RemoteSession) -> bytes:
        """The token of an ApplicationMaster that has not registered."""
        settings = self._settings
        began_s = self._clock.monotonic_s()
        said = ""
        while self._clock.monotonic_s() - began_s < settings.token_within_s:
            answer = await self._call(session, "getApplicationReport", report_message(session.application))
            if answer.refusal is None:
                is_final, token, said = read_report(answer.payload)
                if token:
                    return token
                if is_final:
                    raise CannotSpanError(f"{session.subcluster} has ended {session.application}: {said}")
            await self._clock.sleep(settings.poll_s)
        await self.end(session, "its token was not shown")
        raise CannotSpanError(f"{session.subcluster} shows no token of {session.application}; it says {said!r}")

    async def _call(self, session: RemoteSession, method: str, payload: bytes) -> RPCAnswer:
        """A client's call, as the user of the application."""
        call = RPCCall(APPLICATION_CLIENT.name, method, payload, user=session.user, caller_context="heddle_span")
        return await self._rpcs[session.subcluster].call(call, timeout_s=self._settings.answer_within_s)
