"""No RPC call holds the event loop for long: each method, with each of its fields as dear as 1 MiB allows.

Payloads are made of the definitions, so that a new method or field is tried as well.
"""

import asyncio
import itertools
import time
from collections.abc import Iterator
from functools import partial
from typing import cast

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from shim.domain.applications import SPAN_TAG
from shim.identity.service import Caller
from shim.ports.resource_manager_rpc import RPCAnswer, RPCCall
from shim.protocol.hrpc import CallerContext, Failure, HadoopCall, JavaClass
from shim.protocol.proto import ADMINISTRATION, APPLICATION_CLIENT, HA_SERVICE
from shim.protocol.proto.messages import (
    ApplicationIdProto,
    ApplicationReportProto,
    GetApplicationsRequestProto,
    GetApplicationsResponseProto,
)
from shim.server.rpc import AdminService, ClientService
from tests.doubles.federation import ScriptedFederation
from tests.doubles.resource_manager_rpc import ScriptedRPC
from tests.support.loop_watch import LoopWatch, too_long
from tests.unit.server.rpc.test_admin_service import Operators
from tests.unit.server.rpc.test_client_service import ClientServiceFixture

MIB = 1024 * 1024
VARINT, BYTES = 0, 2
LEVELS = 3


def payloads(message: Descriptor) -> Iterator[tuple[str, bytes]]:
    yield "nothing", b""
    yield "no message", b"\xff" * MIB
    yield "deep groups", b"\x0b" * MIB
    yield "unknown fields", encoded(9999, b"") * (MIB // 4)
    for path, field in fields(message):
        for name, value in values_of(field):
            body = value
            for number in reversed(path):
                body = encoded(number, body)
            yield f"{field.full_name} {name}", body


def fields(message: Descriptor, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], FieldDescriptor]]:
    for field in message.fields:
        yield path, field
        if field.message_type is not None and len(path) < LEVELS:
            yield from fields(field.message_type, (*path, field.number))


def values_of(field: FieldDescriptor) -> Iterator[tuple[str, bytes]]:
    number = field.number
    if field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
        yield "long", encoded(number, b"a" * MIB)
        yield "dots", encoded(number, b"root" + b".a" * (MIB // 2))
        yield "no UTF-8", encoded(number, b"\xff" * MIB)
        yield "many", encoded(number, b"ab") * (MIB // 4)
    elif field.message_type is not None:
        yield "many", encoded(number, b"") * (MIB // 3)
    else:
        yield "many", (varint(number << 3 | VARINT) + b"\x01") * (MIB // 3)
        yield "packed", encoded(number, b"\x01" * MIB)
        yield "large", varint(number << 3 | VARINT) + b"\xff" * 9 + b"\x01"


def encoded(number: int, value: bytes) -> bytes:
    return varint(number << 3 | BYTES) + varint(len(value)) + value


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


async def test_no_call_of_any_method_holds_the_loop() -> None:
    client, operators = await ClientServiceFixture(ScriptedFederation(), is_limited=False).open(), Operators()
    servers = ((client.server, APPLICATION_CLIENT), (operators.server, ADMINISTRATION), (operators.server, HA_SERVICE))
    findings = []
    with LoopWatch() as watch:
        for server, protocol in servers:
            for name, method in protocol.methods.items():
                for what, payload in payloads(cast("Descriptor", method.request.DESCRIPTOR)):
                    call = HadoopCall(1, b"client", 0, CallerContext("CLI"), protocol.name, name, 1, payload)
                    held = await too_long(partial(held_by, server, call, watch))
                    if held is not None:
                        findings.append(f"{name}: {what}: {held:.0f} times fixed work: {watch.what}")
    assert not findings, "\n".join(findings)


async def held_by(server: ClientService | AdminService, call: HadoopCall, watch: LoopWatch) -> float:
    watch.reset()
    began_s = time.thread_time()
    ready = server.answer_at_once(call, Caller("operator", "operator"))
    at_once_s = time.thread_time() - began_s
    assert not (isinstance(ready, Failure) and ready.java_class is JavaClass.RETRIABLE), "it is refused, and not tried"
    await asyncio.sleep(0)
    watch.reset()
    if ready is None:
        await asyncio.wait({asyncio.create_task(server.answer(call, Caller("operator", "operator")))}, timeout=20)
    return max(at_once_s, watch.longest_s)


class TellsMuch(ScriptedRPC):
    """Lists as many applications as an answer may have bytes for."""

    payload = b""

    async def call(self, call: RPCCall, *, timeout_s: float | None = None) -> RPCAnswer:
        if call.method == "getApplications":
            return RPCAnswer(self.payload)
        return await super().call(call, timeout_s=timeout_s)


REQUESTS = {
    "all": GetApplicationsRequestProto(),
    "the newest": GetApplicationsRequestProto(limit=1000),
    "of a range": GetApplicationsRequestProto(start_begin=1),
}


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS.keys())
async def test_no_list_of_a_cluster_holds_the_loop_however_long_it_is(request_: GetApplicationsRequestProto) -> None:
    """Every step of the loop is a small one: what grows with the list is done elsewhere, or in pieces."""
    tags = [f"tag{number}" for number in range(8)]
    own = ApplicationReportProto(applicationId=ApplicationIdProto(cluster_timestamp=9, id=1), user="a", name="n" * 200)
    own.applicationTags.extend(tags)
    report = ApplicationReportProto()
    report.CopyFrom(own)
    report.applicationTags.append(SPAN_TAG)
    one = GetApplicationsResponseProto(applications=[own] * 9 + [report]).SerializeToString()
    server = ClientServiceFixture(ScriptedFederation(), is_limited=False)
    server.rpcs = {name: TellsMuch(manager) for name, manager in server.federation.managers.items()}
    TellsMuch.payload = one * 3000
    client = await server.open()
    numbers = itertools.count()

    async def attempt() -> float:
        """Asked with another field each time, so that no answer is there from before."""
        payload = request_.SerializeToString() + encoded(9999, b"%d" % next(numbers))
        call = HadoopCall(1, b"c", 0, None, APPLICATION_CLIENT.name, "getApplications", 1, payload)
        return await held_by(client.server, call, watch)

    with LoopWatch() as watch:
        held = await too_long(attempt, 0.5)
    assert held is None, watch.what
    told = await client.ask("getApplications", request_)
    assert len(told.applications) == (1000 if request_.HasField("limit") else 2 * 9 * 3000)
