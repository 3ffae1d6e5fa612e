"""Large protected answers are opened in a thread; calls that are made meanwhile wait, and none is lost."""

import asyncio
import threading

from adapters.yarn.rpc_channel import RPCChannel
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
