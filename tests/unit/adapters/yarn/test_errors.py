"""Words for failures of connections: one cause, said once, without the names of classes."""

import errno
import os
import socket
import ssl
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from adapters.yarn.errors import translated
from shim.errors import MalformedAnswerError, NeverReachedError, NoAnswerError

KEY: Any = SimpleNamespace(host="127.0.0.1", port=21088, ssl=True)
ADDRESS = "http://127.0.0.1:21088"


def refused() -> OSError:
    return ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('127.0.0.1', 21088)")


def untrusted() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate (_ssl.c:1006)")
    error.verify_message = "self-signed certificate."
    return error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (aiohttp.ClientConnectorError(KEY, refused()), "connection refused"),
        (aiohttp.ClientConnectorError(KEY, OSError(errno.EHOSTUNREACH, "x")), "no route to host"),
        (aiohttp.ClientOSError(errno.ECONNRESET, "Cannot write"), os.strerror(errno.ECONNRESET).lower()),
        (refused(), "connection refused"),
        (
            aiohttp.ClientConnectorDNSError(KEY, socket.gaierror(socket.EAI_NONAME, "Name or service not known")),
            "name or service not known",
        ),
        (
            aiohttp.ClientConnectorCertificateError(KEY, untrusted()),
            "its certificate is not trusted: self-signed certificate",
        ),
        (aiohttp.ServerDisconnectedError(), "the connection was closed"),
        (aiohttp.ServerTimeoutError("x"), "time ran out"),
        (TimeoutError(), "time ran out"),
        (OSError("Multiple exceptions: a, b"), "Multiple exceptions: a, b"),
        (aiohttp.ClientError(), "the connection failed"),
    ],
)
def test_a_connection_that_was_not_made_is_told_in_words(error: Exception, words: str) -> None:
    told = translated(error, "east", ADDRESS, was_sent=False)
    assert isinstance(told, NeverReachedError)
    assert told.reason == f"{ADDRESS} was not reached ({words}); is its ResourceManager running?"
    assert str(told) == f"sub-cluster east: {told.reason}"


def test_whether_the_request_was_sent_decides_the_kind() -> None:
    assert isinstance(translated(refused(), "east", ADDRESS, was_sent=True), NoAnswerError)
    broken = translated(aiohttp.ClientPayloadError("short"), "east", ADDRESS, was_sent=True)
    assert isinstance(broken, MalformedAnswerError)
    assert broken.reason == f"{ADDRESS} answered something broken (short)"
