"""Answers leave in turns of the loop, however many are asked for at once or how it ends; ready ones leave at once."""

import asyncio

import pytest
import structlog

from shim.errors import GroupsUnknownError
from shim.identity.service import Caller
from shim.protocol.hrpc import (
    SIMPLE_OFFER,
    AnswerReceived,
    AuthMethod,
    ClientConnection,
    HadoopRequest,
    QualityOfProtection,
    SASLInitiator,
    SASLOffer,
    UserIdentity,
)
from shim.protocol.hrpc.gssapi import GSSAPIClient, GSSAPIServer
from shim.protocol.proto import APPLICATION_CLIENT
from shim.server.rpc.connection import RPCConnection, RPCLimits, RPCReception
from tests.unit.adapters.yarn.test_rpc_channel import WatchedContext

MIB = 1024 * 1024
PRIVACY = [QualityOfProtection.AUTH_CONF]
LARGE = bytes(4 * MIB)
CALLS = 8


class Lavish:
    """Answers every call at once with 4 MiB."""

    def __init__(self, context):
        self._context = context

    def offers(self):
        return [SASLOffer(AuthMethod.KERBEROS, "rm", "node", lambda: GSSAPIServer(self._context, PRIVACY))]

    def admit(self, context, address):  # noqa: ARG002 - the port
        return Caller("alice", "alice")

    def answer_at_once(self, call, caller):  # noqa: ARG002 - the port
        return LARGE

    async def answer(self, call, caller):
        return self.answer_at_once(call, caller)

    def tell(self, exchange):
        pass


class Turns(WatchedContext):
    """Counts what is wrapped in each turn of the loop."""

    def __init__(self, **sides):
        super().__init__(**sides)
        self.wrapped = [0]

    def wrap(self, data, *, is_encrypted):
        self.wrapped[-1] += len(data)
        return super().wrap(data, is_encrypted=is_encrypted)


class Client(asyncio.Transport):
    """Takes everything, and closes when told."""

    def __init__(self, client):
        super().__init__()
        self.client = client
        self.is_closed = False

    def get_extra_info(self, name, default=None):  # noqa: ARG002 - the transport's signature
        return ("127.0.0.1", 4711)

    def write(self, data):
        self.client.receive(bytes(data))

    def is_closing(self):
        return self.is_closed

    def close(self):
        self.is_closed = True

    def pause_reading(self):
        pass

    def resume_reading(self):
        pass

    def set_write_buffer_limits(self, high=None, low=None):
        pass

    def get_write_buffer_size(self):
        return 0


async def logged_in():
    context = Turns(is_server=True, peer="alice@REALM")
    session = GSSAPIClient(WatchedContext(is_server=False, peer="rm/node@REALM"), PRIVACY)
    initiator = SASLInitiator({AuthMethod.KERBEROS: lambda _: session})
    client = ClientConnection(APPLICATION_CLIENT.name, UserIdentity("alice"), bytes(range(16)), initiator=initiator)
    server, transport = RPCConnection(RPCReception(Lavish(context), RPCLimits())), Client(client)
    server.connection_made(transport)
    client.connect()
    while (said := client.data_to_send()) or not client.is_protected:
        server.data_received(said)
        await asyncio.sleep(0)
    context.wrapped[:] = [0]
    for number in range(CALLS):
        client.call(HadoopRequest(APPLICATION_CLIENT.name, "getApplications", b""), call_id=number)
    return server, client, transport, context


async def turn_by_turn(context, is_done):
    while not is_done():
        context.wrapped.append(0)
        await asyncio.sleep(0)
        assert len(context.wrapped) < 1000


async def test_many_large_answers_at_once_are_wrapped_in_turns():
    server, client, transport, context = await logged_in()
    server.data_received(client.data_to_send())
    await turn_by_turn(context, lambda: sum(context.wrapped) >= CALLS * len(LARGE))
    assert max(context.wrapped) < 1.1 * MIB
    assert not transport.is_closed


async def test_a_connection_that_ends_by_a_fault_closes_behind_answers_that_were_wrapped_in_turns():
    server, client, transport, context = await logged_in()
    server.data_received(client.data_to_send())
    server.data_received(b"\xff\xff\xff\xff")
    await turn_by_turn(context, lambda: transport.is_closed)
    assert sum(context.wrapped) >= 2 * len(LARGE)
    assert max(context.wrapped) < 1.1 * MIB


class Ready(Lavish):
    """Answers every call at once with its method."""

    def __init__(self):
        self.told = []

    def offers(self):
        return [SIMPLE_OFFER]

    def answer_at_once(self, call, caller):  # noqa: ARG002 - the port
        return call.method.encode()

    def tell(self, exchange):
        self.told.append(exchange.call.call_id)


