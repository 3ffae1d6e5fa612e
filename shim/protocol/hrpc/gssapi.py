"""The SASL mechanism GSSAPI (Kerberos), over a security context that somebody else provides.

The context does the cryptography and reads keytabs and ticket caches, so it comes from an adapter; what SASL adds is
here: after the context is established the server offers security layers in one protected message of four octets, the
client chooses one, and from then on frames travel in the context's own protection.

    octet 0     bit mask of layers: 1 none, 2 integrity, 4 confidentiality
    octets 1-3  largest message that the sender takes, 0 without a layer

Source: RFC 4752 section 3; `com.sun.security.sasl.gsskerb`.
"""

from collections.abc import Generator, Mapping, Sequence
from typing import Protocol

from shim.protocol.hrpc.sasl import QualityOfProtection, SASLError

_BITS: Mapping[QualityOfProtection, int] = {
    QualityOfProtection.AUTH: 1,
    QualityOfProtection.AUTH_INT: 2,
    QualityOfProtection.AUTH_CONF: 4,
}
_MAX_BUFFER = 0xFFFF
MAX_MESSAGE_BYTES = 5 * 1024 * 1024
"""Of what a client protected: Hadoop's clients make one message of a whole call. To open 16 MiB takes 0.1 s."""
_OFFER_BYTES = 4


class SecurityContext(Protocol):
    """One side of a GSS-API context; failures are raised as `SASLError`."""

    @property
    def is_complete(self) -> bool: ...

    @property
    def peer(self) -> str:
        """Principal of the other side, once established."""
        ...

    def step(self, token: bytes) -> bytes:
        """Take the peer's token, give the next; empty when there is none."""
        ...

    def wrap(self, data: bytes, *, is_encrypted: bool) -> bytes:
        """Protect a message."""
        ...

    def unwrap(self, data: bytes, *, is_encrypted: bool) -> bytes:
        """Check and open a message; one that is not encrypted is refused where it has to be."""
        ...


class _Mechanism:
    """Base of the mechanism's two sides."""

    def __init__(self, context: SecurityContext, qualities: Sequence[QualityOfProtection]) -> None:
        self._context = context
        self._qualities = tuple(qualities)
        self.quality = QualityOfProtection.AUTH
        self.is_complete = False

    @property
    def identity(self) -> str:
        return self._context.peer if self._context.is_complete else ""

    def wrap(self, data: bytes) -> bytes:
        if not self.quality.has_layer:
            return data
        return self._context.wrap(data, is_encrypted=self.quality is QualityOfProtection.AUTH_CONF)

    def unwrap(self, data_untrusted: bytes) -> bytes:
        if not self.quality.has_layer:
            return data_untrusted
        return self._context.unwrap(data_untrusted, is_encrypted=self.quality is QualityOfProtection.AUTH_CONF)

    def unwrap_steps(self, data_untrusted: bytes) -> Generator[None, None, bytes]:
        """As `unwrap`, in one step: a context opens a message as a whole, so that its size is bounded.

        Raises:
            SASLError: If it is larger than any request that a server takes.
        """
        if self.quality.has_layer and len(data_untrusted) > MAX_MESSAGE_BYTES:
            raise SASLError(f"GSSAPI: a message of {len(data_untrusted)} bytes: at most {MAX_MESSAGE_BYTES} are opened")
        yield
        return self.unwrap(data_untrusted)

    def _agree(self, quality: QualityOfProtection) -> None:
        self.quality, self.is_complete = quality, True


class GSSAPIServer(_Mechanism):
    """The accepting side.

    Args:
        context: Accepts with the service's keytab.
    """

    def __init__(self, context: SecurityContext, qualities: Sequence[QualityOfProtection]) -> None:
        super().__init__(context, qualities)
        self._has_offered = False

    def step(self, token_untrusted: bytes) -> bytes:
        """Establish the context, offer layers, take the client's choice."""
        if self._has_offered:
            self._take_choice(token_untrusted)
            return b""
        token = b"" if self._context.is_complete else self._context.step(token_untrusted)
        if token or not self._context.is_complete:
            return token
        self._has_offered = True
        mask = sum(_BITS[quality] for quality in self._qualities)
        size = _MAX_BUFFER if any(quality.has_layer for quality in self._qualities) else 0
        return self._context.wrap(bytes([mask]) + size.to_bytes(3, "big"), is_encrypted=False)

    def _take_choice(self, token_untrusted: bytes) -> None:
        choice = self._context.unwrap(token_untrusted, is_encrypted=False)
        chosen = next((quality for quality in self._qualities if choice[:1] == bytes([_BITS[quality]])), None)
        if chosen is None or len(choice) < _OFFER_BYTES:
            raise SASLError("GSSAPI: the client chose a security layer that was not offered")
        authorization = choice[_OFFER_BYTES:].decode("utf-8", "replace")
        if authorization not in ("", self._context.peer):
            raise SASLError(f"GSSAPI: {self._context.peer} is not authorized to act as {authorization}")
        self._agree(chosen)


class GSSAPIClient(_Mechanism):
    """The initiating side.

    Args:
        context: Initiates towards the service with a ticket.
    """

    def __init__(
        self, context: SecurityContext, qualities: Sequence[QualityOfProtection] = (QualityOfProtection.AUTH,)
    ) -> None:
        super().__init__(context, qualities)
        self._prepared: bytes | None = None

    def prepare(self) -> None:
        """Make the first token now: for one a context may have to ask far away, and no other step does.

        Raises:
            SASLError: If there is none to be had.
        """
        self._prepared = self._context.step(b"")

    def step(self, token_untrusted: bytes) -> bytes:
        """Establish the context, then choose a layer of those that the server offers."""
        if self.is_complete:
            if token_untrusted:
                raise SASLError("GSSAPI: the server goes on after the end")
            return b""
        if self._prepared is not None:
            first, self._prepared = self._prepared, None
            return first
        if not self._context.is_complete:
            return self._context.step(token_untrusted)
        offer = self._context.unwrap(token_untrusted, is_encrypted=False)
        if len(offer) != _OFFER_BYTES:
            raise SASLError("GSSAPI: the server's offer of security layers is not four octets")
        chosen = next((quality for quality in self._qualities if offer[0] & _BITS[quality]), None)
        if chosen is None:
            raise SASLError("GSSAPI: no common protection level between client and server")
        size = _MAX_BUFFER if chosen.has_layer else 0
        self._agree(chosen)
        return self._context.wrap(bytes([_BITS[chosen]]) + size.to_bytes(3, "big"), is_encrypted=False)
