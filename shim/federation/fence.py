"""A fence around what an operator has declared dead: nothing of Heddle's reaches it, whoever asks.

An application that was given up there may run elsewhere. Should the sub-cluster answer all the same, it is sent nothing
and is not listened to, until an operator lets it in again.
"""

from collections.abc import Callable

from shim.domain.ids import SubClusterId
from shim.domain.submissions import Submission, SubmitReply
from shim.errors import NeverReachedError
from shim.ports.resource_manager import ResourceManager, RestAnswer, RestRequest
from shim.ports.resource_manager_rpc import ResourceManagerRPC, RPCAnswer, RPCCall

_RETIRED = "is retired: nothing is sent to it, until an operator revives it"


class FencedResourceManager(ResourceManager):
    """A `ResourceManager` that is not reached while its sub-cluster is retired."""

    def __init__(self, inner: ResourceManager, is_retired: Callable[[SubClusterId], bool]) -> None:
        self._inner = inner
        self._is_retired = is_retired

    @property
    def subcluster(self) -> SubClusterId:
        return self._inner.subcluster

    async def submit(
        self, submission: Submission, *, timeout_s: float | None = None, accept: str = "application/json"
    ) -> SubmitReply:
        if self._is_retired(self.subcluster):
            raise NeverReachedError(self.subcluster, _RETIRED)
        return await self._inner.submit(submission, timeout_s=timeout_s, accept=accept)

    async def forward(self, request: RestRequest, *, timeout_s: float | None = None) -> RestAnswer:
        if self._is_retired(self.subcluster):
            raise NeverReachedError(self.subcluster, _RETIRED)
        return await self._inner.forward(request, timeout_s=timeout_s)

    async def close(self) -> None:
        await self._inner.close()


class FencedRPC:
    """A `ResourceManagerRPC` that is not reached while its sub-cluster is retired."""

    def __init__(self, inner: ResourceManagerRPC, is_retired: Callable[[SubClusterId], bool]) -> None:
        self._inner = inner
        self._is_retired = is_retired

    @property
    def subcluster(self) -> SubClusterId:
        return self._inner.subcluster

    async def call(self, call: RPCCall, *, timeout_s: float | None = None) -> RPCAnswer:
        if self._is_retired(self.subcluster):
            raise NeverReachedError(self.subcluster, _RETIRED)
        return await self._inner.call(call, timeout_s=timeout_s)

    async def close(self) -> None:
        await self._inner.close()
