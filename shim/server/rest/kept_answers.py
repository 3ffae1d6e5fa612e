"""Answers to reads, given again without being made again: as bytes for a connection, or as an answer."""

from collections.abc import Sequence

from shim.federation.core.federation_view import Part
from shim.federation.freshness import instant
from shim.protocol.rest.application_search import canonical_content, has_time_bounds
from shim.protocol.rest.filters import trusted_skews
from shim.protocol.rest.queries import Query
from shim.server.rest.answers import SAFETY, AnswerWriter
from shim.server.rest.asgi import rendered_headers
from shim.server.rest.backend import Backend
from shim.server.rest.cache import CacheKey, CacheLimits, Kept, ResponseCache, cache_key
from shim.server.rest.endpoints import BASE
from shim.server.rest.messages import Answer, Headers, Request
from shim.server.rest.operations import Call, Outcome

_OK = 200
_STATUS_LINE = b"HTTP/1.1 200 OK\r\n"
_OF_EACH = frozenset({"Heddle-As-Of", "Set-Cookie", "X-Request-Id"})
"""Header lines that depend on who asks, and when."""
_FOR_ALL = tuple(f"{BASE}/{first}" for first in ("info", "metrics", "nodes", "scheduler"))
"""What paths of answers begin with that tell of no application; whatever else may be one by another spelling."""
_RIGHTS_S = 1.0
_LARGE = 64 * 1024  # in bytes: to copy more than this costs more than a second piece


class KeptAnswers:
    """Knows which answers are still good, and puts in what changes with each.

    Args:
        backend: The view that tells when they end.
        writer: Of the header lines of the current second.
    """

    def __init__(self, backend: Backend, writer: AnswerWriter, limits: CacheLimits) -> None:
        self._backend = backend
        self._writer = writer
        self._cache = ResponseCache(limits)

    def find(self, request: Request, query: Query, sight: str) -> Kept | None:
        """Answer that is kept for such a read, if it is still good.

        Args:
            sight: Of the viewer who asks: answers on applications are for those with the same.
        """
        key = self._key(request, query, sight)
        kept = None if key is None else self._cache.find(key)
        if key is None or kept is None:
            return None
        view, now_s = self._backend.view, self._backend.clock.now_s()
        is_good = (
            kept.version == view.version(kept.part) and kept.good_until_s > now_s and kept.missing == view.late(now_s)
        )
        if not is_good:
            self._cache.drop(key)
        return kept if is_good else None

    def keep(self, call: Call, outcome: Outcome, answer: Answer, version: int) -> None:
        """Keep an answer, less the header lines that change with each.

        Args:
            version: Of the outcome's part when it was begun.
        """
        sight = call.viewer.sight
        key = self._key(call.request, call.query, sight)
        if outcome.part is None or outcome.document.status != _OK or key is None:
            return
        good_until_s = outcome.good_until_s
        if sight and outcome.part is Part.APPLICATIONS:  # rights may change though applications do not
            good_until_s = min(good_until_s, self._backend.clock.now_s() + _RIGHTS_S)
        opening = len(self._writer.opening()) + len(SAFETY)
        kept = Kept(
            part=outcome.part,
            version=version,
            missing=outcome.freshness.missing,
            good_until_s=good_until_s,
            as_of_s=outcome.freshness.as_of_s if outcome.is_single else None,
            headers=tuple(line for line in answer.headers[opening:] if line[0] not in _OF_EACH),
            body=answer.body,
        )
        self._cache.keep(key, kept)

    def _key(self, request: Request, query: Query, sight: str) -> CacheKey | None:
        backend = self._backend
        content = query.content
        # where clocks differ, a bound means another time in each sub-cluster; of what is hidden nobody knows the times
        if not sight and has_time_bounds(content) and not trusted_skews(backend.skews_ms()):
            content = canonical_content(content, backend.view.applications.columns)
        return cache_key(request, content, "" if request.raw_path.startswith(_FOR_ALL) else sight)

    def as_it_goes_out(self, kept: Kept, request_id: str, cookie: str | None) -> Sequence[bytes]:
        """Status line, headers and body, in one piece or in two."""
        if not kept.head:
            length = f"Content-Length: {len(kept.body)}\r\n\r\n"
            kept.head = rendered_headers(kept.headers) + length.encode()
        own = f"Heddle-As-Of: {self._as_of(kept)}\r\nX-Request-Id: {request_id}\r\n"
        if cookie is not None:
            own += f"Set-Cookie: {cookie}\r\n"
        head = b"".join((_STATUS_LINE, self._writer.rendered_opening(), own.encode(), kept.head))
        return (head, kept.body) if len(kept.body) > _LARGE else (head + kept.body,)

    def as_answer(self, kept: Kept, request_id: str, cookie: str | None) -> Answer:
        """The same for whoever waited for his turn while it was made for another."""
        own: Headers = (("Heddle-As-Of", self._as_of(kept)), ("X-Request-Id", request_id))
        named: Headers = (("Set-Cookie", cookie),) if cookie is not None else ()
        return Answer(_OK, (*self._writer.opening(), *SAFETY, *own, *named, *kept.headers), kept.body)

    def _as_of(self, kept: Kept) -> str:
        as_of_s = self._backend.as_of_s(kept.part, kept.missing) if kept.as_of_s is None else kept.as_of_s
        return instant(as_of_s)
