"""Puts load on one target over Hadoop RPC.

Reads repeat one call on each connection: its bytes are made once, and of an answer only its length and its status are
looked at, so that one core asks more often than a ResourceManager answers; how busy the generator was is told with each
run. The first answer of each connection is read whole.
"""

import asyncio
import itertools
import os
import time
from collections.abc import Sequence
from functools import partial
from typing import cast

import uvloop

from adapters.yarn.rm_rpc import RPCSettings, RPCTarget, YarnRPC, addresses_of
from scripts.bench.load import USER, Measured, percentile
from shim.domain.ids import SubClusterId
from shim.ports.resource_manager_rpc import RPCCall
from shim.protocol.hrpc import AnswerReceived, ClientConnection, ConnectionEnded, HadoopRequest, UserIdentity
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.proto.messages import (
    ApplicationSubmissionContextProto,
    ContainerLaunchContextProto,
    GetNewApplicationResponseProto,
    ResourceProto,
    SubmitApplicationRequestProto,
)
from tests.doubles.settings import usual

_CALL_ID = 1
_LENGTH_BYTES = 4
_SUCCESS = bytes((0x08, _CALL_ID, 0x10, 0x00))
"""How a response header begins: the call's id, status SUCCESS."""
_HEAD_BYTES = _LENGTH_BYTES + 1 + len(_SUCCESS)
_PATIENCE_S = 120.0


class _Repeater(asyncio.Protocol):
    """One connection that makes one call again and again, the next when the last is answered."""

    def __init__(self, request: HadoopRequest, user: str) -> None:
        self._request = request
        self._connection = ClientConnection(request.protocol, UserIdentity(user), os.urandom(16))
        self._loop = asyncio.get_running_loop()
        self.first: asyncio.Future[None] = self._loop.create_future()
        self.done: asyncio.Future[None] = self._loop.create_future()
        self.times_s: list[float] = []
        self.failed = 0
        self._frame = b""
        self._head = bytearray()
        self._received = 0
        self._began_s = self._ends_s = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Make the first call, by the codec."""
        self._transport = cast("asyncio.Transport", transport)
        self._connection.connect()
        self._connection.call(self._request, call_id=_CALL_ID)
        self._transport.write(self._connection.data_to_send())

    def repeat(self, seconds: float) -> None:
        """Go on for so long; `done` tells the end."""
        self._connection.call(self._request, call_id=_CALL_ID)
        self._frame = self._connection.data_to_send()
        self._ends_s = time.perf_counter() + seconds
        self._call()

    def data_received(self, data: bytes) -> None:
        """Count."""
        if not self.first.done():
            self._take_first(data)
            return
        if len(self._head) < _HEAD_BYTES:
            self._head += data[: _HEAD_BYTES - len(self._head)]
        self._received += len(data)
        if self._received >= _HEAD_BYTES and self._received >= _LENGTH_BYTES + int.from_bytes(
            self._head[:_LENGTH_BYTES]
        ):
            self._take_answer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell whoever waits."""
        waiting = self.done if self.first.done() else self.first
        if not waiting.done():
            waiting.set_exception(exc or ConnectionError("the target closed the connection"))

    def close(self) -> None:
        """Give up the connection."""
        self.done.cancel()
        self._transport.abort()

    def _take_first(self, data: bytes) -> None:
        for event in self._connection.receive(data):
            if isinstance(event, AnswerReceived):
                failure = event.answer.failure
                if failure is None:
                    self.first.set_result(None)
                else:
                    self.first.set_exception(ConnectionError(f"{self._request.method}: {failure}"))
            elif isinstance(event, ConnectionEnded):
                self.first.set_exception(ConnectionError(event.reason))

    def _take_answer(self) -> None:
        now_s = time.perf_counter()
        self.times_s.append(now_s - self._began_s)
        self.failed += self._head[_LENGTH_BYTES + 1 : _HEAD_BYTES] != _SUCCESS
        if now_s < self._ends_s:
            self._call()
        else:
            self.done.set_result(None)

    def _call(self) -> None:
        self._head.clear()
        self._received = 0
        self._began_s = time.perf_counter()
        self._transport.write(self._frame)


