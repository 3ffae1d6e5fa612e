"""Both servers of a ResourceManager as one: a submission that came over RPC goes to its home over RPC."""

from shim.domain.ids import SubClusterId
from shim.domain.submissions import Submission
from shim.domain.submit_replies import Refusal, SubmitReply, SubmitVerdict
from shim.errors import NoAnswerError
from shim.ports.resource_manager import ResourceManager, RestAnswer, RestRequest
from shim.ports.resource_manager_rpc import ResourceManagerRPC, RPCCall, RPCRefusal
from shim.protocol.hrpc import JavaClass
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.yarn import RPC_SUBMISSION

__all__ = ["DualResourceManager"]

_FORBIDDEN = frozenset({JavaClass.ACCESS_CONTROL, JavaClass.AUTHORIZATION})


class DualResourceManager(ResourceManager):
    """Implements `ResourceManager` over the web services, and over RPC for what came from there."""

    def __init__(self, rest: ResourceManager, rpc: ResourceManagerRPC) -> None:
        self._rest = rest
        self._rpc = rpc

    @property
    def subcluster(self) -> SubClusterId:
        """Sub-cluster of this ResourceManager."""
        return self._rest.subcluster

    async def submit(
        self, submission: Submission, *, timeout_s: float | None = None, accept: str = "application/json"
    ) -> SubmitReply:
        """Send a submission by the server that its body was made for; see `ResourceManager.submit`."""
        if submission.content_type != RPC_SUBMISSION:
            return await self._rest.submit(submission, timeout_s=timeout_s, accept=accept)
        call = RPCCall(APPLICATION_CLIENT.name, "submitApplication", submission.body, user=submission.user)
        refusal = (await self._rpc.call(call, timeout_s=timeout_s)).refusal
        return SubmitReply(SubmitVerdict.TAKEN) if refusal is None else self._refused(refusal)

    async def forward(self, request: RestRequest, *, timeout_s: float | None = None) -> RestAnswer:
        """Pass a request on to the web services; see `ResourceManager.forward`."""
        return await self._rest.forward(request, timeout_s=timeout_s)

    async def close(self) -> None:
        """Give up the connections of both."""
        await self._rest.close()
        await self._rpc.close()

    def _refused(self, told: RPCRefusal) -> SubmitReply:
        """`ClientRMService.submitApplication` throws also for what it has taken: only a missing right is certain."""
        if told.java_class == JavaClass.RETRIABLE:
            raise NoAnswerError(self.subcluster, f"asks to try again later: {told.message}")
        verdict = SubmitVerdict.REFUSED if told.java_class in _FORBIDDEN else SubmitVerdict.FAILED
        return SubmitReply(verdict, Refusal(told.java_class, told.message))
