"""Speed of the RPC servers on one core: `python -m scripts.bench.rpc`.

Three figures: small calls a second through a real server over loopback, with the client in a process of its own;
allocate messages of 8 KB decoded (and encoded) a second; and what one call costs the automata alone, without sockets.
CPU time is told beside wall time: it is the one to trust on a machine that does other things too.
"""

import argparse
import asyncio
import multiprocessing
import os
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

import uvloop

from adapters.yarn.rm_rpc import RPCSettings, RPCTarget, YarnRPC
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.identity.service import Caller
from shim.ports.resource_manager_rpc import RPCCall
from shim.protocol.hrpc import (
    SIMPLE_OFFER,
    CallReceived,
    ClientConnection,
    ContextReceived,
    Failure,
    HadoopCall,
    HadoopRequest,
    SASLOffer,
    ServerConnection,
    UserIdentity,
    method_of,
)
from shim.protocol.proto import APPLICATION_CLIENT, APPLICATION_MASTER
from shim.protocol.proto.messages import (
    AllocateRequestProto,
    GetNewApplicationResponseProto,
    PriorityProto,
    ResourceRequestProto,
)
from shim.protocol.yarn import application_message, resource_message
from shim.server.rpc import RPCServer
from shim.server.rpc.asked import AnsweredCall
from tests.doubles.settings import usual

_IN_FLIGHT = 64
_ASKS = 100


class NumberService:
    """Issues application ids from a counter: the least that a method can do, through everything that a server does."""

    def __init__(self) -> None:
        self._number = 0
        self._limit = resource_message(ResourceVector(8192, 4))

    def offers(self) -> tuple[SASLOffer, ...]:
        """Names are believed."""
        return (SIMPLE_OFFER,)

    def admit(self, context: ContextReceived, address: str) -> Caller:
        """Everybody."""
        del address
        return Caller(context.effective_user_untrusted, context.effective_user_untrusted)

    def answer_at_once(self, call: HadoopCall, caller: Caller) -> bytes | Failure | None:
        """Only what is wrong."""
        del caller
        method = method_of(call, {APPLICATION_CLIENT.name: APPLICATION_CLIENT})
        return method if isinstance(method, Failure) else None

    async def answer(self, call: HadoopCall, caller: Caller) -> bytes | Failure:
        """A new id."""
        del call, caller
        self._number += 1
        application_id = application_message(ApplicationId(1_700_000_000_000, self._number))
        answer = GetNewApplicationResponseProto(application_id=application_id, maximumCapability=self._limit)
        return answer.SerializeToString()

    def tell(self, exchange: AnsweredCall) -> None:
        """Nobody counts."""


def allocate_request() -> AllocateRequestProto:
    """An allocate call with a hundred asks: 8 KB."""
    asks = [
        ResourceRequestProto(
            priority=PriorityProto(priority=20),
            resource_name=f"host-{number:04d}.rack-07.example.com",
            capability=resource_message(ResourceVector(2048, 1)),
            num_containers=3,
        )
        for number in range(_ASKS)
    ]
    return AllocateRequestProto(ask=asks, response_id=41, progress=0.5)


def _rate(work: Callable[[], object], seconds: float) -> float:
    """Repetitions a second of CPU time."""
    count, began = 0, time.process_time()
    while (spent := time.process_time() - began) < seconds:
        for _ in range(100):
            work()
        count += 100
    return count / spent


def measure_decoding(seconds: float) -> dict[str, float]:
    """Allocate messages a second of CPU time."""
    request = allocate_request()
    raw = request.SerializeToString()

    def touch() -> int:
        return sum(ask.num_containers for ask in AllocateRequestProto.FromString(raw).ask)

    return {
        "bytes of an allocate message": float(len(raw)),
        "allocate messages decoded /s": _rate(lambda: AllocateRequestProto.FromString(raw), seconds),
        "decoded and every ask read /s": _rate(touch, seconds),
        "encoded /s": _rate(request.SerializeToString, seconds),
        "whole allocate frames received /s": _frames(raw, seconds),
    }


def _frames(raw: bytes, seconds: float) -> float:
    """From the bytes of a frame to the decoded request, through the server's automaton."""
    client = ClientConnection(APPLICATION_MASTER.name, UserIdentity("alice"), bytes(16))
    client.connect()
    server = ServerConnection([SIMPLE_OFFER])
    server.receive(client.data_to_send())
    client.call(HadoopRequest(APPLICATION_MASTER.name, "allocate", raw), call_id=1)
    data = client.data_to_send()

    def receive() -> None:
        (event,) = server.receive(data)
        assert isinstance(event, CallReceived)  # noqa: S101 - what was sent is a call
        AllocateRequestProto.FromString(event.call.payload_untrusted or b"")

    return _rate(receive, seconds)


def _serve(ends: Connection, port_end: Connection) -> None:
    """The server's process: tell the port, serve until told to end, tell the CPU time."""

    async def main() -> None:
        server = RPCServer(NumberService(), host="127.0.0.1", port=0)
        await server.start()
        port_end.send(server.port)
        loop = asyncio.get_running_loop()
        while await loop.run_in_executor(None, ends.recv):
            port_end.send(time.process_time())
        await server.stop(grace_s=0)

    uvloop.run(main())


async def _call(port: int, seconds: float, in_flight: int) -> tuple[int, float]:
    rpc = YarnRPC(RPCTarget(SubClusterId("bench"), (("127.0.0.1", port),)), usual(RPCSettings))
    call = RPCCall(APPLICATION_CLIENT.name, "getNewApplication", b"", "alice")
    await rpc.call(call)
    began, count = time.perf_counter(), 0

    async def repeat() -> None:
        nonlocal count
        while time.perf_counter() - began < seconds:
            await rpc.call(call)
            count += 1

    await asyncio.gather(*(repeat() for _ in range(in_flight)))
    wall = time.perf_counter() - began
    await rpc.close()
    return count, wall


def measure_server(seconds: float, in_flight: int) -> dict[str, float]:
    """Small calls a second through a server in another process, by its CPU time and by the clock."""
    here, there = multiprocessing.Pipe()
    port_here, port_there = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_serve, args=(there, port_there), daemon=True)
    process.start()
    port = port_here.recv()
    here.send("more")
    before = port_here.recv()
    count, wall = uvloop.run(_call(port, seconds, in_flight))
    here.send("more")
    cpu = port_here.recv() - before
    here.send("")
    process.join()
    return {
        f"small calls /s of server CPU time, {in_flight} in flight": count / cpu,
        f"small calls /s by the clock, {in_flight} in flight": count / wall,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m scripts.bench.rpc", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each figure")
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"load average {load:.1f} on {os.cpu_count()} cores")
    figures = measure_decoding(arguments.seconds)
    figures |= measure_server(arguments.seconds, 1) | measure_server(arguments.seconds, _IN_FLIGHT)
    for name, value in figures.items():
        print(f"{name:55} {value:12,.0f}")


if __name__ == "__main__":
    main()
