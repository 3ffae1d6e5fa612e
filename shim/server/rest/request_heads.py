"""Checks on the head of a request before anything is made of it: size, framing, host; and whose it seems to be."""

import re

from shim.server.rest.host_names import HostNames

__all__ = ["RefusedHeadError", "check_framing", "check_host", "check_size", "claimed_user", "too_large"]

_MOST_HEADERS = 256
"""Lines of one head: a browser behind three proxies sends 40, and each costs wherever headers are looked at."""
_CLAIM = re.compile(
    rb"""
    [?&;](?:doas|user\.name)=([^&;\s#]{1,64}) | hadoop\.auth="?u=([^&"\s]{1,64}) | bearer[ ]heddle_([0-9a-f]{16})
    """,
    re.IGNORECASE | re.VERBOSE,
)
_LOOKED_AT = 8192


def claimed_user(data: bytes) -> bytes:
    """Guess from the first bytes of a request whose it is; empty if they name nobody.

    Only for taking turns: nothing is believed here, and whoever names another stands in that one's queue.
    """
    found = _CLAIM.search(data, 0, _LOOKED_AT)
    return found[found.lastindex or 0] if found is not None else b""


class RefusedHeadError(Exception):
    """The request is answered without being understood."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


def too_large(max_body_bytes: int) -> RefusedHeadError:
    """What is said of a body that is larger than it may be."""
    return RefusedHeadError(413, f"the body is larger than {max_body_bytes} bytes, the limit of server.max_body_bytes")


def check_host(headers: list[tuple[bytes, bytes]], names: HostNames) -> None:
    """Refuse a name that is not ours, before any answer is looked for: a kept one would leak as well.

    Raises:
        RefusedHeadError: 421.
    """
    for name, value in headers:
        if name == b"host" and not names.allows(value):
            raise RefusedHeadError(421, "Misdirected Request: this Host is not one of server.host_names")


def check_size(url: bytes, headers: list[tuple[bytes, bytes]], max_head_bytes: int) -> None:
    """Refuse a head that came in one piece and is too long.

    Raises:
        RefusedHeadError: 431.
    """
    if len(headers) > _MOST_HEADERS or (
        len(url) + sum(len(name) + len(value) + 4 for name, value in headers) > max_head_bytes
    ):
        raise RefusedHeadError(431, "Request Header Fields Too Large")


def check_framing(headers: list[tuple[bytes, bytes]], version: str, max_body_bytes: int) -> None:
    """Refuse a head that two servers could understand in two ways (RFC 9112, sections 3.2 and 6.3).

    Raises:
        RefusedHeadError: With the status to answer.
    """
    lengths = [value for name, value in headers if name == b"content-length"]
    encodings = [value.lower() for name, value in headers if name == b"transfer-encoding"]
    hosts = [value for name, value in headers if name == b"host"]
    if version not in ("1.0", "1.1"):
        raise RefusedHeadError(505, "Unknown Version")
    if len(hosts) > 1:
        raise RefusedHeadError(400, "Duplicate Host Header")
    if version == "1.1" and not hosts:
        raise RefusedHeadError(400, "No Host")
    if len(lengths) > 1 or (lengths and encodings) or len(encodings) > 1:
        raise RefusedHeadError(400, "Duplicate Content-Length or Transfer-Encoding")
    if encodings and (encodings[0].strip() != b"chunked" or version == "1.0"):
        raise RefusedHeadError(400, "Unsupported Transfer-Encoding")
    if lengths and not lengths[0].isdigit():
        raise RefusedHeadError(400, "Invalid Content-Length")
    if lengths and int(lengths[0][:16]) > max_body_bytes:
        raise too_large(max_body_bytes)
