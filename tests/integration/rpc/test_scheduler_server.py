"""The scheduler server over real sockets, between ApplicationMasters and scripted schedulers."""

import asyncio
import socket
from contextlib import AsyncExitStack

import pytest

from shim.errors import NeverReachedError, NoAnswerError
from shim.ports.attempt_calls import ALLOCATE, FINISH, REGISTER
from shim.protocol.hrpc import JavaClass, QualityOfProtection
from shim.protocol.hrpc.digest_md5 import TokenSecret
from shim.protocol.proto.messages import AllocateRequestProto
from shim.server.rpc.am_connections import AMConnectionLimits
from tests.doubles.postgresql import free_port
from tests.doubles.scheduler import token_for
from tests.integration.rpc.masters import (
    ALL_QUALITIES,
    Counts,
    ScriptedApplicationMaster,
    a_master,
    a_scheduler,
    a_server,
    attempt,
)

LOST = (NoAnswerError, NeverReachedError)


async def until(holds, within_s=60.0):
    async with asyncio.timeout(within_s):
        while not holds():  # noqa: ASYNC110 - what other connections do is told to nobody
            await asyncio.sleep(0.01)


# -- what goes through -------------------------------------------------------------------------------------------------


async def test_a_master_registers_allocates_and_finishes_through_the_server():
    counts = Counts()
    async with (
        a_scheduler(1) as scheduler,
        a_server(scheduler.port, counts=counts) as server,
        a_master(server, scheduler.tokens[1]) as master,
    ):
        assert (await master.register()).refusal is None
        for _ in range(3):
            assert (await master.allocate()).refusal is None
        assert (await master.finish()).refusal is None

        assert scheduler.behaviour.called(attempt(1)) == [REGISTER, *[ALLOCATE] * 3, FINISH]
        assert {call.caller_context for call in scheduler.behaviour.calls} == {"mr_appmaster_1"}
        assert counts.methods == [REGISTER, *[ALLOCATE] * 3, FINISH]
        assert counts.open == 1
        assert 0 < counts.added_s < 1
    await until(lambda: counts.open == 0)


@pytest.mark.parametrize("quality", [QualityOfProtection.AUTH_INT, QualityOfProtection.AUTH_CONF])
async def test_what_is_protected_from_everybody_in_between_passes_as_it_is(quality):
    counts = Counts()
    async with (
        a_scheduler(1, 100, qualities=(quality,)) as scheduler,
        a_server(scheduler.port, counts=counts, service=NobodyMayAsk()) as server,
        a_master(server, scheduler.tokens[1], qualities=ALL_QUALITIES) as master,
        a_master(server, scheduler.tokens[100], qualities=ALL_QUALITIES) as of_a_spanning_queue,
    ):
        for each in (master, of_a_spanning_queue):
            assert (await each.register()).refusal is None
            assert (await each.allocate()).refusal is None
    assert counts.methods == []


class NobodyMayAsk:
    """A service for calls that cannot be understood."""

    def enter(self, found, home):
        raise AssertionError(f"{found.id} entered over {home}")


async def test_many_masters_do_not_mix():
    numbers = range(1, 40)
    async with a_scheduler(*numbers) as scheduler, a_server(scheduler.port) as server, AsyncExitStack() as stack:
        masters = [await stack.enter_async_context(a_master(server, scheduler.tokens[number])) for number in numbers]
        await asyncio.gather(*(master.register() for master in masters))
        for _ in range(5):
            await asyncio.gather(*(master.allocate() for master in masters))
        assert {master.response_id for master in masters} == {5}
        for number in numbers:
            assert scheduler.behaviour.called(attempt(number)) == [REGISTER, *[ALLOCATE] * 5]


async def test_a_large_answer_comes_whole():
    async with (
        a_scheduler(1, padding=b"\xaa\x06\x80\x80\x80\x02" + bytes(4 << 20)) as scheduler,  # field 101, 4 MiB
        a_server(scheduler.port) as server,
        a_master(server, scheduler.tokens[1]) as master,
    ):
        await master.register()
        assert len((await master.allocate()).payload) > 4 << 20


# -- who may not come in -----------------------------------------------------------------------------------------------

REFUSED = {
    "a wrong password": (TokenSecret(token_for(attempt()).identifier, b"guessed"), JavaClass.SASL, "Mismatched resp"),
    "a token of another ResourceManager": (token_for(attempt(2)), JavaClass.INVALID_TOKEN, "not found in AMRMToken"),
    "an application of nobody": (
        token_for(attempt(1000)),
        JavaClass.INVALID_TOKEN,
        "appattempt_1700000000000_1000_000001 not found in AMRMTokenSecretManager.",
    ),
    "no token of an application": (TokenSecret(b"\xff\xff", b"x"), JavaClass.INVALID_TOKEN, "Can't de-serialize"),
    "a token without an application": (TokenSecret(b"", b"x"), JavaClass.INVALID_TOKEN, "Can't de-serialize"),
}


