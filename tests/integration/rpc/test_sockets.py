"""Client and server shells over real sockets: many calls, broken peers, slow peers, ends."""

import asyncio
import contextlib
from contextlib import asynccontextmanager

import pytest

from adapters.yarn.rm_rpc import RPCSettings, RPCTarget, YarnRPC
from adapters.yarn.rpc_channel import ConnectionBudget
from shim.domain.ids import SubClusterId
from shim.errors import NeverReachedError, NoAnswerError, StandbyError
from shim.identity.service import Caller
from shim.ports.resource_manager_rpc import RPCAnswer, RPCCall, RPCRefusal
from shim.protocol.hrpc import SIMPLE_OFFER, Failure, HadoopCall, HadoopRequest, JavaClass
from shim.protocol.hrpc.envelopes import encode_call, encode_set_up
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.proto.messages import (
    ApplicationIdProto,
    ApplicationReportProto,
    GetApplicationsResponseProto,
    IpcConnectionContextProto,
    TokenProto,
)
from shim.server.rpc import RPCLimits, RPCServer
from tests.doubles.postgresql import free_port
from tests.doubles.settings import usual

EAST = SubClusterId("east")
LARGE = bytes(200_000)
INTRODUCTION = b"hrpc\x09\x00\x00" + encode_set_up(
    IpcConnectionContextProto(protocol=APPLICATION_CLIENT.name).SerializeToString(), call_id=-3
)


class EchoService:
    """Answers a call with its own payload; `wait` waits until the test lets it go, `fail` fails, `break` has a bug.

    `large` and `made-large` have large answers, the first at once.
    """

    def __init__(self, *, is_standby: bool = False) -> None:
        self.let_go = asyncio.Event()
        self.has_waiting = asyncio.Semaphore(0)
        self.callers: list[Caller] = []
        self.told: list[tuple[str, Failure | None]] = []
        self._is_standby = is_standby

    def offers(self):
        return (SIMPLE_OFFER,)

    def admit(self, context, _address):
        if context.effective_user_untrusted == "mallory":
            return Failure(JavaClass.AUTHORIZATION, "mallory may not come in")
        caller = Caller(context.effective_user_untrusted, context.real_user_untrusted)
        self.callers.append(caller)
        return caller

    def answer_at_once(self, call: HadoopCall, _caller: Caller):
        if self._is_standby:
            return Failure(JavaClass.STANDBY, "not active")
        if call.method == "large":
            return LARGE
        return call.payload_untrusted if call.method == "echo" else None

    async def answer(self, call: HadoopCall, _caller: Caller):
        if call.method == "wait":
            self.has_waiting.release()
            await self.let_go.wait()
        if call.method == "break":
            raise RuntimeError("a bug")
        if call.method == "fail":
            return Failure(JavaClass.YARN, "no\n\tat a.stack.Trace")
        if call.method == "made-large":
            return LARGE
        return call.payload_untrusted or b""

    def tell(self, exchange):
        self.told.append((exchange.call.method, exchange.failure))


@asynccontextmanager
async def serving(service=None, **limits):
    server = RPCServer(service or EchoService(), host="127.0.0.1", port=0, limits=RPCLimits(**limits))
    await server.start()
    try:
        yield server
    finally:
        await server.stop(grace_s=0)


@asynccontextmanager
async def calling(*ports, **settings):
    target = RPCTarget(EAST, tuple(("127.0.0.1", port) for port in ports))
    rpc = YarnRPC(target, usual(RPCSettings, **({"connect_timeout_s": 20.0} | settings)))
    try:
        yield rpc
    finally:
        await rpc.close()


def a_call(method="echo", payload=b"", user="alice"):
    return RPCCall(APPLICATION_CLIENT.name, method, payload, user)


async def test_users_who_are_made_up_take_no_more_connections_than_there_may_be():
    async with serving() as server, calling(server.port, connections=4) as rpc:
        answers = await asyncio.gather(*(rpc.call(a_call(payload=b"x", user=f"u{n}")) for n in range(40)))
        assert len(answers) == 40
        assert rpc.connections <= 4
        for number in range(20):
            await rpc.call(a_call(payload=b"x", user=f"v{number}"))
            assert rpc.connections <= 4


async def test_made_up_users_take_no_more_connections_to_all_clusters_together_than_there_may_be():
    budget = ConnectionBudget(6)
    async with serving() as server:
        target = RPCTarget(EAST, (("127.0.0.1", server.port),))
        clusters = [YarnRPC(target, usual(RPCSettings, connections=4), budget=budget) for _ in range(4)]
        most = 0

        async def ask(cluster, number):
            nonlocal most
            await cluster.call(a_call(payload=b"x", user=f"u{number}"))
            most = max(most, len(budget))

        await asyncio.gather(*(ask(clusters[number % 4], number) for number in range(80)))
        assert most <= 6
        assert len(budget) == sum(each.connections for each in clusters)
        for each in clusters:
            await each.close()
        assert len(budget) == 0


