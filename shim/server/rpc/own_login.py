"""Calls of Heddle to an ApplicationMaster's home, over the login that the ApplicationMaster has there."""

import asyncio
from collections.abc import Callable

import structlog

from shim.domain.ids import SubClusterId
from shim.errors import NeverReachedError, NoAnswerError
from shim.ports.resource_manager_rpc import RPCAnswer, RPCRefusal
from shim.protocol.hrpc import (
    AnswerReceived,
    CallerContext,
    ClientConnection,
    ConnectionEnded,
    HadoopAnswer,
    HadoopRequest,
)
from shim.protocol.proto import APPLICATION_MASTER
from shim.telemetry.tracing import Kind, span

_LOG = structlog.get_logger("heddle.relay")
_CALL_IDS = 1 << 31


class OwnLogin:
    """Implements `HomeSession`: calls over the login that was passed through.

    Args:
        above: The login's end towards the home, settled.
    """

    def __init__(self, above: ClientConnection, home: SubClusterId, send: Callable[[bytes], None]) -> None:
        self._above = above
        self._home = home
        self._send = send
        self._pending: dict[int, asyncio.Future[HadoopAnswer]] = {}
        self._next_call_id = 0
        self._has_ended = False
        self.caller_context: CallerContext | None = None

    @property
    def is_open(self) -> bool:
        return not self._has_ended

    async def call(self, method: str, payload: bytes) -> RPCAnswer:
        if self._has_ended:
            raise NeverReachedError(self._home, "the ApplicationMaster's connection has ended")
        call_id = self._next_call_id
        self._next_call_id = (call_id + 1) % _CALL_IDS
        waiting: asyncio.Future[HadoopAnswer] = asyncio.get_running_loop().create_future()
        self._pending[call_id] = waiting
        request = HadoopRequest(APPLICATION_MASTER.name, method, payload)
        self._above.call(request, call_id=call_id, caller_context=self.caller_context)
        self._send(self._above.data_to_send())
        try:
            with span(f"ResourceManager {method}", Kind.CLIENT, {"heddle.cluster": self._home}):
                answer = await waiting
        finally:
            self._pending.pop(call_id, None)
        if answer.failure is None:
            return RPCAnswer(answer.payload_untrusted)
        return RPCAnswer(b"", RPCRefusal(answer.failure.java_class, answer.failure.message))

    def tell_context(self, caller_context: CallerContext | None) -> None:
        """Tell the home that the ApplicationMaster is there, as which program it calls."""
        self._above.tell_context(caller_context)
        self._send(self._above.data_to_send())

    def receive(self, data: bytes) -> bool:
        """Take what the home sent; False if it ends here."""
        for event in self._above.receive(data):
            if isinstance(event, AnswerReceived):
                waiting = self._pending.get(event.answer.call_id)
                if waiting is not None and not waiting.done():
                    waiting.set_result(event.answer)
            elif isinstance(event, ConnectionEnded):
                _LOG.info("home ended an attempt's login", home=self._home, reason=event.reason)
                return False
        return True

    def end(self) -> None:
        self._has_ended = True
        for waiting in self._pending.values():
            if not waiting.done():
                waiting.set_exception(NoAnswerError(self._home, "the connection broke during a call"))
