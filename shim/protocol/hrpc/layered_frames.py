"""A server's frames under a security layer: received ones are opened in steps, sent ones are wrapped in pieces."""

from collections import deque
from collections.abc import Generator

from shim.protocol.hrpc.envelopes import encode_success
from shim.protocol.hrpc.framing import FrameBuffer
from shim.protocol.hrpc.headers import SASL_CALL_ID, SASLState
from shim.protocol.hrpc.sasl import SASLSession
from shim.protocol.proto.messages import RpcSaslProto

_WRAPPED_BYTES = 56 * 1024
"""Most that is wrapped in one message: both mechanisms announce 64 KiB as the largest that they take."""


class LayeredFrames:
    """Frames under a security layer; there is none before `begin`.

    Args:
        limit: Largest frame before the connection is open, in bytes.
    """

    def __init__(self, limit: int) -> None:
        self._session: SASLSession | None = None
        self._opened = FrameBuffer(limit)
        self._opening: Generator[None, None, bytes] | None = None
        self._to_wrap: deque[bytes | memoryview] = deque()

    def __len__(self) -> int:
        return len(self._opened)

    def begin(self, session: SASLSession) -> None:
        """From now on frames travel under the layer of a session, if it has one."""
        self._session = session if session.quality.has_layer else None

    @property
    def is_on(self) -> bool:
        return self._session is not None

    @property
    def is_opening(self) -> bool:
        """True while a message is opened: `step` goes on with it."""
        return self._opening is not None

    @property
    def has_to_send(self) -> bool:
        return bool(self._to_wrap)

    def open(self, token_untrusted: bytes, *, limit: int) -> None:
        """Begin to open a wrapped message; its frames may have `limit` bytes."""
        assert self._session is not None  # noqa: S101 - asked only while there is a layer
        self._opened.limit = limit
        self._opening = self._session.unwrap_steps(token_untrusted)

    def step(self) -> None:
        """Open a piece of the message; its last one gives all of its frames.

        Raises:
            SASLError: If it was changed, lost, repeated or reordered on the way.
        """
        assert self._opening is not None  # noqa: S101 - asked only while one is opened
        try:
            next(self._opening)
        except StopIteration as opened:
            self._opening = None
            self._opened.feed(opened.value)

    def next_frame(self) -> bytes | None:
        """The next frame that was wrapped; None while none is whole."""
        return self._opened.next_frame()

    def send(self, data: bytes) -> None:
        """Have a frame wrapped when it is sent."""
        self._to_wrap.append(data)

    def wrapped(self, most: int | None) -> list[bytes]:
        """Bytes to send next; the layer works for about `most` bytes, None for all."""
        pieces: list[bytes] = []
        left = most
        while self._to_wrap and (left is None or left > 0):
            clear = self._to_wrap.popleft()
            if len(clear) > _WRAPPED_BYTES:
                # a view: what is left of a large answer is not copied for each piece of it
                self._to_wrap.appendleft(memoryview(clear)[_WRAPPED_BYTES:])
                clear = clear[:_WRAPPED_BYTES]
            pieces.append(self._wrap(bytes(clear)))
            left = None if left is None else left - len(clear)
        return pieces

    def _wrap(self, clear: bytes) -> bytes:
        assert self._session is not None  # noqa: S101 - only then something waits to be wrapped
        wrapped = RpcSaslProto(state=SASLState.WRAP, token=self._session.wrap(clear))
        return encode_success(wrapped.SerializeToString(), call_id=SASL_CALL_ID)