async def test_of_all_clusters_the_connection_that_is_idle_for_longest_goes():
    budget = ConnectionBudget(2)
    async with serving() as server:
        target = RPCTarget(EAST, (("127.0.0.1", server.port),))
        first, second, third = clusters = [YarnRPC(target, usual(RPCSettings), budget=budget) for _ in range(3)]
        for cluster in (first, second, first, third):
            await cluster.call(a_call(payload=b"x"))
            await asyncio.sleep(0.01)  # uvloop's clock ticks in milliseconds: no two uses at one time
        assert [each.connections for each in clusters] == [1, 0, 1]
        for each in clusters:
            await each.close()


async def test_who_waits_for_room_gets_it_when_another_clusters_call_ends():
    budget, service = ConnectionBudget(1), EchoService()
    async with serving(service) as server:
        target = RPCTarget(EAST, (("127.0.0.1", server.port),))
        one, other = (
            YarnRPC(target, usual(RPCSettings), budget=budget),
            YarnRPC(target, usual(RPCSettings), budget=budget),
        )
        slow = asyncio.create_task(one.call(a_call("wait", b"slow")))
        await service.has_waiting.acquire()
        waiting = asyncio.create_task(other.call(a_call(payload=b"quick")))
        await asyncio.sleep(0)
        assert not waiting.done()
        service.let_go.set()
        assert (await slow).payload == b"slow"
        assert (await waiting).payload == b"quick"
        assert len(budget) == 1
        await one.close()
        await other.close()


async def test_many_calls_of_many_users_get_their_own_answers():
    async with serving() as server, calling(server.port) as rpc:
        calls = [a_call(payload=f"{user} {number}".encode(), user=user) for user in "abc" for number in range(200)]
        answers = await asyncio.gather(*(rpc.call(call) for call in calls))

    assert [answer.payload for answer in answers] == [call.payload for call in calls]


async def test_an_answer_that_is_ready_is_told_like_any_other():
    service = EchoService()
    async with serving(service) as server, calling(server.port) as rpc:
        await rpc.call(a_call("echo"))
        await rpc.call(a_call("other"))

    assert service.told == [("echo", None), ("other", None)]


async def test_a_large_payload_comes_back_whole():
    payload = bytes(range(256)) * 8192
    async with serving() as server, calling(server.port) as rpc:
        assert await rpc.call(a_call(payload=payload)) == RPCAnswer(payload)


async def test_one_connection_serves_a_user_and_names_the_proxy():
    service = EchoService()
    async with serving(service) as server, calling(server.port, real_user="heddle") as rpc:
        for _ in range(3):
            await rpc.call(a_call())

    assert service.callers == [Caller("alice", "heddle")]


async def test_a_slow_call_does_not_hold_up_others():
    service = EchoService()
    async with serving(service) as server, calling(server.port) as rpc:
        slow = asyncio.create_task(rpc.call(a_call("wait", b"slow")))
        await service.has_waiting.acquire()
        assert (await rpc.call(a_call(payload=b"quick"))).payload == b"quick"
        service.let_go.set()
        assert (await slow).payload == b"slow"


async def test_a_failure_is_told_without_its_stack_trace_and_every_answer_to_the_observer():
    service = EchoService()
    async with serving(service) as server, calling(server.port) as rpc:
        assert (await rpc.call(a_call("fail"))).refusal == RPCRefusal(JavaClass.YARN, "no")
        await rpc.call(a_call("slow"))

    assert [(method, failure is None) for method, failure in service.told] == [("fail", False), ("slow", True)]


async def test_a_bug_in_one_call_is_told_and_the_connection_lives():
    async with serving() as server, calling(server.port) as rpc:
        broken = await rpc.call(a_call("break"))
        assert broken.refusal is not None
        assert broken.refusal.java_class == JavaClass.YARN
        assert (await rpc.call(a_call(payload=b"on"))).payload == b"on"


async def test_a_refused_user_hears_why():
    async with serving() as server, calling(server.port) as rpc:
        refused = await rpc.call(a_call(user="mallory"))
    assert refused.refusal is not None
    assert refused.refusal.message == "mallory may not come in"


async def test_a_port_that_nobody_listens_on_was_never_reached():
    async with calling(free_port()) as rpc:
        with pytest.raises(NeverReachedError):
            await rpc.call(a_call())