def measure_calls(
    address: str, method: str, payload: bytes, *, connections: int, seconds: float, users: Sequence[str] = (USER,)
) -> Measured:
    """Make one call of ApplicationClientProtocol over and over, one at a time on each connection.

    Args:
        address: `host:port`.
        method: What to call.
        payload: The request.
        connections: Connections at a time.
        seconds: For so long.
        users: Who calls: the connections by turns.
    """
    request = HadoopRequest(APPLICATION_CLIENT.name, method, payload)
    callers = list(itertools.islice(itertools.cycle(users), connections))
    return uvloop.run(_measure_calls(address, request, callers, seconds))


async def _measure_calls(address: str, request: HadoopRequest, callers: Sequence[str], seconds: float) -> Measured:
    ((host, port),) = addresses_of([address])
    loop = asyncio.get_running_loop()
    repeaters = [
        (await loop.create_connection(partial(_Repeater, request, caller), host, port))[1] for caller in callers
    ]
    try:
        busy, took_s = await _repeat(repeaters, seconds)
    finally:
        for repeater in repeaters:
            repeater.close()
    times_s = [each for repeater in repeaters for each in repeater.times_s]
    failed = sum(repeater.failed for repeater in repeaters)
    return _measured(times_s, failed, took_s, busy)


async def _repeat(repeaters: Sequence[_Repeater], seconds: float) -> tuple[float, float]:
    """Let all call for so long; how busy this process was, and the seconds that it took."""
    async with asyncio.timeout(_PATIENCE_S):
        await asyncio.gather(*(repeater.first for repeater in repeaters))
        busy_s, began_s = time.process_time(), time.perf_counter()
        for repeater in repeaters:
            repeater.repeat(seconds)
        await asyncio.gather(*(repeater.done for repeater in repeaters))
    took_s = time.perf_counter() - began_s
    return (time.process_time() - busy_s) / took_s, took_s


def measure_submissions(address: str, count: int, *, at_once: int) -> Measured:
    """Get an id and submit an application that runs nowhere under it, `count` times; the two calls are one request."""
    return uvloop.run(_measure_submissions(address, count, at_once))


async def _measure_submissions(address: str, count: int, at_once: int) -> Measured:
    left = [count]
    times_s: list[float] = []

    async def work(rpc: YarnRPC) -> None:
        while left[0] > 0:
            left[0] -= 1
            began_s = time.perf_counter()
            await _submit(rpc)
            times_s.append(time.perf_counter() - began_s)

    target = RPCTarget(SubClusterId("bench"), addresses_of([address]))
    clients = [YarnRPC(target, usual(RPCSettings, timeout_s=_PATIENCE_S)) for _ in range(at_once)]
    busy_s, began_s = time.process_time(), time.perf_counter()
    try:
        await asyncio.gather(*map(work, clients))
    finally:
        for client in clients:
            await client.close()
    took_s = time.perf_counter() - began_s
    busy = (time.process_time() - busy_s) / took_s
    return _measured(times_s, 0, took_s, busy)


async def _submit(rpc: YarnRPC) -> None:
    new = GetNewApplicationResponseProto.FromString(await _ask(rpc, "getNewApplication", b""))
    context = ApplicationSubmissionContextProto(
        application_id=new.application_id,
        application_name=USER,
        applicationType="BENCH",
        queue="default",
        unmanaged_am=True,
        am_container_spec=ContainerLaunchContextProto(),
        resource=ResourceProto(memory=128, virtual_cores=1),
    )
    submission = SubmitApplicationRequestProto(application_submission_context=context)
    await _ask(rpc, "submitApplication", submission.SerializeToString())


async def _ask(rpc: YarnRPC, method: str, payload: bytes) -> bytes:
    answer = await rpc.call(RPCCall(APPLICATION_CLIENT.name, method, payload, USER))
    if answer.refusal is not None:
        raise RuntimeError(f"{method}: {answer.refusal}")
    return answer.payload


def _measured(times_s: Sequence[float], failed: int, took_s: float, busy: float) -> Measured:
    p50, p99 = (1000 * percentile(times_s, share) for share in (50, 99))
    return Measured(len(times_s) / took_s, p50, p99, len(times_s), failed, generator=busy)
