"""Merged answers, kept as bytes until what they tell of may have changed: the rule of the web services' cache.

An answer is good while the view's part that it tells of has the version that it had when the sub-clusters were asked,
while the same sub-clusters are late, and no longer than the staleness bound. A change made through Heddle ends it at
once: that counts the version up.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from shim.domain.ids import SubClusterId
from shim.global_master.federation_view import FederationView, Part
from shim.ports.clock import Clock
from shim.protocol.hrpc import Call, Failure
from shim.services.single_flight import SingleFlight

__all__ = ["KeptAnswers", "Merged"]

_MOST_ENTRIES = 256
_MOST_BYTES = 32 * 1024 * 1024
_LONGEST_REQUEST = 1024  # in bytes: a longer one is asked anew each time

_Key = tuple[str, bytes]
_Standing = tuple[int, tuple[SubClusterId, ...]]


@dataclass(frozen=True, slots=True)
class Merged:
    """What the sub-clusters' answers were made into.

    Attributes:
        missing: Whose answer is not in it.
    """

    answer: bytes | Failure
    missing: frozenset[SubClusterId]


@dataclass(frozen=True, slots=True)
class _Kept:
    part: Part
    standing: _Standing
    good_until_s: float
    answer: bytes


class KeptAnswers:
    """Answers that are the same for every caller; bounded by number and by bytes.

    Args:
        view: Tells when they end.
        clock: Tells how old they are.
        staleness_s: How long after the sub-clusters were asked an answer may be given; 0 keeps none.
    """

    def __init__(self, view: FederationView, clock: Clock, *, staleness_s: float) -> None:
        self._view = view
        self._clock = clock
        self._staleness_s = staleness_s
        self._entries: OrderedDict[_Key, _Kept] = OrderedDict()
        self._bytes = 0
        self._flights: SingleFlight[tuple[_Key, _Standing], Merged] = SingleFlight()

    def find(self, call: Call) -> bytes | None:
        """The answer that is kept for such a call, if it is still good."""
        key = (call.method, call.payload_untrusted or b"")
        kept = self._entries.get(key)
        if kept is None:
            return None
        now_s = self._clock.now_s()
        if kept.good_until_s <= now_s or kept.standing != self._standing(kept.part, now_s):
            self._drop(key)
            return None
        return kept.answer

    async def ask(self, call: Call, part: Part, ask: Callable[[], Awaitable[Merged]]) -> bytes | Failure:
        """The answer of `ask`, kept; who asks the same meanwhile gets the same one.

        Args:
            call: What is asked.
            part: What of the sub-clusters the answer tells of.
            ask: Asks them, and merges.
        """
        asked_at_s = self._clock.now_s()
        key = (call.method, call.payload_untrusted or b"")
        standing = self._standing(part, asked_at_s)
        merged = await self._flights.do((key, standing), ask)
        is_whole = merged.missing == frozenset(standing[1])
        if is_whole and isinstance(merged.answer, bytes) and len(key[1]) <= _LONGEST_REQUEST:
            self._keep(key, _Kept(part, standing, asked_at_s + self._staleness_s, merged.answer))
        return merged.answer

    def _standing(self, part: Part, now_s: float) -> _Standing:
        return self._view.version(part), self._view.late(now_s)

    def _keep(self, key: _Key, kept: _Kept) -> None:
        self._drop(key)
        self._entries[key] = kept
        self._bytes += len(kept.answer)
        while len(self._entries) > _MOST_ENTRIES or self._bytes > _MOST_BYTES:
            self._drop(next(iter(self._entries)))

    def _drop(self, key: _Key) -> None:
        kept = self._entries.pop(key, None)
        if kept is not None:
            self._bytes -= len(kept.answer)