@pytest.mark.parametrize(("token", "java_class", "text"), REFUSED.values(), ids=REFUSED)
async def test_is_refused_as_by_a_resource_manager(token, java_class, text):
    async with a_scheduler(1) as scheduler, a_server(scheduler.port) as server, a_master(server, token) as master:
        refusal = (await master.allocate()).refusal
    assert refusal is not None
    assert refusal.java_class == java_class
    assert text in refusal.message
    assert scheduler.behaviour.calls == []


async def last_words(server, data):
    host, _, port = server.address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(data)
    words = await reader.read()
    writer.close()
    return words


async def test_names_are_not_believed():
    async with a_scheduler() as scheduler, a_server(scheduler.port) as server:
        words = await last_words(server, b"hrpc\x09\x00\x00")
    assert b"SIMPLE authentication is not enabled.  Available:[TOKEN]" in words


async def test_a_browser_is_told_that_this_is_not_the_web_port():
    async with a_scheduler() as scheduler, a_server(scheduler.port) as server:
        assert (await last_words(server, b"GET / HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 404 Not Found\r\n")


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"hrpc\x09\x00\xdf\x7f\xff\xff\xff",
        b"hrpc\x09\x00\xdf\x00\x00\x00\x04\xff\xff\xff\xff",
    ],
    ids=["TLS", "a frame of 2 GiB", "no protobuf"],
)
async def test_garbage_ends_its_own_connection_and_no_other(garbage):
    async with (
        a_scheduler(1) as scheduler,
        a_server(scheduler.port) as server,
        a_master(server, scheduler.tokens[1]) as master,
    ):
        await master.register()
        await last_words(server, garbage)
        assert (await master.allocate()).refusal is None


async def test_whoever_does_not_log_in_is_cut():
    async with a_scheduler() as scheduler, a_server(scheduler.port, set_up_s=0.05) as server:
        with pytest.raises((ConnectionError, AssertionError)):  # cut: with a reset, or an end
            assert await last_words(server, b"hrpc\x09\x00\xdf") != b""


async def test_a_flood_of_connections_keeps_no_master_out():
    few = AMConnectionLimits(most_entering=8, most_entering_of_one=8)
    async with a_scheduler(1) as scheduler, a_server(scheduler.port, connections=few) as server:
        host, _, port = server.address.rpartition(":")
        flood = [await asyncio.open_connection(host, int(port)) for _ in range(100)]
        async with a_master(server, scheduler.tokens[1]) as master:
            assert (await master.register()).refusal is None
            assert len(server.connections) <= 9
        for _, writer in flood:
            writer.close()


async def test_garbage_after_the_login_is_the_homes_to_refuse():
    async with (
        a_scheduler(1, 2) as scheduler,
        a_server(scheduler.port) as server,
        a_master(server, scheduler.tokens[1]) as hostile,
        a_master(server, scheduler.tokens[2]) as master,
    ):
        await master.register()
        await hostile.register()
        (channel,) = hostile.rpc.channels
        channel._transport.write(b"\xff" * 4096)
        await until(lambda: not channel.is_usable)
        assert (await master.allocate()).refusal is None


# -- ends --------------------------------------------------------------------------------------------------------------


async def test_when_its_home_goes_a_masters_connection_ends_and_the_next_one_finds_the_home_again():
    async with (
        a_scheduler(1) as scheduler,
        a_server(scheduler.port) as server,
        a_master(server, scheduler.tokens[1]) as master,
    ):
        await master.register()
        scheduler.behaviour.may_answer.clear()
        waiting = asyncio.create_task(master.allocate())
        await until(lambda: len(scheduler.behaviour.calls) == 2)
        await scheduler.kill()
        with pytest.raises(LOST):
            await waiting
        scheduler.behaviour.may_answer.set()
        scheduler.behaviour.forget_registrations()
        await scheduler.start()
        refusal = (await master.allocate()).refusal
        assert refusal is not None
        assert refusal.java_class == JavaClass.APPLICATION_MASTER_NOT_REGISTERED  # YARN's own word for: resync


async def test_when_a_master_goes_its_login_at_the_home_goes_too():
    counts = Counts()
    async with a_scheduler(1) as scheduler, a_server(scheduler.port, counts=counts) as server:
        async with a_master(server, scheduler.tokens[1]) as master:
            await master.register()
            assert len(scheduler.connections) == 1
        await until(lambda: not scheduler.connections)
        assert counts.open == 0
        assert len(server.connections) == 0


async def test_a_master_goes_on_where_it_was_after_the_server_died_and_came_back():
    async with a_scheduler(1) as scheduler:
        port = free_port()
        master = ScriptedApplicationMaster(f"127.0.0.1:{port}", scheduler.tokens[1])
        async with a_server(scheduler.port, port=port):
            await master.register()
            await master.allocate()
        with pytest.raises(LOST):
            await master.allocate()
        async with a_server(scheduler.port, port=port):
            assert (await master.allocate()).refusal is None
        await master.rpc.close()
    assert scheduler.behaviour.called(attempt(1)) == [REGISTER, ALLOCATE, ALLOCATE]


