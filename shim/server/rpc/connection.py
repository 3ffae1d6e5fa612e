"""One client connection of an RPC server: bytes to the automaton, its events to the server, answers back.

Answers that are ready are queued at once, without a task; everything that is queued in one turn of the event loop is
written together. A connection is not closed for being idle, as long as there is room: Hadoop's clients take that for a
failure and sleep 30 s. Who does not take its answers is not read from, and none are made ready for it.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, cast

import structlog

from shim.concurrency.fair_turns import FairTurns
from shim.errors import GroupsUnknownError
from shim.identity.service import Caller, in_time
from shim.protocol.hrpc import (
    CallReceived,
    ConnectionEnded,
    ContextReceived,
    Failure,
    HadoopCall,
    JavaClass,
    LoginProven,
    RPCErrorCode,
    SASLOffer,
    ServerConnection,
    ServerEvent,
)
from shim.protocol.hrpc.headers import SASL_CALL_ID
from shim.protocol.proto import PROTOCOLS
from shim.server.connection_registry import ByteBudget, ConnectionRegistry
from shim.server.rpc.asked import AnsweredCall
from shim.telemetry.slow_turns import SlowTurns
from shim.telemetry.tracing import Kind, span

_TURNS = SlowTurns()  # there is one event loop
_LOG = structlog.get_logger("heddle.rpc")
_MIB = 1024 * 1024
_FRAMES_PER_TURN = 16
"""Read before other connections have their turn: a millisecond or two of work."""
_LIGHT_PER_PASS, _HEAVY = 32, 4
"""Reads that begin in one pass of the loop, and how many of the lightest take as long as any other: those are calls
like earlier ones whose answers are ready."""
_WRAPPED_PER_TURN = 1 * _MIB
"""The same of answers that a security layer has to protect, in bytes."""
_NO_JUDGE = Failure(JavaClass.ACCESS_CONTROL, "nobody can judge this login", RPCErrorCode.UNAUTHORIZED)
_WORTH_COUNTING = 64 * 1024
"""Bytes below which kept memory is not counted for a connection, and above which answers are written at once."""


@dataclass(frozen=True, slots=True)
class RPCLimits:
    """Limits of one client.

    Attributes:
        max_frame_bytes: A larger call ends the connection.
        max_pending: Calls of one connection that are under way; beyond that nothing more is read.
        max_of_user: Calls of one user that are under way, over all connections; beyond that they are refused a while.
        set_up_s: A connection that is not open by then is cut.
        max_connections: Connections at one time; beyond that the one that has been silent for longest goes.
        max_held_bytes: Kept for all connections together, of calls that are not whole or not answered and of answers
            that are not taken; beyond that the one for which some are kept for longest goes.
    """

    max_frame_bytes: int = 16 * _MIB
    max_pending: int = 256
    max_pending_bytes: int = 4 * _MIB
    max_of_user: int = 1024
    set_up_s: float = 30.0
    max_connections: int = 8192
    max_of_address: int = 4096
    max_held_bytes: int = 512 * _MIB


class RPCService(Protocol):
    """Service behind connections."""

    def offers(self) -> Sequence[SASLOffer]:
        """Ways to authenticate that a client is offered."""
        ...

    def admit(self, context: ContextReceived, address: str) -> Caller | Failure:
        """Identify the client, or refuse it; raises `GroupsUnknownError` where groups decide that are awaited."""
        ...

    def answer_at_once(self, call: HadoopCall, caller: Caller) -> bytes | Failure | None: ...

    async def answer(self, call: HadoopCall, caller: Caller) -> bytes | Failure:
        """The answer; raises only for what is a bug."""
        ...

    def tell(self, exchange: AnsweredCall) -> None: ...


class LoginJudge(Protocol):
    """Says of clients that proved themselves by an offer that needs a verdict whether they may come in."""

    def judge_at_once(self, proven: LoginProven) -> bool | Failure | None:
        """True if the client may come in, why not, or None where that takes waiting."""
        ...

    async def judge(self, proven: LoginProven) -> Failure | None:
        """Say why such a client is refused; None if it is not."""
        ...


class RPCReception:
    """State that all connections of a server share.

    Attributes:
        turns: Whose calls are looked at next, while more come than can be served.
        may_be_dropped: Whether a call whose client has gone may end; others run to their end, as a ResourceManager's.
    """

    def __init__(
        self,
        service: RPCService,
        limits: RPCLimits,
        judge: LoginJudge | None = None,
        may_be_dropped: Callable[[HadoopCall], bool] = lambda _: False,
    ) -> None:
        self.service = service
        self.may_be_dropped = may_be_dropped
        self.under_way: Counter[str] = Counter()
        self.judge = judge
        self.limits = limits
        self.connections: ConnectionRegistry[RPCConnection] = ConnectionRegistry(
            limits.max_connections, limits.max_of_address
        )
        self.held = ByteBudget(limits.max_held_bytes)
        self.turns = FairTurns(lambda work: asyncio.get_running_loop().call_soon(work), each_pass=_LIGHT_PER_PASS)


class RPCConnection(asyncio.Protocol):
    """Serves one client."""

    def __init__(self, reception: RPCReception) -> None:
        service, limits = reception.service, reception.limits
        self._service = service
        self._limits = limits
        self._reception = reception
        self._loop = asyncio.get_running_loop()
        self._connection = ServerConnection(
            service.offers(), max_frame_bytes=limits.max_frame_bytes, frames_per_turn=_FRAMES_PER_TURN
        )
        self._transport: asyncio.Transport | None = None
        self._peer = ""
        self._caller: Caller | None = None
        self._set_up: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._droppable: set[asyncio.Task[None]] = set()
        self._pending_bytes = 0
        self._events: deque[ServerEvent] = deque()
        self._waiting: list[bytes] = []
        self._is_flush_due = False
        self._is_over = False
        self._is_turn_due = False
        self._is_full = False
        self._is_admitted_later = False
        self._is_paused = False
        self._is_slow = False
        self._takes_answers = asyncio.Event()
        self._takes_answers.set()
        self._queued_bytes = 0

    # -- transport ---------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a client; another may have to go."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop has classes of its own
        peer = transport.get_extra_info("peername")
        self._peer = peer[0] if isinstance(peer, tuple) else ""
        self._reception.connections.enter(self, self._peer)
        self._set_up = self._loop.call_later(self._limits.set_up_s, self._transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's signature
        """Forget the client; changes under way run to their end, as a ResourceManager's do."""
        self._transport = None
        self._reception.connections.leave(self)
        self._end_set_up()
        self._events.clear()
        self._waiting = []
        self._takes_answers.set()
        for task in tuple(self._droppable):
            task.cancel()
        self._weigh()

    def pause_writing(self) -> None:
        """The client reads slower than we answer: take no more calls from it."""
        self._is_slow = True
        self._takes_answers.clear()
        self._weigh()
        self._pace()

    def resume_writing(self) -> None:
        """Resume writing: the client caught up."""
        self._is_slow = False
        self._takes_answers.set()
        self._weigh()
        self._pace()

    def data_received(self, data: bytes) -> None:
        self._reception.connections.heard_of(self)
        if not self._waiting and self._reception.turns.take():
            self._take_in(data)
            return
        if not self._waiting:
            self._wait_for_turn(self._take_turn)
        self._waiting.append(data)
        if self._has_much_waiting():
            self._weigh()
            self._read_or_not()

    def eof_received(self) -> None:
        """Take in what has come, though it is not its turn: the connection closes."""
        self._take_turn()

    def _has_much_waiting(self) -> bool:
        """One short read may wait for its turn: to pause for it takes longer than the turn mostly does."""
        return len(self._waiting) > 1 or (bool(self._waiting) and len(self._waiting[0]) > _WORTH_COUNTING)

    def _wait_for_turn(self, work: Callable[[], None]) -> None:
        user = self._caller.user.encode() if self._caller is not None else b""
        self._reception.turns.wait(self._peer, user, work)

    def _take_turn(self) -> None:
        data = b"".join(self._waiting)
        self._waiting = []
        if data and self._transport is not None:
            self._take_in(data)

    def _take_in(self, data: bytes) -> None:
        """Hand what was read to the automaton, and its events on."""
        call = None if self._is_full or self._events else self._connection.known_call(data)
        if call is not None and self._call(call):
            if not self._is_flush_due:
                self._flush()
            if self._is_paused:
                self._weigh()
                self._read_or_not()
            return
        self._reception.turns.spend(_HEAVY - 1)
        if call is None:
            self._events.extend(self._connection.receive(data))
            self._work()
            self._weigh()

    # -- ends --------------------------------------------------------------------------------------------------------

    def end(self) -> None:
        """Read nothing more; calls under way are answered."""
        if self._transport is not None:
            self._transport.pause_reading()

    def abort(self) -> None:
        """Cut, and stop what is under way."""
        for task in tuple(self._tasks):
            task.cancel()
        if self._transport is not None:
            self._flush_all()
            self._transport.close()

    def turn_out(self) -> None:
        """Cut, for others; changes under way run to their end, unless what is kept for them is what others need."""
        _LOG.info("rpc connection closed for others", peer=self._peer)
        if self._transport is not None:
            self._transport.abort()
            return
        for task in tuple(self._tasks):
            task.cancel()

    @property
    def tasks(self) -> frozenset["asyncio.Task[None]"]:
        return frozenset(self._tasks)

    # -- calls -------------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        """Take what was read, as far as the client takes its answers and has not too many calls under way."""
        while self._events and not self._is_full:
            self._take(self._events.popleft())
        if self._connection.has_more and not self._is_full and not self._is_turn_due:
            self._is_turn_due = True
            self._wait_for_turn(self._next_turn)
        self._read_or_not()
        self._flush_soon()

    def _next_turn(self) -> None:
        self._is_turn_due = False
        if self._transport is None or self._is_full:
            return  # where there is no room, `_pace` goes on when there is
        self._reception.turns.spend(_HEAVY - 1)
        self._events.extend(self._connection.go_on())
        self._work()
        self._weigh()

    def _take(self, event: ServerEvent) -> None:
        match event:
            case CallReceived(call):
                self._call(call)
            case ContextReceived():
                self._admit(event)
            case LoginProven():
                self._judge(event)
            case ConnectionEnded(failure, reason):
                _LOG.info("rpc connection refused", peer=self._peer, reason=reason, failure=str(failure or ""))
                self.end()
                self._is_over = True  # answers that wait are still wrapped in turns: `_flush` closes behind the last
                self._flush_soon()
            case _:
                """Pings and the server's own negotiation need nothing."""

    def _admit(self, context: ContextReceived) -> None:
        try:
            self._admitted(self._service.admit(context, self._peer))
        except GroupsUnknownError:
            self._is_admitted_later = True
            self._pace()  # what comes behind the context waits, too
            self._start(self._admit_later(context))

    async def _admit_later(self, context: ContextReceived) -> None:
        """Admit a client once the groups are known that decide on it."""
        try:
            admitted = await in_time(lambda: self._service.admit(context, self._peer))
        except GroupsUnknownError as exc:
            admitted = Failure(JavaClass.RETRIABLE, str(exc), RPCErrorCode.UNAUTHORIZED)
        self._is_admitted_later = False
        if self._transport is not None:
            self._admitted(admitted)
        if self._caller is not None:
            self._pace()

    def _admitted(self, admitted: Caller | Failure) -> None:
        if isinstance(admitted, Failure):
            self._connection.refuse(admitted)
            self._take(ConnectionEnded(admitted, str(admitted)))
            return
        self._caller = admitted
        self._end_set_up()

    def _judge(self, proven: LoginProven) -> None:
        judge = self._reception.judge
        told = _NO_JUDGE if judge is None else judge.judge_at_once(proven)
        if told is None and judge is not None:
            self._start(self._wait_for_verdict(judge, proven))
        else:
            self._settle(told if isinstance(told, Failure) else None)

    async def _wait_for_verdict(self, judge: LoginJudge, proven: LoginProven) -> None:
        try:
            failure = await judge.judge(proven)
        except Exception:  # noqa: BLE001 - a task's boundary: a bug ends this login, not the server
            _LOG.exception("the verdict on a login failed", peer=self._peer)
            failure = Failure(JavaClass.RETRIABLE, "the login cannot be judged now")
        if self._transport is not None:
            self._settle(failure)
            self._work()

    def _settle(self, failure: Failure | None) -> None:
        if failure is None:
            self._events.extend(self._connection.confirm())
        else:
            self._connection.refuse(failure, call_id=SASL_CALL_ID)
            self._take(ConnectionEnded(failure, str(failure)))

    def _call(self, call: HadoopCall) -> bool:
        caller = self._caller
        if caller is None:
            return True  # the context was refused: what came behind it is for nobody
        began_s = self._loop.time()
        ready = self._service.answer_at_once(call, caller)
        if ready is not None:
            self._queue(call, ready)
            if not isinstance(ready, Failure):  # such a one names no method that could be counted
                self._service.tell(AnsweredCall(call, caller, self._peer, None, self._loop.time() - began_s))
            return True
        whose = self._peer if caller.is_anonymous else f"{caller.user}@"
        if self._reception.under_way[whose] >= self._limits.max_of_user:
            told = f"{self._limits.max_of_user} calls of {caller.user} are under way already"
            self._queue(call, Failure(JavaClass.RETRIABLE, told))
            return True
        self._reception.under_way[whose] += 1
        task = self._start(self._run(call, caller))
        if self._reception.may_be_dropped(call):
            self._droppable.add(task)
        size = len(call.payload_untrusted or b"")
        self._pending_bytes += size
        task.add_done_callback(partial(self._answered_one, whose, size))
        self._pace()
        return False

    def _answered_one(self, whose: str, size: int, _: "asyncio.Task[None]") -> None:
        under_way = self._reception.under_way
        under_way[whose] -= 1
        if not under_way[whose]:
            del under_way[whose]
        self._pending_bytes -= size
        if size > _WORTH_COUNTING:
            self._weigh()
        if self._is_full:
            self._pace()

    def _start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._droppable.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:  # a client whose call has no answer waits for ever; on a new connection it repeats it
            _LOG.error("rpc work failed", peer=self._peer, exc_info=error)
            self.abort()
        if self._is_full:
            self._pace()

    async def _run(self, call: HadoopCall, caller: Caller) -> None:
        with span(_span_name(call), Kind.SERVER, {"rpc.system": "hadoop"}) as traced:
            answer = await self._answered(call, caller)
            traced.tell(failed=answer.message if isinstance(answer, Failure) else "")
        while self._is_slow and self._transport is not None:
            await self._takes_answers.wait()  # written now, it would be one more copy of what may be kept for all
        self._queue(call, answer)
        self._flush_soon()

    async def _answered(self, call: HadoopCall, caller: Caller) -> bytes | Failure:
        began_s = self._loop.time()
        try:
            answer = await _TURNS.watch(self._service.answer(call, caller), lambda: f"RPC {call.method}")
        except Exception:  # noqa: BLE001 - a task's boundary: one call's bug must not end the connection
            _LOG.exception("rpc call failed", method=call.method, user=caller.user, peer=self._peer)
            answer = Failure(JavaClass.YARN, f"{call.method} failed inside Heddle; its log tells why")
        failure = answer if isinstance(answer, Failure) else None
        self._service.tell(AnsweredCall(call, caller, self._peer, failure, self._loop.time() - began_s))
        return answer

    def _queue(self, call: HadoopCall, answer: bytes | Failure) -> None:
        if isinstance(answer, Failure):
            self._connection.fail(call, answer)
        else:
            self._connection.answer(call, answer)
            self._queued_bytes += len(answer)
            if self._queued_bytes > _WORTH_COUNTING and not self._connection.is_layered:
                self._flush()  # what has to be wrapped waits for its turn: a burst of calls would wrap 1 MiB for each

    # -- pace --------------------------------------------------------------------------------------------------------

    def _pace(self) -> None:
        """Take calls only while the client takes its answers and has not too many calls under way."""
        was_full = self._is_full
        is_much = self._pending_bytes >= self._limits.max_pending_bytes
        is_busy = self._is_admitted_later or len(self._tasks) >= self._limits.max_pending
        self._is_full = self._is_slow or is_much or is_busy
        self._read_or_not()
        if was_full and not self._is_full and self._transport is not None:
            self._work()

    def _read_or_not(self) -> None:
        """Read only while what was read has been taken."""
        transport = self._transport
        is_paused = self._is_full or self._connection.is_behind or self._has_much_waiting()
        if transport is None or transport.is_closing() or is_paused == self._is_paused:
            return
        self._is_paused = is_paused
        if is_paused:
            transport.pause_reading()
        else:
            transport.resume_reading()

    def _weigh(self) -> None:
        """Tell what is kept for this client, if it is worth telling."""
        unread = self._transport.get_write_buffer_size() if self._is_slow and self._transport is not None else 0
        count = self._connection.unfinished_bytes + unread + sum(map(len, self._waiting)) + self._pending_bytes
        self._reception.held.hold(self, count if count > _WORTH_COUNTING else 0)

    def _flush_soon(self) -> None:
        if not self._is_flush_due:
            self._is_flush_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._is_flush_due = False
        self._queued_bytes = 0
        data = self._connection.data_to_send(_WRAPPED_PER_TURN)
        if self._connection.has_to_send:
            self._flush_soon()
        if data and self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)
        if self._is_over and not self._connection.has_to_send and self._transport is not None:
            self._transport.close()

    def _flush_all(self) -> None:
        """Write what waits, before the transport is closed."""
        data = self._connection.data_to_send()
        if data and self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def _end_set_up(self) -> None:
        if self._set_up is not None:
            self._set_up.cancel()
            self._set_up = None


_METHODS = frozenset(method for protocol in PROTOCOLS.values() for method in protocol.methods)


def _span_name(call: HadoopCall) -> str:
    """Of a method that there is; what somebody made up is no name of a span."""
    return f"RPC {call.method}" if call.method in _METHODS else "RPC"
