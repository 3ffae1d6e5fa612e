"""Links between masters: frames in both directions, both ends known to have the secret of the federation."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from shim.protocol.peers import Frame


class MasterLink(Protocol):
    """One end of a link that has been authenticated."""

    @property
    def peer(self) -> str:
        """Name of the other end: `gm/<id>` or `lm/<sub-cluster>`."""
        ...

    @property
    def address(self) -> str:
        """Address of the other end, as this machine's network tells it."""
        ...

    async def send(self, frame: Frame) -> None:
        """Send a frame; returns when it is on its way.

        Raises:
            MasterLinkError: The link is broken, or the other end takes nothing.
        """
        ...

    async def send_encoded(self, data: bytes) -> None:
        """Send a frame that was encoded once for many links; raises as `send`."""
        ...

    async def receive(self) -> Frame:
        """The next frame.

        Raises:
            MasterLinkError: The link is broken or was closed, or nothing came for too long.
            RemoteProtocolError: What came is no frame.
        """
        ...

    async def close(self, reason: str = "") -> None:
        """End the link; the other end may read the reason."""
        ...


class MasterDialer(Protocol):
    """Makes links to other masters."""

    async def dial(self, address: str, *, expected: str) -> MasterLink:
        """Connect to `host:port`.

        Args:
            address: Where.
            expected: Who must be there: `lm/east`.

        Raises:
            MasterLinkError: Nobody is there, or not in time, or without the secret, or somebody else.
        """
        ...

    async def close(self) -> None:
        """Give up what links were made of."""
        ...


AcceptLink = Callable[[MasterLink], Awaitable[None]]
"""What a listener does with each link; the link is closed when it returns."""
