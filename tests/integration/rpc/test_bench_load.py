"""The bench's generator for RPC counts what a server really answers."""

import asyncio

import pytest

from scripts.bench.rpc import NumberService
from scripts.bench.rpc_load import measure_calls
from shim.protocol.hrpc import Failure, JavaClass
from shim.server.rpc import RPCServer


class Counting(NumberService):
    """Counts, and refuses every call from some on."""

    def __init__(self, refuses_from: int) -> None:
        super().__init__()
        self.answered = 0
        self._refuses_from = refuses_from

    async def answer(self, call, caller):
        self.answered += 1
        if self.answered > self._refuses_from:
            return Failure(JavaClass.YARN, "no more")
        return await super().answer(call, caller)


async def measured(service, **effort):
    """The generator has a loop of its own: another thread's."""
    server = RPCServer(service, host="127.0.0.1", port=0)
    await server.start()
    try:
        address = f"127.0.0.1:{server.port}"
        return await asyncio.to_thread(measure_calls, address, "getNewApplication", b"", **effort)
    finally:
        await server.stop(grace_s=0)


async def test_every_answer_is_counted_once():
    service = Counting(refuses_from=1_000_000)
    run = await measured(service, connections=3, seconds=0.3)
    assert run.requests == service.answered - 3, "the first answer of each connection is not counted"
    assert run.failed == 0
    assert run.requests > 3
    assert 0 < run.p50_ms <= run.p99_ms
    assert 0 < run.generator <= 1.5


async def test_what_is_refused_is_counted_as_failed():
    service = Counting(refuses_from=5)
    run = await measured(service, connections=1, seconds=0.2)
    assert run.failed == run.requests - 4


async def test_a_target_that_refuses_the_first_call_is_not_measured():
    with pytest.raises(ConnectionError, match=r"getNewApplication: .*no more"):
        await measured(Counting(refuses_from=0), connections=1, seconds=0.1)
