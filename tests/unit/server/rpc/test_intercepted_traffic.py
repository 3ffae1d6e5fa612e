"""Calls that Heddle answers itself: large answers behind a security layer leave in pieces, in order, before the end."""

import asyncio

import structlog

from shim.domain.ids import SubClusterId
from shim.errors import NoAnswerError
from shim.ports.attempt_calls import ALLOCATE, FINISH, REGISTER
from shim.ports.resource_manager_rpc import RPCAnswer
from shim.protocol.hrpc import CallReceived, ConnectionEnded, HadoopCall, JavaClass
from shim.protocol.proto import APPLICATION_MASTER
from shim.protocol.proto.messages import AllocateRequestProto, FinishApplicationMasterRequestProto
from shim.server.rpc.scheduler_traffic import InterceptingRelay

MIB = 1024 * 1024
PIECE = 64 * 1024


class LayeredLogin:
    """The ApplicationMaster's end: calls are given to it, answers wait until a layer has worked for them."""

    has_more = False

    def __init__(self):
        self.failures = []
        self.worked = []
        self._wrapped = []

    def receive(self, events):
        return events

    def answer(self, _call, payload):
        self._wrapped += [payload[start : start + PIECE] for start in range(0, len(payload), PIECE)]

    def fail(self, _call, failure):
        self.failures.append(failure)
        self._wrapped.append(failure.message.encode())

    @property
    def has_to_send(self):
        return bool(self._wrapped)

    def data_to_send(self, most_to_wrap=None):
        data = b""
        while self._wrapped and (most_to_wrap is None or len(data) < most_to_wrap):
            data += self._wrapped.pop(0)
        self.worked.append(len(data))
        return data


class Ends:
    """Both transports, as far as they are written to."""

    def __init__(self):
        self.sent = []
        self.is_closed = False

    def to_master(self, data):
        assert not self.is_closed
        self.sent.append(data)

    def close(self):
        self.is_closed = True

    def hold(self, *, is_full):
        """Nothing is held back."""


class Meter:
    def called(self, method):
        """Counts nothing."""

    def left(self):
        """Counts nothing."""


class Own:
    caller_context = None

    def receive(self, data):
        return bool(data)

    def end(self):
        """Nobody waits."""


class Calls:
    """Answers each call with what it is told to."""

    def __init__(self, *answers):
        self._answers = list(answers)
        self.heard = []

    async def register(self, payload):
        return self._next(REGISTER, payload)

    async def allocate(self, payload):
        return self._next(ALLOCATE, payload)

    async def finish(self, payload):
        return self._next(FINISH, payload)

    def _next(self, method, payload):
        self.heard.append((method, payload))
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return RPCAnswer(answer)

    def leave(self):
        """Nobody is told."""


def call(method, payload=b""):
    return CallReceived(HadoopCall(1, bytes(16), -1, None, APPLICATION_MASTER.name, method, 1, payload))


async def relayed(calls, *events, home_ends=False):
    below, ends = LayeredLogin(), Ends()
    relay = InterceptingRelay(ends, below, Own(), calls, Meter())
    relay.from_am(list(events))
    for _ in range(3):
        await asyncio.sleep(0)
    if home_ends:
        relay.from_home(b"")
    for _ in range(50):
        await asyncio.sleep(0)
    return below, ends, relay


async def test_large_answers_leave_in_pieces_and_in_order():
    answers = [bytes([number]) * (3 * MIB) for number in range(3)]
    below, ends, _ = await relayed(Calls(*answers), *(call(ALLOCATE) for _ in answers))
    assert b"".join(ends.sent) == b"".join(answers)
    assert max(below.worked) <= MIB
    assert not ends.is_closed


async def test_what_waits_is_sent_before_the_end():
    answers = [b"a" * (3 * MIB), b"b" * (3 * MIB), NoAnswerError(SubClusterId("east"), "gone")]
    below, ends, _ = await relayed(Calls(*answers), *(call(ALLOCATE) for _ in answers))
    assert b"".join(ends.sent) == b"a" * (3 * MIB) + b"b" * (3 * MIB)
    assert max(below.worked) <= MIB
    assert ends.is_closed


async def test_a_broken_protocol_ends_after_what_was_answered():
    _, ends, _ = await relayed(Calls(), ConnectionEnded(None, "nonsense"))
    assert ends.is_closed


async def test_a_home_that_ends_takes_no_answer_with_it():
    _, ends, _ = await relayed(Calls(b"a" * (9 * MIB)), call(ALLOCATE), home_ends=True)
    assert b"".join(ends.sent) == b"a" * (9 * MIB)
    assert ends.is_closed


async def test_who_has_gone_is_sent_nothing_more():
    below, ends, relay = await relayed(Calls(b"a"), call(ALLOCATE))
    relay.end()
    before = len(ends.sent)
    below.answer(None, b"late")
    for _ in range(5):
        await asyncio.sleep(0)
    assert len(ends.sent) == before


async def test_a_farewell_of_many_mebibytes_reaches_the_home_shortened():
    """A ResourceManager takes it, so it must not look as if the application had failed."""
    calls = Calls(b"done")
    message = FinishApplicationMasterRequestProto(diagnostics="x" * (3 * MIB), tracking_url="http://h/")
    below, ends, _ = await relayed(calls, call(FINISH, message.SerializeToString()))
    assert ends.sent == [b"done"]
    (method, payload), *_ = calls.heard
    read = FinishApplicationMasterRequestProto.FromString(payload)
    assert (method, read.tracking_url) == (FINISH, "http://h/")
    assert len(payload) < MIB // 2
    assert below.failures == []


async def test_fields_that_stand_twice_reach_the_home_once():
    """The home gets what was counted here, and not what came."""
    calls = Calls(b"done")
    one, two = (AllocateRequestProto(response_id=number, progress=0.5).SerializeToString() for number in (1, 2))
    await relayed(calls, call(ALLOCATE, one + two))
    assert calls.heard == [(ALLOCATE, two)]


async def test_a_registration_above_its_limit_is_refused_before_it_is_read():
    calls = Calls()
    below, _, _ = await relayed(calls, call(REGISTER, b"\xff" * (MIB + 1)))
    (failure,) = below.failures
    assert (failure.java_class, "at most 1048576 are taken" in failure.message) == (JavaClass.YARN, True)
    assert calls.heard == []


class Torn(LayeredLogin):
    """Cannot write answers any more."""

    def answer(self, _call, payload):
        raise ValueError(f"{len(payload)} bytes cannot be written")


async def test_a_fault_behind_an_answer_ends_the_connection_and_is_told():
    below, ends = Torn(), Ends()
    relay = InterceptingRelay(ends, below, Own(), Calls(b"told"), Meter())
    with structlog.testing.capture_logs() as logs:
        relay.from_am([call(ALLOCATE), call(ALLOCATE)])
        for _ in range(5):
            await asyncio.sleep(0)
    assert ends.is_closed
    assert [(each["log_level"], each["work"]) for each in logs] == [("error", "calls of an ApplicationMaster")]
