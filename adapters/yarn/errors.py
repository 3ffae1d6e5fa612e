"""The one place where failures of HTTP and sockets become Heddle's errors.

What matters is not what went wrong but whether the ResourceManager can have seen the request: only if it provably has
not may a submission go elsewhere. aiohttp's exceptions do not tell (a request that is repeated on a new connection
after the old one broke may fail to connect the second time), so the adapter watches whether the head of any attempt
was written.
"""

import asyncio
from typing import Final

import aiohttp

from shim.errors import MalformedAnswerError, NeverReachedError, NoAnswerError, ResourceManagerError

__all__ = ["FOREIGN_ERRORS", "translated"]

FOREIGN_ERRORS: Final = (aiohttp.ClientError, asyncio.TimeoutError, OSError)
"""What may come out of aiohttp and the sockets below it."""

_BROKEN_ANSWERS: Final = (aiohttp.ClientPayloadError, aiohttp.ClientResponseError)


def translated(exc: Exception, subcluster: str, address: str, *, was_sent: bool) -> ResourceManagerError:
    """Heddle's error for a foreign one; raise it `from exc`.

    Args:
        exc: One of `FOREIGN_ERRORS`.
        subcluster: Whose ResourceManager was asked.
        address: Where.
        was_sent: Whether the head of the request was written to any connection.
    """
    story = _told(exc)
    if not was_sent:
        return NeverReachedError(subcluster, f"{address} was not reached ({story}); is its ResourceManager running?")
    if isinstance(exc, _BROKEN_ANSWERS):
        return MalformedAnswerError(subcluster, f"{address} answered something broken ({story})")
    return NoAnswerError(subcluster, f"{address} gave no whole answer ({story}); it may have taken the request")


def _told(exc: Exception) -> str:
    if isinstance(exc, TimeoutError):
        return "time ran out"
    return f"{type(exc).__name__}: {exc}"[:200]
