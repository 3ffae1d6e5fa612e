"""One TCP connection to a Hadoop RPC server: many calls at a time, each waiting for its own answer.

Limit of RPC connections to all ResourceManagers together.

Each user has connections of its own, and clients make users up. The bound of one cluster alone would grow with the
number of clusters. At the bound the connection that has been idle for longest makes room, whichever cluster it is to.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, cast
from weakref import WeakSet

from shim.errors import NeverReachedError, NoAnswerError, ResourceManagerError
from shim.protocol.hrpc import (
    AnswerReceived,
    CallerContext,
    ClientConnection,
    ClientEvent,
    ClientState,
    ConnectionEnded,
    HadoopAnswer,
    HadoopRequest,
)

_CALL_IDS = 1 << 31
_PING_AFTER_S = 60.0
_MOST_UNSENT = 256 * 1024
"""Bytes that were written and that the server has not taken, beyond which calls wait; one call may be larger."""
_TAKES_NOTHING_S = 60.0
"""A server that takes nothing for so long is cut: no pause of a ResourceManager that goes on afterwards is longer."""
_OPENED_AT_ONCE = 1024 * 1024
"""Larger protected messages are opened in a thread: a context opens one as a whole, 16 MiB in a tenth of a second."""


class RPCChannel(asyncio.Protocol):
    """Drives a `ClientConnection` over a transport.

    Writes of one turn of the event loop go out together. While the server takes nothing, calls wait here and are given
    up here: what has been written can be taken back no more. While a large message is opened in a thread, the automaton
    is that thread's alone: nothing is read, and calls wait.

    Args:
        connection: The automaton, not yet begun.
        subcluster: Whose server it is, for messages.
    """

    def __init__(self, connection: ClientConnection, subcluster: str) -> None:
        self._connection = connection
        self._subcluster = subcluster
        self._transport: asyncio.Transport | None = None
        self._pending: dict[int, asyncio.Future[HadoopAnswer]] = {}
        self._next_call_id = 0
        self._is_flush_due = False
        self._ping: asyncio.TimerHandle | None = None
        self._opening: asyncio.Future[list[ClientEvent]] | None = None
        self._postponed: list[Callable[[], None]] = []
        self._unsent = 0
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._cut: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self.ended: ConnectionEnded | None = None
        self.last_used_s = self._loop.time()

    @property
    def is_usable(self) -> bool:
        return self.ended is None and self._transport is not None and not self._transport.is_closing()

    @property
    def pending(self) -> int:
        return len(self._pending)

    async def call(self, request: HadoopRequest, caller_context: CallerContext | None = None) -> HadoopAnswer:
        """Make a call; cancelling it leaves the connection usable.

        A connection that the server refused answers every call with the server's reason.

        Raises:
            NeverReachedError: The connection had ended before.
            NoAnswerError: It ended before the answer came.
        """
        if self.ended is not None and self.ended.failure is not None:
            return HadoopAnswer(0, b"", b"", self.ended.failure, is_fatal=True)
        if not self.is_usable:
            raise NeverReachedError(self._subcluster, f"the RPC connection is closed: {self._reason()}")
        while not self._has_room.is_set():
            await self._has_room.wait()
            if not self.is_usable:
                raise NeverReachedError(self._subcluster, f"the RPC connection is closed: {self._reason()}")
        call_id = self._next_call_id
        self._next_call_id = (call_id + 1) % _CALL_IDS
        answer: asyncio.Future[HadoopAnswer] = self._loop.create_future()
        self._pending[call_id] = answer
        self.last_used_s = self._loop.time()
        self._unsent += len(request.payload)
        if self._unsent > _MOST_UNSENT:
            self._has_room.clear()
        self._say(partial(self._connection.call, request, call_id=call_id, caller_context=caller_context))
        if self._ping is None:
            self._ping = self._loop.call_later(_PING_AFTER_S, self._send_ping)
        try:
            return await answer
        finally:
            self._pending.pop(call_id, None)

    def close(self) -> None:
        """End the connection; calls that wait fail."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The transport is there: introduce ourselves."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop has classes of its own
        self._take(self._connection.connect())
        self._flush()

    def data_received(self, data: bytes) -> None:
        """Hand what was read to the automaton, and answers to those who wait."""
        if self._opening is not None:  # read before reading was paused
            self._postponed.append(partial(self.data_received, data))
            return
        if self._connection.is_protected and self._connection.protected_bytes + len(data) > _OPENED_AT_ONCE:
            self._open_aside(data)
            return
        self._take(self._connection.receive(data))
        self._flush_soon()

    def pause_writing(self) -> None:
        """The server takes less than is written: further calls wait, and it is cut if that lasts."""
        self._has_room.clear()
        if self._cut is None and self._transport is not None:
            self._cut = self._loop.call_later(_TAKES_NOTHING_S, self._transport.abort)

    def resume_writing(self) -> None:
        """The server has caught up."""
        if self._cut is not None:
            self._cut.cancel()
            self._cut = None
        self._make_room()

    def _make_room(self) -> None:
        """Let calls go on, unless what was written before waits for the login or for the server."""
        if self._cut is None and self._connection.state is ClientState.OPEN:
            self._unsent = 0
            self._has_room.set()

    def connection_lost(self, exc: Exception | None) -> None:
        reason = str(exc) if exc is not None else "the ResourceManager closed the connection"
        self._end(ConnectionEnded(None, reason))

    def _open_aside(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()
        self._opening = self._loop.run_in_executor(None, self._connection.receive, data)
        self._opening.add_done_callback(self._opened)

    def _opened(self, opening: "asyncio.Future[list[ClientEvent]]") -> None:
        """Go on where `_open_aside` has left off."""
        self._opening = None
        error = None if opening.cancelled() else opening.exception()
        if opening.cancelled() or error is not None:
            self._end(ConnectionEnded(None, f"an answer could not be opened: {error or 'Heddle ends'}"))
            return
        self._take(opening.result())
        postponed, self._postponed = self._postponed, []
        for work in postponed if self.ended is None else ():
            self._say(work)
        if self._transport is not None and not self._transport.is_closing() and self._opening is None:
            self._transport.resume_reading()
        self._flush_soon()

    def _say(self, work: Callable[[], None]) -> None:
        """Do what changes the automaton as soon as no thread has it."""
        if self._opening is not None:
            self._postponed.append(work)
            return
        work()
        self._flush_soon()

    def _take(self, events: Sequence[ClientEvent]) -> None:
        for event in events:
            if isinstance(event, AnswerReceived):
                waiting = self._pending.get(event.answer.call_id)
                if waiting is not None and not waiting.done():
                    waiting.set_result(event.answer)
            elif isinstance(event, ConnectionEnded):
                self._end(event)

    def _end(self, ended: ConnectionEnded) -> None:
        if self.ended is None:
            self.ended = ended
        for call_id, waiting in list(self._pending.items()):
            if waiting.done():
                continue
            if self.ended.failure is not None:  # a fatal answer goes to every call of the connection
                waiting.set_result(HadoopAnswer(call_id, b"", b"", self.ended.failure, is_fatal=True))
            else:
                waiting.set_exception(self._no_answer())
        for timer in (self._ping, self._cut):
            if timer is not None:
                timer.cancel()
        self._has_room.set()
        self.close()

    def _no_answer(self) -> ResourceManagerError:
        return NoAnswerError(self._subcluster, f"the RPC connection broke during a call: {self._reason()}")

    def _reason(self) -> str:
        return self.ended.reason if self.ended is not None else "not connected"

    def _flush_soon(self) -> None:
        if not self._is_flush_due:
            self._is_flush_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._is_flush_due = False
        if self._opening is not None:
            return  # `_opened` flushes
        data = self._connection.data_to_send()
        if data and self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)
        self._make_room()

    def _send_ping(self) -> None:
        """A server that works on a long call learns that somebody still waits."""
        self._ping = None
        if self._pending and self.is_usable:
            self._say(self._connection.ping)
            self._ping = self._loop.call_later(_PING_AFTER_S, self._send_ping)


