"""Rendered answers, kept until what they were made of changes."""

from collections import OrderedDict
from dataclasses import dataclass

from shim.domain.ids import SubClusterId
from shim.federation.core.federation_view import Part
from shim.protocol.rest.negotiation import Representation, accepts_gzip, negotiate
from shim.protocol.rest.queries import Content
from shim.server.rest.messages import Headers, Request

CacheKey = tuple[str, Content, Representation, bool, str]
"""Path as it stood in the request line, content of the query, form of the answer, whether compressed, whose sight."""


_LONGEST_KEY = 4096
"""Characters that clients write: the answer to a longer request is not kept, as nobody would count them."""


@dataclass(frozen=True, slots=True)
class CacheLimits:
    """Limits of what is kept.

    Attributes:
        answers: How many; 0 keeps none.
        answers_bytes: Of their bodies; one that needs more than a quarter of it is not kept.
    """

    answers: int
    answers_bytes: int


@dataclass(slots=True)
class Kept:
    """An answer less the header lines that change with every second, or with who asks.

    Attributes:
        part: What of the view it was made of, in `version`.
        good_until_s: When it is too old whatever the view says; seconds since the epoch.
        as_of_s: When it was true, for what is no list; None for as old as the part of the view.
        head: The same as they go out, with the length and the empty line; empty until it is asked for again.
    """

    part: Part
    version: int
    missing: tuple[SubClusterId, ...]
    good_until_s: float
    as_of_s: float | None
    headers: Headers
    body: bytes
    head: bytes = b""


def cache_key(request: Request, content: Content, sight: str = "") -> CacheKey | None:
    """All of a read that its answer depends on; None if it gets none in any form.

    Args:
        sight: Of the viewer who asks, where the answer depends on it.
    """
    accept = encoding = ""
    for name, value in request.headers:
        if name == "accept":
            accept = f"{accept},{value}" if accept else value
        elif name == "accept-encoding":
            encoding = f"{encoding},{value}" if encoding else value
    chosen = negotiate(accept)
    if not isinstance(chosen, Representation):
        return None
    return request.raw_path, content, chosen, accepts_gzip(encoding), sight


def _written_by_clients(key: CacheKey) -> int:
    path, content, *_ = key
    return len(path) + sum(len(name) + sum(map(len, values)) for name, values in content)


class ResponseCache:
    """Answers to reads that are the same for every caller; bounded by number and by bytes."""

    def __init__(self, limits: CacheLimits) -> None:
        self._limits = limits
        self._entries: OrderedDict[CacheKey, Kept] = OrderedDict()
        self._bytes = 0

    def find(self, key: CacheKey) -> Kept | None:
        """Answer that is kept under a key; whether it is still good is for the caller to say."""
        kept = self._entries.get(key)
        if kept is not None:
            self._entries.move_to_end(key)
        return kept

    def keep(self, key: CacheKey, kept: Kept) -> None:
        """Keep an answer; the ones that were asked for least lately give way when there is no room."""
        self.drop(key)
        if len(kept.body) > self._limits.answers_bytes // 4 or _written_by_clients(key) > _LONGEST_KEY:
            return
        self._entries[key] = kept
        self._bytes += len(kept.body)
        while len(self._entries) > self._limits.answers or self._bytes > self._limits.answers_bytes:
            self.drop(next(iter(self._entries)))

    def drop(self, key: CacheKey) -> None:
        kept = self._entries.pop(key, None)
        if kept is not None:
            self._bytes -= len(kept.body)
