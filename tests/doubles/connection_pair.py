"""A client and a server of Hadoop RPC joined by memory: what one wants sent, the other receives."""

from collections.abc import Sequence

from shim.protocol.hrpc import ClientConnection, ClientEvent, ServerConnection, ServerEvent


class ConnectionPair:
    """Moves bytes between both ends until neither has any, in pieces of a chosen size.

    Limits: nothing is lost, late or reordered, and both ends run in the caller's thread.

    Attributes:
        client_events: Everything that the client's end told so far.
        server_events: Everything that the server's end told so far.
    """

    def __init__(self, client: ClientConnection, server: ServerConnection, *, piece_bytes: int = 1 << 20) -> None:
        self.client = client
        self.server = server
        self.client_events: list[ClientEvent] = []
        self.server_events: list[ServerEvent] = []
        self._piece_bytes = piece_bytes

    def connect(self) -> None:
        """Begin at the client's end and let both talk."""
        self.client_events += self.client.connect()
        self.exchange()

    def exchange(self) -> None:
        """Let both talk until neither has anything to say."""
        is_talking = True
        while is_talking:
            upward, downward = self.client.data_to_send(), self.server.data_to_send()
            for piece in self._pieces(upward):
                self.server_events += self.server.receive(piece)
            for piece in self._pieces(downward):
                self.client_events += self.client.receive(piece)
            is_talking = bool(upward or downward)

    def _pieces(self, data: bytes) -> Sequence[bytes]:
        return [data[at : at + self._piece_bytes] for at in range(0, len(data), self._piece_bytes)]