async def test_an_attempt_that_logs_in_again_and_again_ends_its_own_oldest_login():
    one = AMConnectionLimits(most_of_attempt=1)
    async with (
        a_scheduler(1, 2) as scheduler,
        a_server(scheduler.port, connections=one) as server,
        a_master(server, scheduler.tokens[2]) as other,
        a_master(server, scheduler.tokens[1]) as first,
        a_master(server, scheduler.tokens[1]) as second,
    ):
        await other.register()
        await first.register()
        await second.register()
        (channel,) = first.rpc.channels
        await until(lambda: not channel.is_usable)
        assert (await second.allocate()).refusal is None
        assert (await other.allocate()).refusal is None


# -- homes that are away, or elsewhere ---------------------------------------------------------------------------------


async def test_a_master_waits_for_a_home_that_starts():
    async with a_scheduler(1) as scheduler:
        await scheduler.kill()
        async with a_server(scheduler.port) as server, a_master(server, scheduler.tokens[1]) as master:
            registering = asyncio.create_task(master.register())
            await asyncio.sleep(0.3)
            assert not registering.done()
            await scheduler.start()
            assert (await registering).refusal is None


async def test_a_master_is_sent_away_when_its_home_stays_away():
    async with a_server(free_port(), timeout_s=0.2) as server, a_master(server, token_for(attempt(1))) as master:
        with pytest.raises(LOST):
            await master.register()
        assert len(server.connections) == 0


async def test_a_home_whose_scheduler_address_is_not_known_is_waited_for_by_nobody():
    async with a_server() as server, a_master(server, token_for(attempt(1))) as master:
        async with asyncio.timeout(60):
            with pytest.raises(LOST):
                await master.register()


async def test_of_two_resource_managers_the_one_that_listens_is_found_and_remembered():
    async with (
        a_scheduler(1, 2) as active,
        a_server(free_port(), active.port) as server,
        a_master(server, active.tokens[1]) as first,
        a_master(server, active.tokens[2]) as second,
    ):
        assert (await first.register()).refusal is None
        assert (await second.register()).refusal is None
        assert list(server._context.dialler._first.values()) == [1]


async def test_a_resource_manager_that_hangs_is_left_for_the_next():
    with socket.create_server(("127.0.0.1", 0)) as hangs:  # the kernel takes connections, nobody else does
        async with (
            a_scheduler(1) as active,
            a_server(hangs.getsockname()[1], active.port, offer_s=0.1) as server,
            a_master(server, active.tokens[1]) as master,
        ):
            assert (await master.register()).refusal is None


async def test_after_a_fail_over_masters_find_the_new_active_one():
    async with (
        a_scheduler(1) as first,
        a_scheduler(1) as second,
        a_server(first.port, second.port) as server,
        a_master(server, first.tokens[1]) as master,
    ):
        await master.register()
        await first.kill()
        await until(lambda: all(not channel.is_usable for channel in master.rpc.channels))
        refusal = (await master.allocate()).refusal
        assert refusal is not None
        assert refusal.java_class == JavaClass.APPLICATION_MASTER_NOT_REGISTERED
        assert second.behaviour.called(attempt(1)) == [ALLOCATE]


# -- pace --------------------------------------------------------------------------------------------------------------


async def test_a_home_that_does_not_read_makes_nobody_keep_what_its_masters_say():
    async with (
        a_scheduler(1) as scheduler,
        a_server(scheduler.port) as server,
        a_master(server, scheduler.tokens[1]) as master,
    ):
        await master.register()
        (at_home,) = scheduler.connections
        at_home._transport.pause_reading()
        big = AllocateRequestProto(tracking_url="x" * (1 << 20))
        asking = [asyncio.create_task(master.call(ALLOCATE, big)) for _ in range(64)]
        (guest,) = server.connections.connections
        await until(lambda: not guest._transport.is_reading())
        assert guest._home.transport.get_write_buffer_size() < 2 << 20
        at_home._transport.resume_reading()
        assert len(await asyncio.gather(*asking)) == 64
        assert guest._transport.is_reading()


async def test_a_master_that_does_not_read_makes_nobody_keep_its_answers():
    """Of 64 MiB of answers the server holds a few hundred KiB; the rest stays where it is."""
    async with (
        a_scheduler(1, padding=b"\xaa\x06\x80\x80\x40" + bytes(1 << 20)) as scheduler,  # field 101, 1 MiB
        a_server(scheduler.port) as server,
        a_master(server, scheduler.tokens[1], timeout_s=30) as master,
    ):
        await master.register()
        (channel,) = master.rpc.channels
        channel._transport.pause_reading()
        asking = [asyncio.create_task(master.call(ALLOCATE)) for _ in range(64)]
        await until(lambda: len(scheduler.behaviour.calls) >= 4)
        (guest,) = server.connections.connections
        await asyncio.sleep(0.3)
        assert guest._transport.get_write_buffer_size() < 2 << 20
        channel._transport.resume_reading()
        assert len(await asyncio.gather(*asking)) == 64