class Heard(Client):
    """Keeps the ids of the calls that were answered, and whether it is read from."""

    def __init__(self, client):
        super().__init__(client)
        self.answered = []
        self.is_read = True

    def write(self, data):
        events = self.client.receive(bytes(data))
        self.answered += [event.answer.call_id for event in events if isinstance(event, AnswerReceived)]

    def pause_reading(self):
        self.is_read = False

    def resume_reading(self):
        self.is_read = True


def opened(service=None):
    client, reception = (
        ClientConnection(APPLICATION_CLIENT.name, UserIdentity("alice"), bytes(16)),
        RPCReception(Ready() if service is None else service, RPCLimits()),
    )
    server, transport = RPCConnection(reception), Heard(client)
    server.connection_made(transport)
    client.connect()
    server.data_received(client.data_to_send())
    return server, client, transport, reception


def a_call(client, call_id):
    client.call(HadoopRequest(APPLICATION_CLIENT.name, "getClusterMetrics", b""), call_id=call_id)
    return client.data_to_send()


async def test_what_waits_for_its_turn_is_counted_and_no_more_is_read_when_it_is_much():
    server, client, transport, reception = opened()
    server.data_received(a_call(client, 1))
    await asyncio.sleep(0)
    while reception.turns.take():
        pass
    client.call(HadoopRequest(APPLICATION_CLIENT.name, "getClusterMetrics", bytes(100 * 1024)), call_id=2)
    data = client.data_to_send()

    server.data_received(data)
    assert (transport.is_read, len(reception.held)) == (False, len(data))
    await asyncio.sleep(0)

    assert (transport.is_read, len(reception.held), transport.answered) == (True, 0, [1, 2])


def turns_left(reception):
    taken = 0
    while reception.turns.take():
        taken += 1
    return taken


async def test_a_call_like_an_earlier_one_is_answered_while_it_is_read():
    server, client, transport, reception = opened()
    server.data_received(a_call(client, 1))
    await asyncio.sleep(0)
    assert transport.answered == [1]

    server.data_received(a_call(client, 2))

    assert transport.answered == [1, 2]
    assert reception.service.told == [1, 2]


async def test_a_call_in_two_reads_that_wait_for_their_turn_is_answered_and_reading_goes_on():
    server, client, transport, reception = opened()
    server.data_received(a_call(client, 1))
    await asyncio.sleep(0)
    while reception.turns.take():
        pass
    data = a_call(client, 2)

    server.data_received(data[:9])
    assert transport.is_read
    server.data_received(data[9:])
    assert (transport.is_read, transport.answered) == (False, [1])
    await asyncio.sleep(0)

    assert (transport.is_read, transport.answered) == (True, [1, 2])


async def test_a_call_that_has_to_be_decoded_takes_the_turns_of_several_that_have_not():
    server, client, _, reception = opened()
    server.data_received(a_call(client, 1))
    await asyncio.sleep(0)

    server.data_received(a_call(client, 2))
    known = turns_left(reception)
    await asyncio.sleep(0)
    server.data_received(a_call(client, 3) + a_call(client, 4))
    decoded = turns_left(reception)

    assert known > decoded


class Unsure(Ready):
    """Lets nobody in, or out, before it is told whether the groups that decide are known."""

    def __init__(self):
        super().__init__()
        self.told_groups = asyncio.get_running_loop().create_future()

    def admit(self, context, address):
        if not self.told_groups.done():
            raise GroupsUnknownError("the groups are not known yet", lambda: self.told_groups)
        return super().admit(context, address)


@pytest.mark.parametrize("are_known", [True, False])
async def test_who_is_let_in_by_groups_waits_for_them_with_all_that_comes_behind(are_known):
    service = Unsure()
    server, client, transport, _ = opened(service)
    for number in range(1, 40):
        server.data_received(a_call(client, number))
        await asyncio.sleep(0)
    assert (transport.answered, transport.is_read, transport.is_closed) == ([], False, False)
    service.told_groups.set_result(are_known)
    for _ in range(50):
        await asyncio.sleep(0)
    assert transport.answered == (list(range(1, 40)) if are_known else [])
    assert (transport.is_read, transport.is_closed) == (are_known, not are_known)


async def test_who_leaves_while_groups_are_awaited_is_forgotten():
    service = Unsure()
    server, client, transport, reception = opened(service)
    server.data_received(a_call(client, 1))
    server.connection_lost(None)
    service.told_groups.set_result(True)
    for _ in range(10):
        await asyncio.sleep(0)
    assert (transport.answered, server.tasks, len(reception.held)) == ([], frozenset(), 0)


