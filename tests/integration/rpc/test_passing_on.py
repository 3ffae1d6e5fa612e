"""A master that comes to a Heddle which does not own its queue: its connection is passed on to the one that does."""

import asyncio
import socket

import pytest

from shim.ports.attempt_calls import ALLOCATE, REGISTER
from shim.protocol.hrpc import JavaClass
from shim.protocol.hrpc.digest_md5 import TokenSecret
from shim.protocol.proto.messages import AllocateResponseProto
from tests.doubles.postgresql import free_port
from tests.integration.rpc.masters import a_master, a_scheduler, a_server, attempt
from tests.integration.rpc.test_intercepting_relay import SPANNING, ScriptedAttemptService
from tests.integration.rpc.test_scheduler_server import LOST, until


def at(server):
    """Where a server is, as an owner's."""
    host, _, port = server.address.rpartition(":")
    return host, int(port)


async def test_its_calls_are_understood_by_the_owner_and_by_nobody_else():
    owners, others = ScriptedAttemptService(), ScriptedAttemptService()
    async with (
        a_scheduler(SPANNING) as scheduler,
        a_server(scheduler.port, service=owners) as owner,
        a_server(scheduler.port, service=others, owner=lambda: at(owner)) as other,
        a_master(other, scheduler.tokens[SPANNING]) as master,
    ):
        assert (await master.register()).refusal is None
        told = AllocateResponseProto.FromString((await master.allocate()).payload)
        assert told.num_cluster_nodes == 11
        assert [found.id for found in owners.entered] == [attempt(SPANNING)]
        assert others.entered == []
        assert scheduler.behaviour.called(attempt(SPANNING)) == [REGISTER, ALLOCATE]
    await until(lambda: owners.left == 1)


async def test_what_does_not_span_needs_no_owner():
    async with (
        a_scheduler(1) as scheduler,
        a_server(scheduler.port, service=ScriptedAttemptService(), owner=lambda: ("127.0.0.1", free_port())) as server,
        a_master(server, scheduler.tokens[1]) as master,
    ):
        assert (await master.register()).refusal is None


async def test_a_connection_is_passed_on_once_even_if_two_believe_that_the_other_is_the_owner():
    first_service, second_service = ScriptedAttemptService(), ScriptedAttemptService()
    servers = []
    async with (
        a_scheduler(SPANNING) as scheduler,
        a_server(scheduler.port, service=first_service, owner=lambda: at(servers[1])) as first,
        a_server(scheduler.port, service=second_service, owner=lambda: at(servers[0])) as second,
    ):
        servers += [first, second]
        async with a_master(first, scheduler.tokens[SPANNING]) as master:
            assert (await master.register()).refusal is None
    assert len(second_service.entered) == 1
    assert first_service.entered == []


async def test_a_login_that_fails_fails_in_the_homes_words():
    async with (
        a_scheduler(SPANNING) as scheduler,
        a_server(scheduler.port, service=ScriptedAttemptService()) as owner,
        a_server(scheduler.port, service=ScriptedAttemptService(), owner=lambda: at(owner)) as other,
        a_master(other, TokenSecret(scheduler.tokens[SPANNING].identifier, b"guessed")) as master,
    ):
        refusal = (await master.register()).refusal
    assert refusal is not None
    assert refusal.java_class == JavaClass.SASL
    assert "Mismatched response" in refusal.message


async def test_when_the_owner_dies_the_master_comes_back_and_the_new_owner_has_it():
    """Until the others see that it has died, they go on trying; then the queue may be their own."""
    mine = ScriptedAttemptService()
    elsewhere = [("127.0.0.1", free_port())]
    async with (
        a_scheduler(SPANNING) as scheduler,
        a_server(scheduler.port, service=mine, owner=lambda: elsewhere[0] if elsewhere else None) as server,
        a_master(server, scheduler.tokens[SPANNING]) as master,
    ):
        registering = asyncio.create_task(master.register())
        await asyncio.sleep(0.4)
        assert not registering.done()
        elsewhere.clear()
        assert (await registering).refusal is None
        assert len(mine.entered) == 1


async def test_an_owner_that_ends_ends_the_connections_that_were_passed_on_to_it():
    owners = ScriptedAttemptService()
    async with a_scheduler(SPANNING) as scheduler, a_server(scheduler.port, service=owners) as owner:
        address = at(owner)
        async with (
            a_server(scheduler.port, service=ScriptedAttemptService(), owner=lambda: address) as other,
            a_master(other, scheduler.tokens[SPANNING]) as master,
        ):
            await master.register()
            await owner.stop()
            (channel,) = master.rpc.channels
            await until(lambda: not channel.is_usable)


async def test_an_owner_that_hangs_is_not_waited_for_without_end():
    with socket.create_server(("127.0.0.1", 0)) as hangs:
        async with (
            a_scheduler(SPANNING) as scheduler,
            a_server(
                scheduler.port,
                service=ScriptedAttemptService(),
                owner=lambda: hangs.getsockname()[:2],
                offer_s=0.05,
                timeout_s=0.5,
            ) as server,
            a_master(server, scheduler.tokens[SPANNING]) as master,
        ):
            with pytest.raises(LOST):
                await master.register()
