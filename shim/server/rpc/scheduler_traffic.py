"""Traffic between an ApplicationMaster that has logged in and its home: as it is, or call by call.

Sizes of calls of ApplicationMasters whose calls are read: what is taken whole, cut, and refused.

A ResourceManager takes calls of up to `ipc.maximum.data.length` (128 MiB), and keeps the end of an attempt's
diagnostics: 64 Ki characters by default. So Heddle refuses for its size only what it has to keep an account of, and
cuts diagnostics as the ResourceManager would.

Source: `yarn.app.attempt.diagnostics.limit.kc`, `org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt
.BoundedAppender` of Hadoop 3.4.2.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

import structlog
from google.protobuf.message import Message

from shim.concurrency.keep_going import aside
from shim.errors import HeddleError, ResourceManagerError, UserError
from shim.ports.attempt_calls import ALLOCATE, FINISH, REGISTER, AttemptCalls
from shim.ports.resource_manager_rpc import RPCAnswer
from shim.protocol.hrpc import (
    CallReceived,
    ConnectionEnded,
    ContextReceived,
    Failure,
    HadoopCall,
    JavaClass,
    ServerConnection,
    ServerEvent,
    method_of,
    request_of,
)
from shim.protocol.hrpc.passing import CallScanner
from shim.protocol.proto import APPLICATION_MASTER
from shim.protocol.proto.messages import FinishApplicationMasterRequestProto
from shim.server.rpc.own_login import OwnLogin
from shim.telemetry.tracing import Kind, span

_LOG = structlog.get_logger("heddle.relay")
_PROTOCOLS = {APPLICATION_MASTER.name: APPLICATION_MASTER}
_WRAPPED_PER_TURN = 1024 * 1024


class SessionMeter(Protocol):
    """Counts what one connection does."""

    def called(self, method: str) -> None:
        """The ApplicationMaster called a method."""
        ...

    def added(self, duration_s: float) -> None:
        """Passing on some bytes took this long."""
        ...

    def left(self) -> None:
        """The connection has ended."""
        ...


class Ends(Protocol):
    """Both transports of a connection, as far as traffic needs them."""

    def to_master(self, data: bytes) -> None:
        """Send to the ApplicationMaster."""
        ...

    def to_home(self, data: bytes) -> None: ...

    def close(self) -> None:
        """End both, once what was written is sent."""
        ...

    def hold(self, *, is_full: bool) -> None:
        """Read from the ApplicationMaster only while there is room for what it says."""
        ...


class Traffic(Protocol):
    """Takes bytes of both sides."""

    def from_am(self, data: bytes) -> None:
        """The ApplicationMaster sent something."""
        ...

    def from_home(self, data: bytes) -> None:
        """Take bytes of its home."""
        ...

    def end(self) -> None: ...


class TransparentRelay:
    """Every byte as it came; calls are counted by the way."""

    __slots__ = ("_ends", "_meter", "_scanner")

    def __init__(self, ends: Ends, meter: SessionMeter) -> None:
        self._ends = ends
        self._meter = meter
        self._scanner = CallScanner()

    def from_am(self, data: bytes) -> None:
        began_s = time.perf_counter()
        self._ends.to_home(data)
        self._meter.added(time.perf_counter() - began_s)
        for method in self._scanner.feed(data):
            if method in APPLICATION_MASTER.methods:  # a name that somebody made up is no label
                self._meter.called(method)

    def from_home(self, data: bytes) -> None:
        began_s = time.perf_counter()
        self._ends.to_master(data)
        self._meter.added(time.perf_counter() - began_s)

    def end(self) -> None:
        """End; nothing is kept."""
        self._meter.left()


class Wrapped(TransparentRelay):
    """The same where a security layer hides the calls."""

    __slots__ = ()

    def from_am(self, data: bytes) -> None:
        began_s = time.perf_counter()
        self._ends.to_home(data)
        self._meter.added(time.perf_counter() - began_s)


class InterceptingRelay:
    """Each call goes to `AttemptCalls`, one after the other; answers go back under the call's own id.

    Args:
        below: The login's end towards the ApplicationMaster, settled.
        max_pending: Calls that may wait; beyond that nothing more is read.
    """

    def __init__(
        self,
        ends: Ends,
        below: ServerConnection,
        own: OwnLogin,
        calls: AttemptCalls,
        meter: SessionMeter,
        *,
        max_pending: int = 16,
    ) -> None:
        self._ends = ends
        self._below = below
        self._own = own
        self._calls = calls
        self._meter = meter
        self._max_pending = max_pending
        self._waiting: deque[HadoopCall] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._is_turn_due = False
        self._is_flush_due = False
        self._is_over = False
        self._has_ended = False
        self._methods: Mapping[str, Callable[[bytes], Awaitable[RPCAnswer]]] = {
            REGISTER: calls.register,
            ALLOCATE: calls.allocate,
            FINISH: calls.finish,
        }

    def from_am(self, data: bytes) -> None:
        self._read(self._below.receive(data))

    def _read(self, events: Sequence[ServerEvent]) -> None:
        """Take what was read; the rest of what was received is read after others had their turn."""
        for event in events:
            self._take(event)
        if self._below.has_more and not self._is_turn_due:
            self._is_turn_due = True
            asyncio.get_running_loop().call_soon(self._next_turn)
        self._hold()
        self._flush()

    def _next_turn(self) -> None:
        self._is_turn_due = False
        if not self._has_ended and not self._is_full:  # else `_work` goes on, once it has room
            self._read(self._below.go_on())

    @property
    def _is_full(self) -> bool:
        return len(self._waiting) >= self._max_pending

    def _hold(self) -> None:
        self._ends.hold(is_full=self._is_full or self._below.has_more)

    def from_home(self, data: bytes) -> None:
        if not self._own.receive(data):
            self._close()

    def end(self) -> None:
        """Give up what is under way: the ApplicationMaster repeats it."""
        self._has_ended = True
        self._own.end()
        if self._worker is not None:
            self._worker.cancel()
        self._calls.leave()
        self._meter.left()

    def _take(self, event: ServerEvent) -> None:
        match event:
            case CallReceived(call):
                self._waiting.append(call)
                if self._worker is None:
                    self._worker = aside("calls of an ApplicationMaster", self._work())
            case ContextReceived():
                self._own.tell_context(event.caller_context)
            case ConnectionEnded(_, reason):
                _LOG.info("an ApplicationMaster broke the protocol", reason=reason)
                self._close()
            case _:
                """Pings: the home is pinged by nobody, its answers come in time."""

    async def _work(self) -> None:
        try:
            while self._waiting:
                call = self._waiting.popleft()
                if self._below.has_more and not self._is_turn_due:
                    self._next_turn()
                self._hold()
                self._answer(call, await self._ask(call))
        except ResourceManagerError as exc:
            _LOG.info("an attempt's home went away during a call", reason=str(exc))
            self._close()
        except Exception:
            self._close()  # the ApplicationMaster would wait for ever; it repeats its call elsewhere
            raise
        finally:
            self._worker = None

    async def _ask(self, call: HadoopCall) -> bytes | Failure:
        method = method_of(call, _PROTOCOLS)
        if isinstance(method, Failure):
            return method
        too_large = refusal_of_size(method.name, len(call.payload_untrusted or b""))
        request = Failure(JavaClass.YARN, too_large) if too_large else request_of(call, method)
        if isinstance(request, Failure):
            return request
        self._meter.called(method.name)
        self._own.caller_context = call.caller_context
        try:
            with span(f"RPC {method.name}", Kind.SERVER, {"rpc.system": "hadoop"}):
                answer = await self._methods[method.name](written_anew(method.name, request))
        except ResourceManagerError:
            raise
        except UserError as exc:
            return Failure(JavaClass.YARN, str(exc))
        except HeddleError as exc:
            return Failure(JavaClass.RETRIABLE, str(exc))
        except Exception:  # noqa: BLE001 - a task's boundary: a bug is told, and must not leave the ApplicationMaster waiting
            _LOG.exception("a call of an ApplicationMaster failed", method=method.name)
            return Failure(JavaClass.YARN, f"{method.name} failed inside Heddle; its log tells why")
        refusal = answer.refusal
        return answer.payload if refusal is None else Failure(refusal.java_class, refusal.message)

    def _answer(self, call: HadoopCall, answer: bytes | Failure) -> None:
        if isinstance(answer, Failure):
            self._below.fail(call, answer)
        else:
            self._below.answer(call, answer)
        self._flush()

    def _close(self) -> None:
        """End both transports, once everything that waits has been written."""
        self._is_over = True
        self._flush()

    def _flush(self) -> None:
        """Write what waits; of what a security layer has to work for, a piece a turn."""
        data = self._below.data_to_send(_WRAPPED_PER_TURN)
        if data:
            self._ends.to_master(data)
        if self._below.has_to_send:
            self._flush_soon()
        elif self._is_over:
            self._ends.close()

    def _flush_soon(self) -> None:
        if not self._is_flush_due:
            self._is_flush_due = True
            asyncio.get_running_loop().call_soon(self._next_flush)

    def _next_flush(self) -> None:
        self._is_flush_due = False
        if not self._has_ended:
            self._flush()


_MIB = 1024 * 1024
MOST_BYTES: Mapping[str, int] = {
    ALLOCATE: _MIB,  # 8,000 resource requests have 600 kB
    REGISTER: _MIB,  # placement constraints are in it
}
"""Largest call by method, in bytes; others are bounded by the frame alone."""

MOST_OF_DIAGNOSTICS = 256 * 1024
"""Characters that are passed on; the last ones."""


def refusal_of_size(method: str, size: int) -> str:
    """The reason against a call of so many bytes, before it is decoded; empty if there is none."""
    most = MOST_BYTES.get(method)
    return f"the request has {size} bytes: at most {most} are taken" if most is not None and size > most else ""


def written_anew(method: str, request: Message) -> bytes:
    """The request as it is passed on: as it was read, and of a long farewell the end of its diagnostics."""
    if method != FINISH:
        return request.SerializeToString()
    assert isinstance(request, FinishApplicationMasterRequestProto)  # noqa: S101 - the method's own request
    length = len(request.diagnostics)
    if length <= MOST_OF_DIAGNOSTICS:
        return request.SerializeToString()
    head = f"Diagnostic messages truncated, showing last {MOST_OF_DIAGNOSTICS} chars out of {length}:\n"
    short = FinishApplicationMasterRequestProto()
    short.CopyFrom(request)
    short.diagnostics = head + request.diagnostics[-MOST_OF_DIAGNOSTICS:]
    return short.SerializeToString()
