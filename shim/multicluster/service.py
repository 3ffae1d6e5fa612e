"""The service that receives the calls of ApplicationMasters whose applications span sub-clusters."""

from collections.abc import Sequence

import structlog

from shim.domain.ids import ApplicationAttemptId, ApplicationId
from shim.errors import StoreError
from shim.multicluster.attempt import MultiClusterAttempt
from shim.multicluster.sessions import SessionTools
from shim.ports.attempt_calls import Attempt, HomeSession
from shim.ports.resource_manager_rpc import RPCAnswer

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
        """See `AttemptCalls.register`."""
        return await self._span.register(payload_untrusted, self._home)

    async def allocate(self, payload_untrusted: bytes) -> RPCAnswer:
        """See `AttemptCalls.allocate`."""
        return await self._span.allocate(payload_untrusted, self._home)

    async def finish(self, payload_untrusted: bytes) -> RPCAnswer:
        """See `AttemptCalls.finish`."""
        return await self._span.finish(payload_untrusted, self._home)

    def leave(self) -> None:
        """The ApplicationMaster may well come back: its sessions go on."""
