"""Links between masters in memory, and doubles at their ends that misbehave.

Frames go through their wire form, so that what cannot travel is found out. Limits: nothing is lost, late or reordered
unless a double does it, and nobody proves anything: the other end is who it says.
"""

import asyncio
from collections.abc import Awaitable, Callable

from shim.errors import MasterLinkError
from shim.ports.master_links import AcceptLink, MasterLink
from shim.protocol.peers import DeltaFrame, Frame, decode_frame_untrusted, encode_frame


class MemoryLink:
    """One end of a link in memory.

    Attributes:
        incoming: Frames that were sent from the other end; None ends the link.
        other: The other end.
        closed_for: Why this end was closed; None while it is open.
    """

    def __init__(self, peer: str, address: str) -> None:
        self.peer = peer
        self.address = address
        self.closed_for: str | None = None
        self.incoming: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.other: MemoryLink | None = None

    def join(self, other: "MemoryLink") -> None:
        """Make this the other end of `other`."""
        self.other, other.other = other, self

    async def send(self, frame: Frame) -> None:
        """See `MasterLink`."""
        await self.send_encoded(encode_frame(frame))

    async def send_encoded(self, data: bytes) -> None:
        """See `MasterLink`."""
        if self.closed_for is not None or self.other is None or self.other.closed_for is not None:
            raise MasterLinkError(f"the link to {self.peer} is broken")
        self.other.incoming.put_nowait(data)
        await asyncio.sleep(0)

    async def receive(self) -> Frame:
        """See `MasterLink`."""
        data = None if self.closed_for is not None else await self.incoming.get()
        if data is None:
            raise MasterLinkError(f"{self.peer} ended the link")
        return decode_frame_untrusted(data)

    async def close(self, reason: str = "") -> None:
        """See `MasterLink`."""
        if self.closed_for is None:
            self.closed_for = reason
            for end in (self, self.other):
                if end is not None:
                    end.incoming.put_nowait(None)


def linked(dialer: str, listener: str) -> tuple[MemoryLink, MemoryLink]:
    """Both ends of a link: that of who dialled first."""
    ours, theirs = MemoryLink(listener, f"{listener}:1"), MemoryLink(dialer, f"{dialer}:1")
    ours.join(theirs)
    return ours, theirs


class MemoryDialer:
    """Dials what is registered under an address, and nothing else.

    Attributes:
        listeners: What accepts links, by address.
        is_cut: Addresses that cannot be reached, though somebody listens.
        wrap: What is done to the dialler's end of each new link, for doubles.
    """

    def __init__(self, me: str) -> None:
        self.me = me
        self.listeners: dict[str, AcceptLink] = {}
        self.is_cut: set[str] = set()
        self.wrap: Callable[[MemoryLink], MasterLink] = lambda link: link
        self.links: list[MemoryLink] = []
        self._serving: set[asyncio.Task[None]] = set()

    async def dial(self, address: str, *, expected: str) -> MasterLink:
        """See `MasterDialer`."""
        accept = self.listeners.get(address)
        if accept is None or address in self.is_cut:
            raise MasterLinkError(f"{expected} at {address} cannot be reached")
        ours, theirs = linked(self.me, expected)
        task = asyncio.create_task(self._serve(accept, theirs))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        self.links.append(ours)
        return self.wrap(ours)

    async def close(self) -> None:
        """See `MasterDialer`."""
        for link in self.links:
            await link.close()

    @staticmethod
    async def _serve(accept: Callable[[MasterLink], Awaitable[None]], link: MemoryLink) -> None:
        try:
            await accept(link)
        except MasterLinkError:
            return
        finally:
            await link.close()


class LosesDeltas:
    """The dialler's end of a link that loses deltas while it is told to."""

    def __init__(self, inner: MemoryLink) -> None:
        self._inner = inner
        self.loses = False
        self.peer = inner.peer
        self.address = inner.address

    async def send(self, frame: Frame) -> None:
        """See `MasterLink`."""
        await self._inner.send(frame)

    async def send_encoded(self, data: bytes) -> None:
        """See `MasterLink`."""
        await self._inner.send_encoded(data)

    async def receive(self) -> Frame:
        """The next frame that is not lost."""
        while True:
            frame = await self._inner.receive()
            if not (self.loses and isinstance(frame, DeltaFrame)):
                return frame

    async def close(self, reason: str = "") -> None:
        """See `MasterLink`."""
        await self._inner.close(reason)
