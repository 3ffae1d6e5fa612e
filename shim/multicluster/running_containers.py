"""Containers of an application that run in a sub-cluster: its ResourceManager is asked as the user's client.

A scheduler tells an ApplicationMaster what it holds only once: at a registration, and not what turns up later.
"""

from collections.abc import Mapping

import structlog

from shim.domain.allocations import RunningContainer
from shim.domain.ids import ApplicationAttemptId, SubClusterId
from shim.errors import RemoteProtocolError, ResourceManagerError
from shim.ports.clock import Clock
from shim.ports.resource_manager_rpc import ResourceManagerRPC, RPCAnswer, RPCCall
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.yarn.reports import read_running, running_message

_log = structlog.get_logger("heddle.span")


class RunningContainers:
    """Asks until it is told.

    Args:
        rpcs: The client RPC servers of the sub-clusters.
        retry_s: From one question without an answer to the next.
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

    async def of(
        self, attempt: ApplicationAttemptId, subcluster: SubClusterId, user: str
    ) -> tuple[RunningContainer, ...] | None:
        """Running containers of an attempt, its own included; None if the ResourceManager will not tell."""
        rpc = self._rpcs.get(subcluster)
        if rpc is None:
            _say_unknown(attempt, subcluster, "it has no address for clients")
            return None
        call = RPCCall(
            APPLICATION_CLIENT.name,
            "getContainers",
            running_message(attempt),
            user=user,
            caller_context="heddle_span",
        )
        while True:
            try:
                answer = await rpc.call(call, timeout_s=self._answer_within_s)
            except ResourceManagerError as exc:
                _log.info(
                    "a cluster does not tell what runs", attempt=str(attempt), cluster=subcluster, reason=str(exc)
                )
                await self._clock.sleep(self._retry_s)
                continue
            return _read(attempt, subcluster, answer)


def _read(
    attempt: ApplicationAttemptId, subcluster: SubClusterId, answer: RPCAnswer
) -> tuple[RunningContainer, ...] | None:
    if answer.refusal is not None:
        _say_unknown(attempt, subcluster, f"{answer.refusal.java_class}: {answer.refusal.message}")
        return None
    try:
        return read_running(answer.payload)
    except RemoteProtocolError as exc:
        _say_unknown(attempt, subcluster, str(exc))
        return None


def _say_unknown(attempt: ApplicationAttemptId, subcluster: SubClusterId, reason: str) -> None:
    """Log the reason: from what is not known nothing is concluded."""
    _log.warning("what an attempt was given is not known", attempt=str(attempt), cluster=subcluster, reason=reason)