class HasConnections(Protocol):
    """A client of one cluster, as far as the budget is concerned."""

    @property
    def connections(self) -> int:
        """Number of connections that are open or being opened."""
        ...

    def idle_since_s(self) -> float | None:
        """Time of the last use of the one that has been idle for longest; None if none is idle."""
        ...

    def close_idle(self) -> None:
        """Close the one that has been idle for longest."""
        ...

    def wake(self) -> None: ...


class ConnectionBudget:
    """Connections of several clients together."""

    def __init__(self, most: int = 1024) -> None:
        self._most = most
        self._members: WeakSet[HasConnections] = WeakSet()

    def __len__(self) -> int:
        return sum(member.connections for member in self._members)

    def join(self, member: HasConnections) -> None:
        """Count the connections of one more client, for as long as it lives."""
        self._members.add(member)

    def make_room(self) -> bool:
        """Close the connection that has been idle for longest if there is no room; True if one more may be opened."""
        if len(self) < self._most:
            return True
        idle = [(since_s, member) for member in self._members if (since_s := member.idle_since_s()) is not None]
        if not idle:
            return False
        min(idle, key=lambda each: each[0])[1].close_idle()
        return True

    def freed(self) -> None:
        """A call has ended somewhere: who waits for room looks again."""
        for member in tuple(self._members):
            member.wake()
