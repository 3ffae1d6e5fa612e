"""The one place where failures of HTTP and sockets become Heddle's errors.

What matters is not what went wrong but whether the ResourceManager can have seen the request: only if it provably has
not may a submission go elsewhere. aiohttp's exceptions do not tell (a request that is repeated on a new connection
after the old one broke may fail to connect the second time), so the adapter watches whether the head of any attempt
was written.
"""

import asyncio
import os
import socket
import ssl
from typing import Final

import aiohttp

from shim.errors import MalformedAnswerError, NeverReachedError, NoAnswerError, ResourceManagerError

FOREIGN_ERRORS: Final = (aiohttp.ClientError, asyncio.TimeoutError, OSError)
"""What may come out of aiohttp and the sockets below it."""

_LONGEST_TOLD: Final = 200
_BROKEN_ANSWERS: Final = (aiohttp.ClientPayloadError, aiohttp.ClientResponseError)


def translated(exc: Exception, subcluster: str, address: str, *, was_sent: bool) -> ResourceManagerError:
    """Heddle's error for a foreign one; raise it `from exc`.

    Args:
        exc: One of `FOREIGN_ERRORS`.
        was_sent: Whether the head of the request was written to any connection.
    """
    story = _told(exc)
    if not was_sent:
        return NeverReachedError(subcluster, f"{address} was not reached ({story}); is its ResourceManager running?")
    if isinstance(exc, _BROKEN_ANSWERS):
        return MalformedAnswerError(subcluster, f"{address} answered something broken ({story})")
    return NoAnswerError(subcluster, f"{address} gave no whole answer ({story}); it may have taken the request")


def _told(exc: Exception) -> str:
    """What went wrong in words; the names of classes are the program's own."""
    if isinstance(exc, TimeoutError):
        return "time ran out"
    if isinstance(exc, aiohttp.ServerDisconnectedError):
        return "the connection was closed"
    cause: BaseException = exc
    if isinstance(exc, aiohttp.ClientConnectorCertificateError):
        cause = exc.certificate_error
    elif isinstance(exc, aiohttp.ClientConnectorError):
        cause = exc.os_error
    told = _told_of_socket(cause) if isinstance(cause, OSError) else str(cause)
    return told[:_LONGEST_TOLD] or "the connection failed"


def _told_of_socket(exc: OSError) -> str:
    if isinstance(exc, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {exc.verify_message.rstrip('.') or exc.reason}"
    if isinstance(exc, ssl.SSLError):
        return f"no TLS: {(exc.reason or str(exc)).replace('_', ' ').lower()}"
    if isinstance(exc, socket.gaierror):
        return _decapitalised(exc.strerror or "its name has no address")
    return _decapitalised(os.strerror(exc.errno)) if exc.errno else str(exc)


def _decapitalised(words: str) -> str:
    return words[:1].lower() + words[1:]
