"""What is retired is not reached, by REST or by RPC, whoever asks."""

import pytest

from shim.domain.ids import SubClusterId
from shim.domain.submissions import SubmitVerdict
from shim.errors import NeverReachedError
from shim.federation.fence import FencedResourceManager, FencedRPC
from shim.ports.resource_manager import RestRequest
from shim.ports.resource_manager_rpc import RPCCall
from shim.protocol.proto import APPLICATION_CLIENT
from tests.doubles.builders import a_submission
from tests.doubles.clock import FakeClock
from tests.doubles.resource_manager import ScriptedResourceManager
from tests.doubles.resource_manager_rpc import ScriptedRPC

EAST = SubClusterId("east")
METRICS = RPCCall(APPLICATION_CLIENT.name, "getClusterMetrics", b"", "alice")


@pytest.mark.parametrize("is_retired", [False, True])
async def test_a_retired_cluster_is_not_called_by_rpc(is_retired):
    inner = ScriptedRPC(ScriptedResourceManager(EAST, clock=FakeClock()))
    fenced = FencedRPC(inner, lambda name: is_retired and name == EAST)
    if is_retired:
        with pytest.raises(NeverReachedError, match="retired"):
            await fenced.call(METRICS)
    else:
        await fenced.call(METRICS)
    assert len(inner.calls) == (not is_retired)
    assert fenced.subcluster == EAST


@pytest.mark.parametrize("is_retired", [False, True])
async def test_a_retired_cluster_is_not_asked_by_rest(is_retired):
    inner = ScriptedResourceManager(EAST, clock=FakeClock())
    fenced = FencedResourceManager(inner, lambda name: is_retired and name == EAST)
    request = RestRequest("GET", "/ws/v1/cluster/info")
    if is_retired:
        with pytest.raises(NeverReachedError, match="retired"):
            await fenced.forward(request)
        with pytest.raises(NeverReachedError, match="retired"):
            await fenced.submit(a_submission())
        with pytest.raises(NeverReachedError, match="retired"):
            await fenced.query("/ws/v1/cluster/info")
    else:
        await fenced.forward(request)
        assert (await fenced.submit(a_submission())).verdict is SubmitVerdict.TAKEN
    assert len(inner.requests) == (0 if is_retired else 2)


@pytest.mark.parametrize("is_retired", [False, True])
async def test_what_is_behind_the_fence_is_closed_with_it(is_retired):
    manager = ScriptedResourceManager(EAST, clock=FakeClock())
    by_rpc = ScriptedRPC(manager)
    closed = []

    async def close() -> None:
        closed.append(EAST)

    by_rpc.close = close
    for fenced in (FencedResourceManager(manager, lambda _: is_retired), FencedRPC(by_rpc, lambda _: is_retired)):
        await fenced.close()
    assert (manager.is_closed, closed) == (True, [EAST])