async def test_a_call_without_an_answer_in_time_may_have_been_taken():
    async with serving() as server, calling(server.port) as rpc:
        await rpc.call(a_call())  # opens the connection: what is sent on it may have been taken
        with pytest.raises(NoAnswerError):
            await rpc.call(a_call("wait"), timeout_s=0.05)
        assert (await rpc.call(a_call(payload=b"next"))).payload == b"next"


async def test_a_connection_that_breaks_during_a_call_is_told_and_the_next_call_opens_another():
    service = EchoService()
    async with serving(service) as server, calling(server.port) as rpc:
        waiting = asyncio.create_task(rpc.call(a_call("wait")))
        await service.has_waiting.acquire()
        for connection in tuple(server.connections):
            connection.abort()
        with pytest.raises(NoAnswerError):
            await waiting
        assert (await rpc.call(a_call(payload=b"again"))).payload == b"again"


async def test_a_standby_is_passed_over_and_the_active_one_remembered():
    standby, active = EchoService(is_standby=True), EchoService()
    async with serving(standby) as one, serving(active) as other, calling(one.port, other.port) as rpc:
        for _ in range(3):
            assert (await rpc.call(a_call(payload=b"x"))).payload == b"x"

    assert len(standby.callers) == 1
    assert len(active.callers) == 1


async def test_without_an_active_one_it_is_said_that_there_is_none():
    async with serving(EchoService(is_standby=True)) as server, calling(server.port) as rpc:
        with pytest.raises(StandbyError):
            await rpc.call(a_call())


async def test_a_dead_first_address_is_passed_over():
    async with serving() as server, calling(free_port(), server.port) as rpc:
        assert (await rpc.call(a_call(payload=b"x"))).payload == b"x"


async def test_a_client_with_too_many_calls_under_way_is_not_read_from_and_loses_none():
    service = EchoService()
    async with serving(service, max_pending=4) as server, calling(server.port) as rpc:
        first = await rpc.call(a_call(payload=b"open"))
        calls = [asyncio.create_task(rpc.call(a_call("wait", bytes([number])))) for number in range(200)]
        await asyncio.gather(*(service.has_waiting.acquire() for _ in range(4)))
        service.let_go.set()
        answers = await asyncio.gather(*calls)

    assert first.payload == b"open"
    assert [answer.payload for answer in answers] == [bytes([number]) for number in range(200)]


async def test_a_client_that_never_introduces_itself_is_cut():
    async with serving(set_up_s=0.05) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        assert await reader.read() == b""
        writer.close()


async def test_an_http_client_is_told_that_this_is_not_the_web_port():
    async with serving() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 404 Not Found\r\n")
        writer.close()


async def test_s27_in_a_full_house_whoever_has_been_silent_for_longest_makes_room():
    async with serving(max_connections=2) as server, calling(server.port) as rpc:
        silent = await asyncio.open_connection("127.0.0.1", server.port)
        await rpc.call(a_call())
        newer = await asyncio.open_connection("127.0.0.1", server.port)
        with contextlib.suppress(ConnectionError):
            assert await silent[0].read() == b""
        assert (await rpc.call(a_call(payload=b"still here"))).payload == b"still here"
        newer[1].write(b"GET / HTTP/1.1\r\n\r\n")
        assert (await newer[0].read()).startswith(b"HTTP/1.1 404 Not Found\r\n")
        for _, writer in (silent, newer):
            writer.close()


async def test_s27_a_flood_from_one_address_leaves_room_for_others():
    async with serving(max_connections=8, max_of_address=4) as server, calling(server.port) as rpc:
        await rpc.call(a_call())
        flood = [
            await asyncio.open_connection("127.0.0.1", server.port, local_addr=("127.0.0.9", 0)) for _ in range(20)
        ]
        assert (await rpc.call(a_call(payload=b"x"))).payload == b"x"
        assert len(server.connections) <= 5
        for _, writer in flood:
            writer.close()


async def test_s27_calls_that_do_not_end_are_kept_only_up_to_a_limit():
    junk = bytes(300_000)
    async with serving(max_held_bytes=1_000_000) as server, calling(server.port) as rpc:
        await rpc.call(a_call())
        flood = []
        for _ in range(10):
            _, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(INTRODUCTION + (10_000_000).to_bytes(4, "big") + junk)
            flood.append(writer)
        async with asyncio.timeout(30):
            while len(server.connections) > 1 + 3:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.01)
        assert (await rpc.call(a_call(payload=junk))).payload == junk
        for writer in flood:
            writer.close()


