"""A submission goes by the server that it came by, and a refusal comes back in the words of that server."""

from dataclasses import replace

import pytest

from adapters.yarn.rm_rpc import DualResourceManager
from shim.domain.ids import SubClusterId
from shim.domain.submissions import Refusal, SubmitReply, SubmitVerdict
from shim.errors import NoAnswerError
from shim.ports.resource_manager import RestRequest
from shim.ports.resource_manager_rpc import RPCAnswer, RPCRefusal
from shim.protocol.hrpc import JavaClass
from shim.protocol.yarn import RPC_SUBMISSION
from tests.doubles.builders import a_submission
from tests.doubles.clock import FakeClock
from tests.doubles.misbehaviours import RejectsSubmissions
from tests.doubles.resource_manager import ScriptedResourceManager

BY_RPC = replace(a_submission(), content_type=RPC_SUBMISSION, body=b"payload")


class Says:
    """Implements `ResourceManagerRPC`: one answer to everything."""

    subcluster = SubClusterId("east")

    def __init__(self, refusal=None):
        self.refusal = refusal
        self.calls = []

    async def call(self, call, *, timeout_s=None):
        self.calls.append((call.method, call.payload, call.user, timeout_s))
        return RPCAnswer(b"", self.refusal)

    async def close(self):
        self.calls.append("closed")


@pytest.fixture
def rest():
    return ScriptedResourceManager("east", clock=FakeClock())


async def test_what_came_by_rest_goes_by_rest(rest):
    rpc = Says()
    manager = DualResourceManager(rest, rpc)
    assert (await manager.submit(a_submission())).verdict is SubmitVerdict.TAKEN
    assert rpc.calls == []
    assert [request.method for request in rest.requests] == ["POST"]


async def test_what_came_by_rpc_goes_by_rpc_and_everything_else_by_rest(rest):
    rpc = Says()
    manager = DualResourceManager(rest, rpc)
    assert await manager.submit(BY_RPC, timeout_s=1.5) == SubmitReply(SubmitVerdict.TAKEN)
    assert rpc.calls == [("submitApplication", b"payload", BY_RPC.user, 1.5)]
    assert rest.requests == []
    assert (await manager.forward(RestRequest("GET", "/ws/v1/cluster/info"))).status == 200
    assert (await manager.query("/ws/v1/cluster/info")).status == 200
    assert len(rpc.calls) == 1


@pytest.mark.parametrize(
    ("java_class", "verdict"),
    [
        (JavaClass.ACCESS_CONTROL, SubmitVerdict.REFUSED),
        (JavaClass.AUTHORIZATION, SubmitVerdict.REFUSED),
        (JavaClass.YARN, SubmitVerdict.FAILED),
        ("a.b.E", SubmitVerdict.FAILED),
    ],
)
async def test_a_refusal_by_rpc_keeps_its_words(rest, java_class, verdict):
    reply = await DualResourceManager(rest, Says(RPCRefusal(java_class, "no"))).submit(BY_RPC)
    assert reply == SubmitReply(verdict, Refusal(java_class, "no"))


async def test_who_is_asked_to_try_again_has_no_answer(rest):
    with pytest.raises(NoAnswerError, match="later: soon"):
        await DualResourceManager(rest, Says(RPCRefusal(JavaClass.RETRIABLE, "soon"))).submit(BY_RPC)


async def test_a_refusal_by_rest_is_that_of_the_web_services(rest):
    rest.behave(RejectsSubmissions("too large"))
    reply = await DualResourceManager(rest, Says()).submit(a_submission())
    assert reply.verdict is SubmitVerdict.REFUSED
    assert reply.refusal.status == 400
    assert "too large" in reply.refusal.message
