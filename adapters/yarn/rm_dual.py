"""A ResourceManager's web services and RPC server as one: a submission that came over RPC goes to its home over RPC.

To the services a submission is a request with a body and a content type. Which server that body fits is known here.
What the ResourceManager answers over RPC is told as its web services would tell it.
"""

from collections.abc import Mapping

import msgspec

from shim.domain.ids import SubClusterId
from shim.errors import NoAnswerError
from shim.ports.resource_manager import ResourceManager, RestAnswer, RestRequest
from shim.ports.resource_manager_rpc import ResourceManagerRPC, RPCAnswer, RPCCall
from shim.protocol.hrpc import JavaClass
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.yarn import RPC_SUBMISSION

__all__ = ["DualResourceManager"]

_ACCEPTED = 202
_STATUS: Mapping[str, int] = {JavaClass.ACCESS_CONTROL: 403, JavaClass.AUTHORIZATION: 403}
_FAILED = 500  # whether the ResourceManager has the application all the same decides what it means


class DualResourceManager:
    """Implements `ResourceManager` over the web services, and over RPC for what came from there."""

    def __init__(self, rest: ResourceManager, rpc: ResourceManagerRPC) -> None:
        self._rest = rest
        self._rpc = rpc

    @property
    def subcluster(self) -> SubClusterId:
        """Whose ResourceManager this is."""
        return self._rest.subcluster

    async def exchange(self, request: RestRequest, *, timeout_s: float | None = None) -> RestAnswer:
        """Send a request by the server that its body fits; see `ResourceManager.exchange`."""
        if ("Content-Type", RPC_SUBMISSION) not in request.headers:
            return await self._rest.exchange(request, timeout_s=timeout_s)
        call = RPCCall(APPLICATION_CLIENT.name, "submitApplication", request.body, user=request.user or "")
        return self._as_rest(await self._rpc.call(call, timeout_s=timeout_s))

    async def close(self) -> None:
        """Give up the connections of both."""
        await self._rest.close()
        await self._rpc.close()

    def _as_rest(self, answer: RPCAnswer) -> RestAnswer:
        refusal = answer.refusal
        if refusal is None:
            return RestAnswer(_ACCEPTED, (), b"")
        if refusal.java_class == JavaClass.RETRIABLE:
            raise NoAnswerError(self.subcluster, f"asks to try again later: {refusal.message}")
        told = {
            "exception": refusal.java_class.rpartition(".")[2],
            "message": refusal.message,
            "javaClassName": refusal.java_class,
        }
        body = msgspec.json.encode({"RemoteException": told})
        status = _STATUS.get(refusal.java_class, _FAILED)
        return RestAnswer(status, (("Content-Type", "application/json"),), body)
