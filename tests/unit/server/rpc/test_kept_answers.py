"""Answers over RPC are kept up to a bound."""

import pytest

from shim.domain.ids import ApplicationId
from shim.federation.core.federation_view import FederationView, Part, ViewSettings
from shim.identity.service import Caller
from shim.protocol.hrpc import HadoopCall
from shim.server.rpc.kept_answers import KeptRPCAnswers, Made
from tests.doubles.clock import FakeClock
from tests.doubles.settings import usual

MIB = 1024 * 1024
ALICE = Caller("alice", "")


def a_call(number: int) -> HadoopCall:
    protocol = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
    return HadoopCall(number, b"c" * 16, 0, None, protocol, "getClusterNodes", 1, number.to_bytes(4, "big"))


@pytest.mark.parametrize("ended", [None, ApplicationId(1, 1)])
@pytest.mark.parametrize(("size", "count", "most"), [(8 * MIB, 10, 4), (10, 10_000, 4096)])
async def test_the_oldest_go_when_there_are_too_many_or_they_are_too_large(
    size: int, count: int, most: int, ended: ApplicationId | None
) -> None:
    kept = KeptRPCAnswers(FederationView((), usual(ViewSettings)), FakeClock(), staleness_s=60.0, is_shared=True)

    async def make() -> Made:
        return Made(b"x" * size, ended=ended)

    for number in range(count):
        await kept.ask(a_call(number), ALICE, Part.NODES, make)
    found = [number for number in range(count) if kept.find(a_call(number), ALICE) is not None]
    assert found == list(range(count - most, count))
