"""Running containers at home of an attempt that an earlier Heddle served: asked as the user's client.

The home answers a registration only once, so an ApplicationMaster that comes back tells nobody what it holds.
"""

from collections.abc import Mapping

import structlog

from shim.domain.allocations import RunningContainer
from shim.domain.ids import SubClusterId
from shim.errors import RemoteProtocolError, ResourceManagerError
from shim.ports.attempt_calls import Attempt
from shim.ports.clock import Clock
from shim.ports.resource_manager_rpc import ResourceManagerRPC, RPCAnswer, RPCCall
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.yarn.running import read_running, running_message

__all__ = ["HomeContainers"]

_log = structlog.get_logger("heddle.span")


class HomeContainers:
    """Asks until it is told.

    Args:
        rpcs: The client RPC servers of the homes.
        clock: For waiting.
        retry_s: From one question without an answer to the next.
        answer_within_s: For one call.
    """

    def __init__(
        self,
        rpcs: Mapping[SubClusterId, ResourceManagerRPC],
        clock: Clock,
        retry_s: float = 2.0,
        answer_within_s: float = 5.0,
    ) -> None:
        self._rpcs = rpcs
        self._clock = clock
        self._retry_s = retry_s
        self._answer_within_s = answer_within_s

    async def of(self, attempt: Attempt) -> tuple[RunningContainer, ...]:
        """Running containers of an attempt, its own included; none if the home will not tell."""
        rpc = self._rpcs.get(attempt.home_subcluster)
        if rpc is None:
            return self._unknown(attempt, "its home has no address for clients")
        call = RPCCall(
            APPLICATION_CLIENT.name,
            "getContainers",
            running_message(attempt.id),
            user=attempt.user,
            caller_context="heddle_span",
        )
        while True:
            try:
                answer = await rpc.call(call, timeout_s=self._answer_within_s)
            except ResourceManagerError as exc:
                _log.info("a home does not tell what runs", attempt=str(attempt.id), reason=str(exc))
                await self._clock.sleep(self._retry_s)
                continue
            return self._read(attempt, answer)

    def _read(self, attempt: Attempt, answer: RPCAnswer) -> tuple[RunningContainer, ...]:
        if answer.refusal is not None:
            return self._unknown(attempt, f"{answer.refusal.java_class}: {answer.refusal.message}")
        try:
            return read_running(answer.payload)
        except RemoteProtocolError as exc:
            return self._unknown(attempt, str(exc))

    @staticmethod
    def _unknown(attempt: Attempt, reason: str) -> tuple[RunningContainer, ...]:
        """No containers, with the reason in the log: nothing unknown is taken from anybody."""
        _log.warning("what an attempt was given before is not known", attempt=str(attempt.id), reason=reason)
        return ()
