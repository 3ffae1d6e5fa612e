"""Interface of SASL mechanisms to a connection, and their failure.

A mechanism is a pure object: tokens go in, tokens come out, randomness is handed to it. After it is complete, `wrap`
and `unwrap` are the security layer; with quality of protection `auth` there is none.

Source: RFC 4422; `javax.security.sasl.{SaslServer,SaslClient}`; `org.apache.hadoop.security.SaslRpcServer`.
"""

from collections.abc import Generator
from enum import StrEnum
from typing import Protocol

from shim.errors import RemoteProtocolError
from shim.protocol.hrpc.errors import Failure, JavaClass
from shim.protocol.hrpc.headers import RPCErrorCode


class QualityOfProtection(StrEnum):
    """Protection of the bytes after authentication; `hadoop.rpc.protection` calls them otherwise."""

    AUTH = "auth"
    """Nothing: `authentication`."""
    AUTH_INT = "auth-int"
    """A MAC: `integrity`."""
    AUTH_CONF = "auth-conf"
    """Encryption and a MAC: `privacy`."""

    @property
    def has_layer(self) -> bool:
        """True if frames travel wrapped."""
        return self is not QualityOfProtection.AUTH


class SASLError(RemoteProtocolError):
    """Authentication failed, or a protected message is not what was sent.

    Attributes:
        java_class: What a server tells its client; `SecretManager$InvalidToken` makes clients give up at once.
        told: The message for the client, where the whole one is for the log alone.
    """

    def __init__(self, message: str, *, java_class: str = JavaClass.SASL, told: str = "") -> None:
        super().__init__(message)
        self.java_class = java_class
        self.told = told or message

    @property
    def failure(self) -> Failure:
        """The last answer to a client that failed."""
        return Failure(self.java_class, self.told, RPCErrorCode.UNAUTHORIZED)


class SASLSession(Protocol):
    """One side of one authentication."""

    @property
    def is_complete(self) -> bool:
        """True if this side is satisfied."""
        ...

    @property
    def identity(self) -> str:
        """Identity that a server's peer proved (the token's identifier in base64, the Kerberos principal)."""
        ...

    @property
    def quality(self) -> QualityOfProtection:
        """Protection that was agreed on; meaningful once complete."""
        ...

    def step(self, token_untrusted: bytes) -> bytes:
        """Take the peer's token (empty at the start), give the next one; empty when there is nothing to tell.

        Raises:
            SASLError: If the peer did not prove what it had to.
        """
        ...

    def wrap(self, data: bytes) -> bytes:
        """Protect what will be sent."""
        ...

    def unwrap(self, data_untrusted: bytes) -> bytes:
        """Message that the peer protected.

        Raises:
            SASLError: If it was changed, lost, repeated or reordered on the way.
        """
        ...

    def unwrap_steps(self, data_untrusted: bytes) -> Generator[None, None, bytes]:
        """As `unwrap`, pausing often: for a message so large that other work has to go on meanwhile."""
        ...
