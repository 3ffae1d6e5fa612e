"""A request and an answer, as the connection hands them to the server and takes them back."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Request:
    """A whole request.

    Attributes:
        raw_path: The path as it stood in the request line, still percent-encoded.
        headers: In order; names in lower case, values as Latin-1 text.
        peer: Address that the connection is from.
        is_secure: Whether it came over TLS.
    """

    method: str
    raw_path: str
    query: str
    headers: Headers
    body: bytes
    peer: str
    is_secure: bool = False

    def header(self, name: str) -> str | None:
        """First value of a header, by its name in lower case."""
        for key, value in self.headers:  # a dozen times for each request: a generator costs three times as much
            if key == name:
                return value
        return None

    def joined(self, name: str) -> str:
        """All values of a header, joined by commas; empty if there is none."""
        return ",".join([value for key, value in self.headers if key == name])


@dataclass(frozen=True, slots=True)
class SessionChange:
    """A session of a browser that begins or ends, or that was refused, for the audit.

    Attributes:
        operation: `session.begin` or `session.end`.
        user: Whose it is; empty where nobody logged in.
        reason: Why it was refused; never a code, state or token.
    """

    operation: str
    user: str
    provider: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, whole unless it goes on.

    Attributes:
        headers: In order, as they are sent; without those of the connection (length, `Connection`).
        later: What follows the body, as it is made; None for an answer that is whole.
        session: What it does to a session; None for nothing.
        reason: Phrase of the status line; empty for the usual one.
        closes: Whether the connection ends with it.
    """

    status: int
    headers: Headers
    body: bytes = b""
    reason: str = ""
    closes: bool = False
    later: AsyncGenerator[bytes, None] | None = None
    session: SessionChange | None = None
