"""Attempts whose queue spans: their calls go to whoever understands them, with their own login at the home at hand."""

import asyncio

import pytest

from shim.errors import NeverReachedError, NoAnswerError, NotFoundError, NoUsableSubClusterError
from shim.ports.attempt_calls import ALLOCATE, FINISH, REGISTER, Attempt
from shim.ports.resource_manager_rpc import RPCAnswer, RPCCall, RPCRefusal
from shim.protocol.hrpc import JavaClass
from shim.protocol.proto import APPLICATION_MASTER
from shim.protocol.proto.messages import (
    AllocateRequestProto,
    AllocateResponseProto,
    FinishApplicationMasterResponseProto,
    ResourceRequestProto,
)
from tests.integration.rpc.masters import EAST, Counts, a_master, a_scheduler, a_server, attempt
from tests.integration.rpc.test_scheduler_server import LOST, until
from tests.support.traces import tracing

SPANNING = 100


class ScriptedAttemptService:
    """Asks the home and adds nine nodes to what it says; does what a test wants in place of an allocate."""

    def __init__(self):
        self.entered = []
        self.left = 0
        self.home = None
        self.instead = None
        self.is_busy = False

    def enter(self, found, home):
        self.entered.append(found)
        self.home = home
        return self

    def leave(self):
        self.left += 1

    async def register(self, payload):
        return await self.home.call(REGISTER, payload)

    async def allocate(self, payload):
        assert not self.is_busy, "one call at a time"
        self.is_busy = True
        try:
            if self.instead is not None:
                return await self.instead()
            answer = await self.home.call(ALLOCATE, payload)
        finally:
            self.is_busy = False
        if answer.refusal is not None:
            return answer
        told = AllocateResponseProto.FromString(answer.payload)
        told.num_cluster_nodes += 9
        return RPCAnswer(told.SerializeToString())

    async def finish(self, payload):
        await self.home.call(FINISH, payload)
        return RPCAnswer(FinishApplicationMasterResponseProto(isUnregistered=True).SerializeToString())


async def test_calls_are_answered_by_whoever_understands_them_over_the_masters_own_login():
    service, counts = ScriptedAttemptService(), Counts()
    async with (
        a_scheduler(SPANNING, 1) as scheduler,
        a_server(scheduler.port, service=service, counts=counts) as server,
        a_master(server, scheduler.tokens[SPANNING]) as master,
        a_master(server, scheduler.tokens[1]) as of_another_queue,
    ):
        assert (await master.register()).refusal is None
        told = AllocateResponseProto.FromString((await master.allocate()).payload)
        assert told.num_cluster_nodes == 11
        assert (await master.finish()).refusal is None
        assert scheduler.behaviour.called(attempt(SPANNING)) == [REGISTER, ALLOCATE, FINISH]
        assert {call.caller_context for call in scheduler.behaviour.calls} == {"mr_appmaster_1"}
        assert counts.methods == [REGISTER, ALLOCATE, FINISH]

        await of_another_queue.register()
        told = AllocateResponseProto.FromString((await of_another_queue.allocate()).payload)
        assert told.num_cluster_nodes == 2
    assert service.entered == [Attempt(attempt(SPANNING), EAST, "span", "ada", is_read=True)]
    await until(lambda: service.left == 1)


async def test_an_allocate_call_is_one_trace():
    with tracing() as traced:
        async with (
            a_scheduler(SPANNING) as scheduler,
            a_server(scheduler.port, service=ScriptedAttemptService()) as server,
            a_master(server, scheduler.tokens[SPANNING]) as master,
        ):
            await master.register()
            await master.allocate()
    assert traced.below(traced.named("RPC allocate")) == {"ResourceManager allocate"}


async def test_what_the_home_refuses_can_be_told_on():
    service = ScriptedAttemptService()
    async with (
        a_scheduler(SPANNING) as scheduler,
        a_server(scheduler.port, service=service) as server,
        a_master(server, scheduler.tokens[SPANNING]) as master,
    ):
        refusal = (await master.allocate()).refusal
    assert refusal is not None
    assert refusal.java_class == JavaClass.APPLICATION_MASTER_NOT_REGISTERED


def raises(error):
    async def instead():
        raise error

    return instead


ERRORS = {
    "a user's mistake": (NotFoundError("no such thing"), JavaClass.YARN, "no such thing"),
    "something that passes": (NoUsableSubClusterError("not now"), JavaClass.RETRIABLE, "not now"),
    "a bug": (RuntimeError("the secret story"), JavaClass.YARN, "allocate failed inside Heddle; its log tells why"),
}


HOSTILE = {
    "too many bytes": (
        AllocateRequestProto(ask=[ResourceRequestProto(resource_name="h" * 2**20)]),
        "1048576 are taken",
    ),
    "too many items": (AllocateRequestProto(ask=[ResourceRequestProto()] * 30_001), "more than 30000 items"),
}