@pytest.mark.parametrize("method", ["large", "made-large"])
async def test_s27_no_answers_are_made_ready_for_a_client_that_does_not_read(method):
    service, count = EchoService(), 300
    told = service.told
    async with serving(service, max_pending=8) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
        writer.transport.pause_reading()
        asked = HadoopRequest("p", method, b"")
        calls = (encode_call(asked, call_id=number, client_id=bytes(16)) for number in range(count))
        writer.write(b"".join((INTRODUCTION, *calls)))  # in one packet
        seen = -1
        while len(told) != seen:  # until it makes no more
            seen = len(told)
            await asyncio.sleep(0.5)
        assert len(told) < count // 2
        writer.transport.resume_reading()
        received = 0
        while received < count * len(LARGE):
            received += len(await asyncio.wait_for(reader.read(1 << 20), 30))
        writer.close()
    assert len(told) == count


async def test_stopping_lets_calls_under_way_end():
    service = EchoService()
    server = RPCServer(service, host="127.0.0.1", port=0)
    await server.start()
    async with calling(server.port) as rpc:
        call = asyncio.create_task(rpc.call(a_call("wait", b"last")))
        await service.has_waiting.acquire()
        stopping = asyncio.create_task(server.stop(grace_s=30))
        await asyncio.sleep(0)
        service.let_go.set()
        await stopping
        assert (await call).payload == b"last"


async def test_a_flood_of_small_calls_is_worked_off_in_turns_and_answered_whole():
    """What one connection sent at once leaves the loop to others every few calls."""
    service = EchoService()
    async with serving(service) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(INTRODUCTION)
        count = 3000
        call = encode_call(HadoopRequest(APPLICATION_CLIENT.name, "echo", b"x"), call_id=1, client_id=b"c" * 16)
        writer.write(call * count)
        turns: list[int] = []
        async with asyncio.timeout(30):
            while len(service.told) < count:
                before = len(service.told)
                await asyncio.sleep(0)
                turns.append(len(service.told) - before)
            received = b""
            while received.count(b"c" * 16) < count:
                received += await reader.read(1 << 20)
        writer.close()
    assert max(turns) <= 2 * 64, "of one read and of one turn of what was left"


async def test_one_call_is_answered_long_before_anothers_flood_is_worked_off():
    service, calls = EchoService(), 500
    async with serving(service) as server, calling(server.port) as rpc:
        await rpc.call(a_call("echo", b"first", user="bob"))
        flood = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(20)]
        call = encode_call(HadoopRequest(APPLICATION_CLIENT.name, "echo", b"x"), call_id=1, client_id=b"c" * 16)
        for _, writer in flood:
            writer.write(INTRODUCTION + call * calls)
        answer = await rpc.call(a_call("echo", b"last", user="bob"))
        before = len(service.told)
        for _, writer in flood:
            writer.close()
    assert answer.payload == b"last"
    assert before < len(flood) * calls // 10


async def test_pings_before_a_login_are_not_listened_to_for_long():
    async with serving() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        ping = encode_set_up(None, call_id=-4, client_id=b"")
        writer.write(b"hrpc\x09\x00\x00" + ping * 10_000)
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(30):
                assert await reader.read() == b"", "the connection is closed without a word"
        writer.close()


class Garbled(EchoService):
    """Answers every call with what it is told to."""

    def __init__(self, answer):
        super().__init__()
        self.tells = answer

    def answer_at_once(self, call, _caller):  # noqa: ARG002 - the port
        return self.tells


REPORT = ApplicationReportProto(applicationId=ApplicationIdProto(cluster_timestamp=5, id=1), name="n" * 3000)
LISTED = GetApplicationsResponseProto(applications=[REPORT]).SerializeToString()
TOKENLESS = ApplicationReportProto(am_rm_token=TokenProto(kind="YARN_AM_RM_TOKEN")).SerializePartialToString()
UNREADABLE = {
    "no message": b"\xff" * 300,
    "cut off": LISTED[:-5],
    "of another length, so that the next list is a part of it": b"\x0a\xff\x7f" + LISTED,
    "groups": b"\x0b" * 300,
    "without what each has": b"\x0a" + bytes((len(TOKENLESS),)) + TOKENLESS,
    "large and cut off": LISTED * 1000 + LISTED[:-5],
    "entries without end": b"\x0a\x00" * (1 << 20),
}


@pytest.mark.parametrize("told", UNREADABLE.values(), ids=UNREADABLE.keys())
async def test_an_answer_that_is_none_is_no_answer_and_the_next_one_is_heard(told):
    service = Garbled(told)
    async with serving(service) as server, calling(server.port) as rpc:
        with pytest.raises(NoAnswerError, match="answers getApplications with"):
            await rpc.call(a_call("getApplications"))
        for good in (LISTED, LISTED * 1000, b""):
            service.tells = good
            assert (await rpc.call(a_call("getApplications"))).payload == good
        assert rpc.connections == 1