class Slow(Ready):
    """Has every call wait until it is told to answer; changes are those that are named so."""

    def __init__(self):
        super().__init__()
        self.goes_on = asyncio.Event()
        self.begun, self.ended = [], []

    def answer_at_once(self, call, caller):  # noqa: ARG002 - the port
        return None

    async def answer(self, call, caller):  # noqa: ARG002 - the port
        self.begun.append(call.call_id)
        try:
            await self.goes_on.wait()
        finally:
            self.ended.append(call.call_id)
        return b"told"


def slow(limits, count=1):
    reception = RPCReception(Slow(), limits, may_be_dropped=lambda call: call.method.startswith("get"))
    made = []
    for _ in range(count):
        client = ClientConnection(APPLICATION_CLIENT.name, UserIdentity("alice"), bytes(16))
        server, transport = RPCConnection(reception), Heard(client)
        server.connection_made(transport)
        client.connect()
        server.data_received(client.data_to_send())
        made.append((server, client, transport))
    return reception, made


async def says(server, client, transport, count, size, method="getClusterMetrics"):
    """Send calls in reads of 64 KiB, as long as the server reads."""
    for number in range(count):
        client.call(HadoopRequest(APPLICATION_CLIENT.name, method, bytes(size)), call_id=number)
    data = client.data_to_send()
    for start in range(0, len(data), 65536):
        if not transport.is_read:
            return
        server.data_received(data[start : start + 65536])
        await asyncio.sleep(0)


async def test_requests_of_calls_under_way_are_counted_and_beyond_some_nothing_more_is_read():
    reception, ((server, client, transport),) = slow(RPCLimits())
    await says(server, client, transport, 100, 512 * 1024)
    await asyncio.sleep(0)
    assert not transport.is_read
    assert 4 * MIB <= len(reception.held) < 5 * MIB
    assert len(reception.service.begun) == 8
    reception.service.goes_on.set()
    for _ in range(10):
        await asyncio.sleep(0)
    assert transport.is_read
    assert len(reception.held) < MIB


async def test_of_a_client_that_has_gone_questions_are_dropped_and_changes_run_to_their_end():
    reception, ((server, client, transport),) = slow(RPCLimits())
    await says(server, client, transport, 2, 100 * 1024)
    client.call(HadoopRequest(APPLICATION_CLIENT.name, "submitApplication", bytes(200 * 1024)), call_id=7)
    server.data_received(client.data_to_send())
    await asyncio.sleep(0)
    server.connection_lost(None)
    for _ in range(5):
        await asyncio.sleep(0)
    assert sorted(reception.service.ended) == [0, 1]
    assert len(reception.held) == 200 * 1024, "what is kept for a change counts for as long as it is kept"
    reception.service.goes_on.set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert sorted(reception.service.ended) == [0, 1, 7]
    assert (len(reception.held), dict(reception.under_way)) == (0, {})


async def test_changes_of_clients_that_have_gone_make_room_for_others():
    reception, ((gone, client, far), (here, other, near)) = slow(RPCLimits(max_held_bytes=300 * 1024), 2)
    await says(gone, client, far, 1, 200 * 1024, "submitApplication")
    gone.connection_lost(None)
    await says(here, other, near, 1, 200 * 1024, "submitApplication")
    for _ in range(5):
        await asyncio.sleep(0)
    assert reception.service.begun == [0, 0]
    assert len(reception.service.ended) == 1
    assert len(reception.held) == 200 * 1024


async def test_calls_of_a_user_are_bounded_over_connections():
    reception, made = slow(RPCLimits(max_of_user=5), 3)
    for server, client, transport in made:
        await says(server, client, transport, 3, 10)
    for _ in range(5):
        await asyncio.sleep(0)
    assert len(reception.service.begun) == 5
    assert [len(transport.answered) for _, _, transport in made] == [0, 1, 3]
    reception.service.goes_on.set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert [len(transport.answered) for _, _, transport in made] == [3, 3, 3]
    assert not reception.under_way


class Mistaken(Slow):
    """Fails where nobody expects it: behind the answer."""

    def tell(self, exchange):
        raise ValueError(f"call {exchange.call.call_id} cannot be counted")


async def test_a_fault_behind_an_answer_is_told_and_leaves_nobody_waiting():
    reception = RPCReception(Mistaken(), RPCLimits())
    client = ClientConnection(APPLICATION_CLIENT.name, UserIdentity("alice"), bytes(16))
    server, transport = RPCConnection(reception), Heard(client)
    server.connection_made(transport)
    client.connect()
    server.data_received(client.data_to_send())
    reception.service.goes_on.set()
    with structlog.testing.capture_logs() as logs:
        server.data_received(a_call(client, 1))
        for _ in range(5):
            await asyncio.sleep(0)
    assert (transport.is_closed, server.tasks, dict(reception.under_way)) == (True, frozenset(), {})
    assert [(each["log_level"], each["event"]) for each in logs] == [("error", "rpc work failed")]
