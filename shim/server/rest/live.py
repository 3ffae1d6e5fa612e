"""Documents of Heddle's web services as they change: server-sent events, for consoles.

    GET /heddle/v1/live?watch=clusters&watch=apps/application_1_1/why

    event: state     data: {"watch": "clusters", "document": {...}}      whole: at first, and after a gap
    event: change    data: {"watch": "clusters", "patch": [...]}         RFC 6902, upon what was told last
    event: trouble   data: {"watch": "clusters", "message": "..."}       it cannot be read now
    event: alive     data: {}                                            nothing has changed for a while

What many watch is read once: callers with the same rights share it. Nothing is queued for a slow browser: whoever
missed a change is told the whole when it reads on. A stream ends by itself after ten minutes, so that who may see what
is asked anew; browsers come again by themselves.

Source: HTML Living Standard, section 9.2, "Server-sent events".

Differences between two JSON documents, as patches of RFC 6902; of its operations `add`, `remove` and `replace`.

Documents are what a JSON reader makes: dictionaries, lists, texts, numbers, booleans and None. Elements of lists are
compared by their places: one that is put in before others changes all of them, and the whole list may then be shorter
than the patch.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import msgspec

from shim.concurrency.off_loop import OffLoop
from shim.domain.roles import TokenScope
from shim.errors import BadRequestError, HeddleError, UnavailableError
from shim.identity.service import Caller
from shim.ports.clock import Clock
from shim.protocol.rest.queries import parse_query
from shim.server.rest.answers import DATA_POLICY, Document
from shim.server.rest.messages import Headers, Request

EVENT_STREAM: Headers = (
    ("Content-Type", "text/event-stream;charset=utf-8"),
    ("Cache-Control", "no-cache"),
    ("X-Accel-Buffering", "no"),  # gateways that keep back what is small would keep back every event
    ("X-Content-Type-Options", "nosniff"),
    DATA_POLICY,
)
FOR_ALL = frozenset({"clusters", "console/nodes", "masters", "policy", "policy/history", "queues", "shares"})
"""Addresses that answer the same to all who may read."""
FOR_ALL_WITHOUT_GUARDS = frozenset({"apps", "console/applications"})
"""Those that do where no sub-cluster guards its applications."""
_EVERY_S: Mapping[str, float] = {
    "apps": 1.0,
    "audit": 5.0,
    "clusters": 1.0,
    "console": 1.0,
    "doctor": 15.0,  # asks every ResourceManager
    "masters": 2.0,
    "policy": 10.0,
    "queues": 2.0,
    "shares": 2.0,
}
"""What may be watched, by the first word of its address; and after how long at the earliest it is read again."""
_REST = 20
"""A document that takes long to make is read at most for so great a part of the time."""
_MOST_WATCHED = 8
_MOST_DOCUMENTS = 64
"""Different documents that the streams of one user watch, those that are the same for all not counted."""
_LONGEST_WATCHED = 2048
_MOST_STREAMS = 1000
_MOST_OF_USER = 250
_LONGEST_S = 600.0
_ALIVE_S = 10.0
_SMALL = 32 * 1024
"""Bytes of a document that are read and compared in a millisecond or two; more is for the thread."""

Ask = Callable[[Request, Caller], Awaitable[Document]]
_Key = tuple[str, frozenset[TokenScope] | None, Caller | None]


@dataclass(slots=True)
class _Watched:
    """A document that somebody watches, as it was read last.

    Attributes:
        told: What was read; None before anything was, and after a failure.
        change: The event that tells what the last version changed; empty if the whole is to be told.
    """

    asked: Request
    caller: Caller
    watchers: int = 0
    version: int = 0
    told: Any = None
    body: bytes = b""
    state: bytes = b""
    change: bytes = b""
    due_s: float = float("-inf")
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)


class LiveDocuments:
    """Tells streams how documents change.

    Args:
        ask: Answers requests below the prefix, `HeddleAPI.run`.
        prefix: Of the addresses that may be watched, `/heddle/v1/`.
        thread: Compares what is large.
    """

    def __init__(
        self,
        ask: Ask,
        prefix: str,
        clock: Clock,
        *,
        is_for_all: Callable[[str], bool] = lambda _: False,
        interval_s: float = 1.0,
        thread: OffLoop | None = None,
    ) -> None:
        self._ask = ask
        self._prefix = prefix
        self._clock = clock
        self._is_for_all = is_for_all
        self._interval_s = interval_s
        self._thread = OffLoop() if thread is None else thread
        self._watched: dict[_Key, _Watched] = {}
        self._streams: Counter[str] = Counter()

    @property
    def kept(self) -> tuple[int, int]:
        """Numbers of the streams that are open and of the documents that are kept for them."""
        return self._streams.total(), len(self._watched)

    def open(self, request: Request, caller: Caller) -> AsyncGenerator[bytes, None]:
        """Begin a stream; it counts, and watches, as long as it is read.

        Raises:
            BadRequestError: Nothing is watched, too much is, or what may not be.
            UnavailableError: There are too many streams.
        """
        names = tuple(dict.fromkeys(parse_query(request.query).all("watch")))
        self._check(names)
        if self._streams.total() >= _MOST_STREAMS or self._streams[caller.user] >= _MOST_OF_USER:
            raise UnavailableError("too many consoles are open; those that nobody looks at may be closed")
        own = {key for key in (self._key(name, caller) for name in names) if key[2] is not None}
        if len(own | self._own_of(caller.user)) > _MOST_DOCUMENTS:
            raise UnavailableError(f"the consoles of {caller.user} watch {_MOST_DOCUMENTS} documents: close some")
        return self._stream(names, replace(caller, new_cookie=None), replace(request, headers=(), body=b""))

    def _own_of(self, user: str) -> set[_Key]:
        return {key for key in self._watched if key[2] is not None and key[2].user == user}

    @staticmethod
    def _check(names: Sequence[str]) -> None:
        if not 0 < len(names) <= _MOST_WATCHED:
            raise BadRequestError(f"live: name 1 to {_MOST_WATCHED} addresses below /heddle/v1/ by `watch`")
        for name in names:
            if (
                len(name) > _LONGEST_WATCHED
                or _first_word(name) not in _EVERY_S
                or not name.isprintable()
                or not name.isascii()
            ):
                choices = ", ".join(_EVERY_S)
                raise BadRequestError(f"live: {name[:100]!r} cannot be watched; what begins with {choices} can")

    async def _stream(self, names: Sequence[str], caller: Caller, request: Request) -> AsyncGenerator[bytes, None]:
        ends_s = self._clock.monotonic_s() + _LONGEST_S
        seen = dict.fromkeys(names, 0)
        self._streams[caller.user] += 1
        watched = {name: self._enter(name, caller, request) for name in names}
        try:
            spoke_s = self._clock.monotonic_s()
            while self._clock.monotonic_s() < ends_s:
                for name, document in watched.items():
                    event = await self._news(name, document, seen[name])
                    seen[name] = document.version
                    if event:
                        spoke_s = self._clock.monotonic_s()
                        yield event
                if self._clock.monotonic_s() - spoke_s >= _ALIVE_S:
                    spoke_s = self._clock.monotonic_s()
                    yield b"event: alive\ndata: {}\n\n"
                await self._clock.sleep(self._interval_s)
        finally:
            for name in names:
                self._leave(name, caller)
            self._streams[caller.user] -= 1
            self._streams += Counter()  # forgets those who have none

    def _enter(self, name: str, caller: Caller, request: Request) -> _Watched:
        path, _, query = name.partition("?")
        asked = replace(request, method="GET", raw_path=self._prefix + path, query=query)
        document = self._watched.setdefault(self._key(name, caller), _Watched(asked, caller))
        document.watchers += 1
        return document

    def _leave(self, name: str, caller: Caller) -> None:
        key = self._key(name, caller)
        document = self._watched[key]
        document.watchers -= 1
        if not document.watchers:
            del self._watched[key]

    def _key(self, name: str, caller: Caller) -> _Key:
        """Callers under one key are told the same: what an API token lets its bearer read counts for all of them."""
        return name, caller.scopes, None if self._is_for_all(name.partition("?")[0]) else caller

    async def _news(self, name: str, document: _Watched, seen: int) -> bytes:
        """The event for one who has seen a version; empty if there is nothing new."""
        async with document.reading:
            began_s = self._clock.monotonic_s()
            if began_s >= document.due_s:
                await self._read(name, document)
                now_s = self._clock.monotonic_s()
                # half a look sooner: streams look one after another, and not to the millisecond
                pause_s = _EVERY_S[_first_word(name)] - self._interval_s / 2
                document.due_s = now_s + max(pause_s, _REST * (now_s - began_s))
        if document.version == seen:
            return b""
        return document.change if document.change and document.version == seen + 1 else document.state

    async def _read(self, name: str, document: _Watched) -> None:
        try:
            body = (await self._ask(document.asked, document.caller)).body
        except HeddleError as exc:
            event = _event("trouble", {"watch": name, "message": str(exc)})
            if event != document.state:
                document.state, document.change = event, b""
                document.version += 1
            document.body = b""
            return
        if body == document.body:
            return
        compare = partial(_compared, name, document.told if document.body else None, body)
        is_large = len(body) > _SMALL
        news = await self._thread.run_in_turn(document.caller.user, compare) if is_large else compare()
        document.told, document.state, document.change = news
        document.version += 1
        document.body = body


def _compared(name: str, before: Any, body: bytes) -> tuple[Any, bytes, bytes]:
    """A document, the event that tells it whole, and the one that tells what changed if that is shorter."""
    told = msgspec.json.decode(body)
    whole = _event("state", {"watch": name, "document": told})
    patch = b"" if before is None else _event("change", {"watch": name, "patch": patch_of(before, told)})
    return told, whole, patch if len(patch) < len(whole) else b""


def _first_word(name: str) -> str:
    return name.partition("?")[0].partition("/")[0]


def _event(kind: str, data: Any) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), msgspec.json.encode(data))


Operation = dict[str, Any]
_MISSING = object()


def patch_of(before: Any, after: Any) -> list[Operation]:
    """Make the operations that turn one document into another, in the order in which they are to be done.

    Args:
        before: A document, at most as deep as the interpreter's stack allows: what Heddle itself has written.

    Returns:
        None at all for documents that say the same.
    """
    return list(_operations(before, after, ""))


def _operations(before: Any, after: Any, at: str) -> Iterator[Operation]:
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _of_members(before, after, at)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _of_elements(before, after, at)
    elif type(before) is not type(after) or before != after:  # 1, 1.0 and true are three values
        yield {"op": "replace", "path": at, "value": after}


def _of_members(before: dict[str, Any], after: dict[str, Any], at: str) -> Iterator[Operation]:
    for name in before.keys() - after.keys():
        yield {"op": "remove", "path": f"{at}/{_escaped(name)}"}
    for name, value in after.items():
        place = f"{at}/{_escaped(name)}"
        known = before.get(name, _MISSING)
        if known is _MISSING:
            yield {"op": "add", "path": place, "value": value}
        else:
            yield from _operations(known, value, place)


def _of_elements(before: list[Any], after: list[Any], at: str) -> Iterator[Operation]:
    for number, (old, new) in enumerate(zip(before, after, strict=False)):
        yield from _operations(old, new, f"{at}/{number}")
    for number in range(len(before) - 1, len(after) - 1, -1):  # from the end: places before it stay
        yield {"op": "remove", "path": f"{at}/{number}"}
    for value in after[len(before) :]:
        yield {"op": "add", "path": f"{at}/-", "value": value}


def _escaped(name: str) -> str:
    """A member's name as RFC 6901, section 3, writes it."""
    return name.replace("~", "~0").replace("/", "~1")
