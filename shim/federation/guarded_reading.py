"""Applications of sub-clusters with access lists: asked for as the user who wants to see them, and kept for that user.

A ResourceManager with `yarn.acl.enable` blanks fields, or leaves out rows, by who asks. What Heddle's own user sees
there serves to decide (homes, states), never to answer.
"""

import itertools
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from shim.concurrency.single_flight import SingleFlight
from shim.domain.applications import SPAN_TAG
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import ApplicationDocument
from shim.errors import ResourceManagerError
from shim.federation import rm_questions as ask
from shim.ports.clock import Clock
from shim.ports.resource_manager import ResourceManager

__all__ = ["GuardedReading"]

K = TypeVar("K")
V = TypeVar("V")

_MOST_DOCUMENTS = 10_000
_MOST_LISTS = 64
_MOST_BYTES = 64 * 1024 * 1024
_FIRST_VERSION = 1 << 48  # above every version of the view: no answer of one viewer is kept for another


@dataclass(frozen=True, slots=True)
class _List:
    """List of one sub-cluster as one user saw it."""

    documents: tuple[ApplicationDocument, ...]
    as_of_s: float


class _Recent(Generic[K, V]):
    """The values that were used last, at most so many, and at most so many bytes: viewers and names are made up."""

    def __init__(self, most: int, most_bytes: int = _MOST_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        found = self._values.get(key)
        if found is None:
            return None
        self._values.move_to_end(key)
        return found[0]

    def put(self, key: K, value: V, size: int = 0) -> None:
        """Keep a value of so many bytes; the newest stays, whatever its size."""
        if key in self._values:
            self._bytes -= self._values.pop(key)[1]
        self._values[key] = value, size
        self._bytes += size
        while len(self._values) > self._most or (self._bytes > self._most_bytes and len(self._values) > 1):
            _, (_, gone) = self._values.popitem(last=False)
            self._bytes -= gone


class GuardedReading:
    """Applications of guarded sub-clusters, for each viewer apart."""

    def __init__(
        self,
        managers: Mapping[SubClusterId, ResourceManager],
        clock: Clock,
        *,
        staleness_s: float,
        timeout_s: float,
    ) -> None:
        """Ask `managers` as the viewers; keep at most 10,000 documents and 64 lists."""
        self._managers = managers
        self._clock = clock
        self._staleness_s = staleness_s
        self._timeout_s = timeout_s
        self._documents: _Recent[tuple[str, ApplicationId], ApplicationDocument] = _Recent(_MOST_DOCUMENTS)
        self._lists: _Recent[tuple[str, SubClusterId], _List] = _Recent(_MOST_LISTS)
        self._written: _Recent[ApplicationId, float] = _Recent(_MOST_DOCUMENTS)
        self._last_write_s = float("-inf")
        self._document_flights: SingleFlight[tuple[str, ApplicationId, float], ApplicationDocument | None] = (
            SingleFlight()
        )
        self._list_flights: SingleFlight[tuple[str, SubClusterId, float], _List] = SingleFlight()
        self._versions: _Recent[tuple[object, ...], int] = _Recent(_MOST_LISTS)
        self._numbers = itertools.count(_FIRST_VERSION)

    def mark_written(self, application_id: ApplicationId) -> None:
        """Mark everything that was asked for before now as out of date."""
        self._last_write_s = self._clock.now_s()
        self._written.put(application_id, self._last_write_s)

    async def application(
        self, subcluster: SubClusterId, application_id: ApplicationId, viewer: str, *, is_late: bool
    ) -> tuple[ApplicationDocument | None, bool]:
        """Document of an application as `viewer` may see it, and True if it is as fresh as it should be.

        None and fresh means that it is not known there; None and not fresh, that nobody can say now.
        """
        key = (viewer, application_id)
        kept = self._documents.get(key)
        if kept is not None and self._is_good(kept):
            return kept, True
        if is_late:
            return kept, False
        try:
            flight = (*key, self._written.get(application_id) or 0.0)  # not one that began before a write
            document = await self._document_flights.do(flight, lambda: self._ask(subcluster, application_id, viewer))
        except ResourceManagerError:
            return kept, False
        return document, True

    async def applications(
        self, viewer: str, *, late: Iterable[SubClusterId]
    ) -> tuple[list[ApplicationDocument], tuple[SubClusterId, ...]]:
        """Documents of every guarded sub-cluster as `viewer` may see them, and those that could not be asked."""
        seen: list[ApplicationDocument] = []
        missing: list[SubClusterId] = []
        silent = frozenset(late)
        for subcluster in self._managers:
            kept = self._lists.get((viewer, subcluster))
            if kept is None or not self._is_young(kept.as_of_s, since_write_s=self._last_write_s):
                kept = kept if subcluster in silent else await self._list(subcluster, viewer) or kept
            if kept is None or not self._is_young(kept.as_of_s, since_write_s=float("-inf")):
                missing.append(subcluster)
            seen.extend(kept.documents if kept is not None else ())
        return seen, tuple(missing)

    def version(self, viewer: str, view_version: int) -> int:
        """A number that no other viewer, list or version of the view has."""
        lists = (self._lists.get((viewer, subcluster)) for subcluster in self._managers)
        key = (viewer, view_version, *(kept.as_of_s if kept is not None else None for kept in lists))
        number = self._versions.get(key)
        if number is None:
            number = next(self._numbers)
            self._versions.put(key, number)
        return number

    def _is_good(self, document: ApplicationDocument) -> bool:
        written_s = self._written.get(document.summary.application_id)
        if document.summary.state.is_final:
            return True
        return self._is_young(document.as_of_s, since_write_s=float("-inf") if written_s is None else written_s)

    def _is_young(self, as_of_s: float, *, since_write_s: float) -> bool:
        return as_of_s >= since_write_s and self._clock.now_s() - as_of_s <= self._staleness_s

    async def _ask(
        self, subcluster: SubClusterId, application_id: ApplicationId, viewer: str
    ) -> ApplicationDocument | None:
        document = await ask.ask_application(
            self._managers[subcluster],
            application_id,
            as_of_s=self._clock.now_s(),
            timeout_s=self._timeout_s,
            viewer=viewer,
        )
        if document is not None:
            self._documents.put((viewer, application_id), document, len(document.raw))
        return document

    async def _list(self, subcluster: SubClusterId, viewer: str) -> _List | None:
        key = (viewer, subcluster, self._last_write_s)
        try:
            return await self._list_flights.do(key, lambda: self._ask_list(subcluster, viewer))
        except ResourceManagerError:
            return None

    async def _ask_list(self, subcluster: SubClusterId, viewer: str) -> _List:
        as_of_s = self._clock.now_s()
        documents = await ask.ask_applications(
            self._managers[subcluster], (), as_of_s=as_of_s, timeout_s=self._timeout_s, viewer=viewer
        )
        own = (document for document in documents.values() if SPAN_TAG not in document.summary.tags)
        found = _List(tuple(own), as_of_s)
        self._lists.put((viewer, subcluster), found, sum(len(each.raw) for each in found.documents))
        return found
