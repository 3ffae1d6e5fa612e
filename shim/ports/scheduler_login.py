"""Logging in at a sub-cluster's scheduler with a token that Heddle holds."""

from typing import Protocol

from shim.domain.ids import SubClusterId
from shim.ports.resource_manager_rpc import RPCAnswer


class SchedulerLogin(Protocol):
    """An ApplicationMaster's way to its scheduler; connects when it is used, and again when it has to."""

    async def call(self, method: str, payload: bytes, *, timeout_s: float | None = None) -> RPCAnswer:
        """Make a call of `ApplicationMasterProtocol`.

        Returns:
            The answer, or the exception that was answered: also that the token is not good (any more).

        Raises:
            ResourceManagerError: Nobody answered.
        """
        ...

    async def close(self) -> None:
        """Give up the connection."""
        ...


class SchedulerLogins(Protocol):
    """Makes logins."""

    def log_in(self, subcluster: SubClusterId, token: bytes) -> SchedulerLogin:
        """A way to the scheduler of a sub-cluster.

        Args:
            subcluster: Whose scheduler.
            token: Serialized; shown to the scheduler by a digest only.
        """
        ...