@pytest.mark.parametrize(("request_of_master", "text"), HOSTILE.values(), ids=HOSTILE)
async def test_a_call_that_is_too_large_is_refused_before_it_is_read_and_the_connection_goes_on(
    request_of_master, text
):
    service = ScriptedAttemptService()
    async with (
        a_scheduler(SPANNING) as scheduler,
        a_server(scheduler.port, service=service) as server,
        a_master(server, scheduler.tokens[SPANNING]) as master,
    ):
        await master.register()
        service.instead = raises(AssertionError("it was read"))
        refusal = (await master.call(ALLOCATE, request_of_master)).refusal
        assert refusal is not None
        assert text in refusal.message
        service.instead = None
        assert (await master.allocate()).refusal is None


@pytest.mark.parametrize(("error", "java_class", "text"), ERRORS.values(), ids=ERRORS)
async def test_an_error_is_told_and_the_connection_goes_on(error, java_class, text):
    service = ScriptedAttemptService()
    async with (
        a_scheduler(SPANNING) as scheduler,
        a_server(scheduler.port, service=service) as server,
        a_master(server, scheduler.tokens[SPANNING]) as master,
    ):
        await master.register()
        service.instead = raises(error)
        assert (await master.allocate()).refusal == RPCRefusal(java_class, text)
        service.instead = None
        assert (await master.allocate()).refusal is None


async def test_when_the_home_goes_during_a_call_the_masters_connection_ends_and_it_can_come_back():
    service = ScriptedAttemptService()
    async with (
        a_scheduler(SPANNING) as scheduler,
        a_server(scheduler.port, service=service) as server,
        a_master(server, scheduler.tokens[SPANNING]) as master,
    ):
        await master.register()
        scheduler.behaviour.may_answer.clear()
        waiting = asyncio.create_task(master.allocate())
        await until(lambda: len(scheduler.behaviour.calls) == 2)
        old = service.home
        await scheduler.kill()
        with pytest.raises(LOST):
            await waiting
        await until(lambda: service.left == 1)
        assert not old.is_open
        with pytest.raises(NeverReachedError):
            await old.call(ALLOCATE, b"")
        scheduler.behaviour.may_answer.set()
        await scheduler.start()
        assert (await master.allocate()).refusal is None
        assert len(service.entered) == 2


async def test_a_home_that_goes_while_nobody_calls_ends_the_connection_too():
    service = ScriptedAttemptService()
    async with (
        a_scheduler(SPANNING) as scheduler,
        a_server(scheduler.port, service=service) as server,
        a_master(server, scheduler.tokens[SPANNING]) as master,
    ):
        await master.register()
        await scheduler.kill()
        await until(lambda: service.left == 1)
        assert len(server.connections) == 0


async def test_a_resource_manager_error_of_another_home_ends_the_connection_as_well():
    service = ScriptedAttemptService()
    async with (
        a_scheduler(SPANNING) as scheduler,
        a_server(scheduler.port, service=service) as server,
        a_master(server, scheduler.tokens[SPANNING]) as master,
    ):
        await master.register()
        service.instead = raises(NoAnswerError("east", "gone"))
        asking = asyncio.create_task(master.allocate())
        await until(lambda: service.left == 1)
        with pytest.raises(LOST):
            await asking


async def test_calls_that_come_at_once_are_answered_one_after_the_other_and_not_read_without_end():
    service = ScriptedAttemptService()
    async with (
        a_scheduler(SPANNING) as scheduler,
        a_server(scheduler.port, service=service) as server,
        a_master(server, scheduler.tokens[SPANNING]) as master,
    ):
        await master.register()
        let_go = asyncio.Event()

        async def waits():
            await let_go.wait()
            return RPCAnswer(b"")

        service.instead = waits
        asking = [asyncio.create_task(master.call(ALLOCATE)) for _ in range(200)]
        (guest,) = server.connections.connections
        await until(lambda: guest._is_full)
        assert not guest._transport.is_reading()
        let_go.set()
        assert len(await asyncio.gather(*asking)) == 200
        assert not guest._is_full


async def test_methods_and_bytes_that_are_none_are_refused_without_asking_anybody():
    service = ScriptedAttemptService()
    async with (
        a_scheduler(SPANNING) as scheduler,
        a_server(scheduler.port, service=service) as server,
        a_master(server, scheduler.tokens[SPANNING]) as master,
    ):
        await master.register()
        service.instead = raises(AssertionError("asked"))
        unknown = (await master.call("dance")).refusal
        broken = (await master.rpc.call(RPCCall(APPLICATION_MASTER.name, ALLOCATE, b"\x0a\xff", ""))).refusal
    assert unknown is not None
    assert unknown.java_class == JavaClass.NO_SUCH_METHOD
    assert broken is not None
    assert broken.java_class == JavaClass.INVALID_PROTOCOL_BUFFER


async def test_a_master_that_goes_during_a_call_stops_it():
    service = ScriptedAttemptService()
    async with a_scheduler(SPANNING) as scheduler, a_server(scheduler.port, service=service) as server:
        was_stopped = asyncio.Event()

        async def waits():
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                was_stopped.set()
                raise

        async with a_master(server, scheduler.tokens[SPANNING]) as master:
            await master.register()
            service.instead = waits
            asking = asyncio.create_task(master.allocate())
            await until(lambda: service.is_busy)
        async with asyncio.timeout(60):
            await was_stopped.wait()
        with pytest.raises(LOST):
            await asking
