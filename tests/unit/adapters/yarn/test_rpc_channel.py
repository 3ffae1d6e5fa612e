"""Large protected answers are opened in a thread; calls that are made meanwhile wait, and none is lost."""

import asyncio
import gc
import threading
import tracemalloc

import pytest

from adapters.yarn.rpc_channel import RPCChannel
from shim.errors import NeverReachedError, NoAnswerError
from shim.protocol.hrpc import (
    AuthMethod,
    ClientConnection,
    HadoopRequest,
    QualityOfProtection,
    SASLInitiator,
    SASLOffer,
    SASLState,
    ServerConnection,
    UserIdentity,
)
from shim.protocol.hrpc.envelopes import encode_success
from shim.protocol.hrpc.gssapi import GSSAPIClient, GSSAPIServer
from shim.protocol.hrpc.headers import SASL_CALL_ID
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.proto.messages import RpcSaslProto
from tests.unit.protocol.hrpc.test_gssapi import LetterContext

CLIENT_ID = bytes(range(16))
MIB = 1024 * 1024
PRIVACY = [QualityOfProtection.AUTH_CONF]


class WatchedContext(LetterContext):
    """A quick one that remembers which thread has opened how much."""

    def __init__(self, **sides):
        super().__init__(**sides)
        self.opened = []

    def wrap(self, data, *, is_encrypted):
        return (b"c" if is_encrypted else b"i") + data

    def unwrap(self, data, *, is_encrypted):  # noqa: ARG002 - the port's signature
        self.opened.append((len(data), threading.get_ident()))
        return data[1:]


class Wire(asyncio.Transport):
    """Hands what is written to a server, and what that answers back, at once."""

    def __init__(self, channel):
        super().__init__()
        self.channel = channel
        self.reads = True
        offer = SASLOffer(
            AuthMethod.KERBEROS,
            "rm",
            "node",
            lambda: GSSAPIServer(WatchedContext(is_server=True, peer="heddle@REALM"), PRIVACY),
        )
        self.server = ServerConnection([offer])

    def write(self, data):
        self.server.receive(bytes(data))
        answer = self.server.data_to_send()
        if answer:
            self.channel.data_received(answer)

    def is_closing(self):
        return False

    def pause_reading(self):
        self.reads = False

    def resume_reading(self):
        self.reads = True

    def close(self):
        raise AssertionError("the connection was closed")


def answer_of(call_id, payload):
    """What a ResourceManager sends: a whole answer in one protected message."""
    token = b"c" + encode_success(payload, call_id=call_id, client_id=CLIENT_ID)
    return encode_success(RpcSaslProto(state=SASLState.WRAP, token=token).SerializeToString(), call_id=SASL_CALL_ID)


async def connected():
    context = WatchedContext(is_server=False, peer="rm/node@REALM")
    session = GSSAPIClient(context, PRIVACY)
    connection = ClientConnection(
        APPLICATION_CLIENT.name,
        UserIdentity("heddle"),
        CLIENT_ID,
        initiator=SASLInitiator({AuthMethod.KERBEROS: lambda _: session}),
    )
    channel = RPCChannel(connection, "east")
    wire = Wire(channel)
    channel.connection_made(wire)
    for _ in range(10):
        await asyncio.sleep(0)
    assert connection.is_protected
    context.opened.clear()
    return channel, wire, context


def asked(channel):
    return asyncio.create_task(channel.call(HadoopRequest(APPLICATION_CLIENT.name, "getApplications", b"")))


async def test_a_large_answer_is_opened_in_a_thread_and_a_small_one_is_not():
    channel, wire, context = await connected()
    large, small = asked(channel), asked(channel)
    await asyncio.sleep(0)
    payload = bytes(range(256)) * (4 * MIB // 256)
    channel.data_received(answer_of(0, payload))
    assert not wire.reads
    assert (await large).payload_untrusted == payload
    assert wire.reads
    channel.data_received(answer_of(1, b"little"))
    assert (await small).payload_untrusted == b"little"
    here = threading.get_ident()
    assert [(size > MIB, thread == here) for size, thread in context.opened] == [(True, False), (False, True)]


async def test_what_comes_and_is_called_while_a_thread_opens_keeps_its_order():
    channel, _, _ = await connected()
    first, second = asked(channel), asked(channel)
    await asyncio.sleep(0)
    channel.data_received(answer_of(0, b"x" * (2 * MIB)))
    channel.data_received(answer_of(1, b"next"))
    third = asked(channel)
    assert len((await first).payload_untrusted) == 2 * MIB
    assert (await second).payload_untrusted == b"next"
    await asyncio.sleep(0)
    channel.data_received(answer_of(2, b"last"))
    assert (await third).payload_untrusted == b"last"


class Stopped(asyncio.Transport):
    """To a server that takes nothing, until `goes_on`; keeps what was written, as a transport does."""

    def __init__(self, channel):
        super().__init__()
        self.channel, self.buffer, self.is_aborted = channel, bytearray(), False

    def write(self, data):
        self.buffer += data
        if len(self.buffer) > 64 * 1024:
            self.channel.pause_writing()

    def goes_on(self):
        taken, self.buffer = bytes(self.buffer), bytearray()
        self.channel.resume_writing()
        return taken

    def is_closing(self):
        return self.is_aborted

    def close(self):
        self.is_aborted = True

    def abort(self):
        self.is_aborted = True
        self.channel.connection_lost(None)


async def to_a_stopped_server(*, is_logged_in=True):
    initiator = None if is_logged_in else SASLInitiator({AuthMethod.KERBEROS: lambda _: None})
    connection = ClientConnection(APPLICATION_CLIENT.name, UserIdentity("ada"), CLIENT_ID, initiator=initiator)
    channel = RPCChannel(connection, "east")
    wire = Stopped(channel)
    channel.connection_made(wire)
    return channel, wire


def called(channel, size):
    return asyncio.create_task(channel.call(HadoopRequest(APPLICATION_CLIENT.name, "getApplications", bytes(size))))


async def turns(count=20):
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.mark.parametrize("is_logged_in", [True, False])
async def test_to_a_server_that_takes_nothing_no_more_is_written_and_calls_that_are_given_up_are_dropped(is_logged_in):
    channel, wire = await to_a_stopped_server(is_logged_in=is_logged_in)
    tracemalloc.start()
    calls = [called(channel, MIB) for _ in range(50)]
    await turns()
    assert len(wire.buffer) < 2 * MIB
    for each in calls:
        each.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    assert channel.pending == 0
    del calls, each  # their errors know where they were raised, and what was there
    await turns()
    gc.collect()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 4 * MIB


async def test_calls_that_waited_go_on_when_the_server_does_one_after_the_other():
    channel, wire = await to_a_stopped_server()
    calls = [called(channel, MIB) for _ in range(5)]
    sizes = []
    for _ in calls:
        await turns()
        sizes.append(len(wire.goes_on()))
    assert all(MIB < size < 1.1 * MIB for size in sizes), sizes
    await turns()
    for number, each in enumerate(calls):
        channel.data_received(encode_success(b"%d" % number, call_id=number, client_id=CLIENT_ID))
        assert (await each).payload_untrusted == b"%d" % number


async def test_who_waits_for_a_server_that_ends_is_told_that_nothing_was_sent():
    channel, wire = await to_a_stopped_server()
    sent, waits = called(channel, MIB), called(channel, 1)
    await turns()
    wire.abort()
    with pytest.raises(NoAnswerError):
        await sent
    with pytest.raises(NeverReachedError):
        await waits
