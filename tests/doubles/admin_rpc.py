"""The admin RPC servers of ResourceManagers that do as they are told, and remember what they were told."""

from shim.domain.ids import SubClusterId
from shim.errors import NeverReachedError
from shim.ports.resource_manager_rpc import RPCAnswer, RPCCall, RPCRefusal


class ObeysEveryOperator:
    """Implements `ResourceManagerRPC`: every call is done.

    Attributes:
        calls: All that it was told.
        payload: What it answers.
    """

    def __init__(self, subcluster: str, payload: bytes = b"") -> None:
        self._subcluster = SubClusterId(subcluster)
        self.calls: list[RPCCall] = []
        self.payload = payload

    @property
    def subcluster(self) -> SubClusterId:
        """Sub-cluster of this ResourceManager."""
        return self._subcluster

    async def call(self, call: RPCCall, *, timeout_s: float | None = None) -> RPCAnswer:
        """Do it."""
        del timeout_s
        self.calls.append(call)
        return RPCAnswer(self.payload)

    async def close(self) -> None:
        """Close nothing, as nothing is open."""


class RefusesOperators(ObeysEveryOperator):
    """Refuses every call, as a ResourceManager refuses those whom `yarn.admin.acl` does not name.

    Attributes:
        refusal: In which words.
    """

    def __init__(self, subcluster: str, refusal: RPCRefusal) -> None:
        super().__init__(subcluster)
        self.refusal = refusal

    async def call(self, call: RPCCall, *, timeout_s: float | None = None) -> RPCAnswer:
        """Refuse it."""
        await super().call(call, timeout_s=timeout_s)
        return RPCAnswer(b"", self.refusal)


class IsAway(ObeysEveryOperator):
    """An operators' server that does not listen at its address."""

    async def call(self, call: RPCCall, *, timeout_s: float | None = None) -> RPCAnswer:
        """Fail as a refused connection does."""
        del call, timeout_s
        raise NeverReachedError(self.subcluster, "cannot be reached by RPC (connection refused)")
