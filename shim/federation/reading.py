"""Reading applications: from what is known if that is young enough, else from their homes, once for all who ask.

Nobody waits for a sub-cluster that is known not to answer: what was last known of its applications is given at once,
and the sub-cluster is named as missing. Where access lists are on, what one user may see is asked for as that user and
shown to nobody else (`guarded_reading`).

Applications of sub-clusters with access lists: asked for as the user who wants to see them, and kept for that user.

A ResourceManager with `yarn.acl.enable` blanks fields, or leaves out rows, by who asks. What Heddle's own user sees
there serves to decide (homes, states), never to answer.
"""

import asyncio
import itertools
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from shim.concurrency.single_flight import SingleFlight
from shim.domain.access_lists import Viewer
from shim.domain.application_columns import ApplicationColumns, Mask, Rows
from shim.domain.applications import SPAN_TAG, ApplicationSummary, FinalStatus, YarnApplicationState
from shim.domain.ids import ApplicationId, MalformedIdError, SubClusterId
from shim.domain.subclusters import ApplicationDocument, HaState
from shim.domain.submissions import NOWHERE, Submission, SubmissionRecord, SubmissionState
from shim.errors import HomeUnreachableError, NotFoundError, ResourceManagerError, StoreUnavailableError
from shim.federation import rm_questions as ask
from shim.federation.application_access import ApplicationAccess
from shim.federation.application_acls import ApplicationACLBook
from shim.federation.core.federation_view import FederationView, Part, find_queue
from shim.federation.freshness import Freshness, freshness_of
from shim.federation.unplaced import unplaced_document
from shim.ports.clock import Clock
from shim.ports.resource_manager import ResourceManager
from shim.ports.state_store import StateStore
from shim.protocol.rest.documents import read_info, submitted_document

# Answers of reads of applications, and the limits that they keep to.


@dataclass(frozen=True, slots=True)
class ReadingSettings:
    """Limits of age and time for reads.

    Attributes:
        staleness_s: A live document that was asked for longer ago is asked for again.
        answer_within_s: Nobody waits longer for a sub-cluster.
        guarded: Sub-clusters with `yarn.acl.enable`: what they tell depends on who asks, so nothing that one user
            read there is shown to another.
    """

    staleness_s: float
    answer_within_s: float
    guarded: frozenset[SubClusterId] = frozenset()


@dataclass(frozen=True, slots=True)
class ApplicationRead:
    """One application, and how old that is."""

    document: ApplicationDocument
    freshness: Freshness


@dataclass(frozen=True, slots=True)
class ApplicationsRead:
    """Every application, that started last first, and how old the list is.

    Attributes:
        version: The same number means the same documents: answers made of them may be kept under it.
    """

    documents: Sequence[ApplicationDocument]
    version: int
    freshness: Freshness


@dataclass(frozen=True, slots=True)
class ColumnsRead:
    """Every application by column, and how old that is; to be used before anything is waited for.

    Attributes:
        visible: The rows that the viewer may see; None for all.
    """

    columns: ApplicationColumns
    freshness: Freshness
    access: ApplicationAccess
    visible: Mask | None = None

    def raws(self, rows: Rows) -> Iterator[bytes]:
        """The JSON objects of rows as the viewer sees them, in their order."""
        raws = self.columns.raws(rows)
        if self.visible is None:
            return raws
        hide, is_seen = self.access.hidden_raw, self.visible[rows].tolist()
        return (raw if seen else hide(raw) for raw, seen in zip(raws, is_seen, strict=True))


_MOST_FETCHES = 32
_DEFAULT_QUEUE = "default"


class ApplicationReading:
    """Use cases that read applications."""

    def __init__(
        self,
        view: FederationView,
        managers: Mapping[SubClusterId, ResourceManager],
        store: StateStore,
        clock: Clock,
        settings: ReadingSettings,
        access: ApplicationAccess | None = None,
    ) -> None:
        """Read through `view`, which polls keep; without `access` everybody sees everything."""
        self.access = access or ApplicationAccess(ApplicationACLBook(view, store, clock), view)
        self._view = view
        self._managers = managers
        self._store = store
        self._clock = clock
        self._settings = settings
        self._flights: SingleFlight[tuple[ApplicationId, float | None], ApplicationDocument | None] = SingleFlight()
        self._guarded = GuardedReading(
            {name: managers[name] for name in managers if name in settings.guarded},
            clock,
            staleness_s=settings.staleness_s,
            timeout_s=settings.answer_within_s,
        )

    async def application(self, application_id: ApplicationId, *, viewer: Viewer) -> ApplicationRead:
        """The document of one application, no older than the staleness bound if its home answers in time.

        Args:
            viewer: Who asks; matters where access lists are on.

        Raises:
            NotFoundError: Nobody knows it.
            HomeUnreachableError: It may exist at a sub-cluster that does not answer, and nothing is known of it.
        """
        read = await self._read(application_id, viewer)
        return read if viewer.sees_all else replace(read, document=self.access.shown(read.document, viewer))

    async def _read(self, application_id: ApplicationId, viewer: Viewer) -> ApplicationRead:
        known = self._view.applications.find(application_id)
        if known is None:
            known = await self._discover(application_id)
        home = known.summary.home_subcluster
        if self._view.applications.is_waiting(application_id):
            return ApplicationRead(known, Freshness(self._clock.now_s()))
        if home in self._settings.guarded and not self._view.applications.is_synthetic(application_id):
            return await self._guarded_application(application_id, home, viewer.user)
        if known.summary.state.is_final:
            return ApplicationRead(known, Freshness(self._clock.now_s()))
        if self._is_young(known):
            return ApplicationRead(known, Freshness(known.as_of_s))
        return await self._refreshed(known)

    async def applications(self, *, viewer: Viewer) -> ApplicationsRead:
        """Every application of every sub-cluster as a viewer sees it, own writes included."""
        read = await self._read_all(viewer)
        return read if viewer.sees_all else replace(read, documents=self.access.all_shown(read.documents, viewer))

    async def _read_all(self, viewer: Viewer) -> ApplicationsRead:
        await self._fetch_written()
        freshness = freshness_of(self._view, Part.APPLICATIONS, self._clock.now_s())
        documents, version = self._view.applications.newest_first(), self._view.version(Part.APPLICATIONS)
        if not self._settings.guarded:
            return ApplicationsRead(documents, version, freshness)
        return await self._guarded_applications(documents, version, freshness, viewer.user)

    async def columns(self, viewer: Viewer) -> ColumnsRead | None:
        """Every application by column; None where sub-clusters have to be asked as the viewer."""
        if self._settings.guarded:
            return None
        await self._fetch_written()
        now_s = self._clock.now_s()
        freshness = freshness_of(self._view, Part.APPLICATIONS, now_s)
        return ColumnsRead(self._view.applications.columns, freshness, self.access, self.access.visible(viewer))

    @property
    def are_lists_at_hand(self) -> bool:
        """True if a list needs no question to a sub-cluster now."""
        return not self._settings.guarded and not self._due()

    def is_at_hand(self, text: str) -> bool:
        """True if the document of the application with this id needs no question to a sub-cluster now."""
        try:
            known = self._view.applications.find(ApplicationId.parse(text))
        except MalformedIdError:
            return False
        if known is None or known.summary.home_subcluster in self._settings.guarded:
            return False
        return known.summary.state.is_final or self._is_young(known)

    def is_guarded(self, home: SubClusterId) -> bool:
        """True if a sub-cluster's document of an application depends on who asks."""
        return home in self._settings.guarded

    def mark_submitted(self, submission: Submission, home: SubClusterId) -> None:
        self.access.book.note(submission.application_id, submission.acls)
        if home == NOWHERE:
            return  # it waits at another Heddle, and is listed when the store tells of it
        now_s = self._clock.now_s()
        asked = submission.queue or _DEFAULT_QUEUE
        queue = find_queue(self._view.look(home, now_s), asked)
        has_waited = self._view.applications.is_waiting(submission.application_id)
        summary = ApplicationSummary(
            application_id=submission.application_id,
            home_subcluster=home,
            user=submission.user,
            name=submission.name,
            queue=queue.path if queue is not None and queue.is_leaf else asked,
            state=YarnApplicationState.ACCEPTED if has_waited else YarnApplicationState.SUBMITTED,
            final_status=FinalStatus.UNDEFINED,
            application_type=submission.application_type,
            tags=submission.tags,
            started_at_ms=self._view.applications.submit_times.known.get(submission.application_id, int(now_s * 1000)),
        )
        self._view.applications.submit(submitted_document(summary, now_s, is_unmanaged=submission.is_unmanaged))

    def mark_written(self, application_id: ApplicationId) -> None:
        """Note a change of an application: the next read of it, alone or in a list, fetches it first."""
        self._view.applications.write(application_id, at_s=self._clock.now_s())
        self._guarded.mark_written(application_id)

    # ------------------------------------------------------------------ one application

    def _is_young(self, document: ApplicationDocument) -> bool:
        application_id = document.summary.application_id
        if self._view.applications.is_outdated(application_id) or self._view.applications.is_synthetic(application_id):
            return False
        return self._clock.now_s() - document.as_of_s <= self._settings.staleness_s

    async def _refreshed(self, known: ApplicationDocument) -> ApplicationRead:
        """A live document, asked for again unless its home is known not to answer."""
        application_id, home = known.summary.application_id, known.summary.home_subcluster
        missing: tuple[SubClusterId, ...] = ()
        try:
            await self._fetch(application_id, home)
        except ResourceManagerError:
            missing = (home,)
        stands = self._view.applications.find(application_id)
        if stands is None:
            raise _not_found(application_id)
        as_of_s = self._clock.now_s() if stands.summary.state.is_final else stands.as_of_s
        return ApplicationRead(stands, Freshness(as_of_s, missing))

    async def _fetch(self, application_id: ApplicationId, home: SubClusterId) -> ApplicationDocument | None:
        """Ask a home for a document, and tell the view.

        Raises:
            ResourceManagerError: If it does not say, or what it says may not be believed.
        """
        if home in self._view.late(self._clock.now_s()):
            raise ResourceManagerError(home, "did not answer the last poll")
        key = (
            application_id,
            self._view.applications.written_at_s(application_id),
        )  # not one that began before a write
        return await self._flights.do(key, lambda: self._ask(application_id, home))

    async def _ask(self, application_id: ApplicationId, home: SubClusterId) -> ApplicationDocument | None:
        as_of_s = self._clock.now_s()
        manager, timeout_s = self._managers[home], self._settings.answer_within_s
        document = await ask.ask_application(manager, application_id, as_of_s=as_of_s, timeout_s=timeout_s)
        if document is not None:
            self._view.applications.note(document)
        elif self._view.applications.find(application_id) is not None:
            spent_s = self._clock.now_s() - as_of_s
            await self._confirm_life(home, timeout_s=max(0.1, timeout_s - spent_s))
            self._view.applications.forget(application_id, home, as_of_s=as_of_s)
        return document

    async def _confirm_life(self, home: SubClusterId, *, timeout_s: float) -> None:
        """A ResourceManager that has just started knows nothing yet: its 404 counts only if it was there all the time.

        Raises:
            ResourceManagerError: If it was not.
        """
        answer = await ask.ask_part(self._managers[home], Part.INFO, timeout_s=timeout_s)
        with ask.readable(home):
            info = read_info(answer.body)
        seen = self._view.look(home, self._clock.now_s())
        if info.ha_state is not HaState.ACTIVE or info.started_on_ms != seen.started_on_ms:
            raise ResourceManagerError(home, "has just restarted, and may not know its applications yet")

    # ------------------------------------------------------------------ an application that nobody told of

    async def _discover(self, application_id: ApplicationId) -> ApplicationDocument:
        """Ask the home that the store knows, else everybody.

        Raises:
            NotFoundError: Nobody knows it.
            HomeUnreachableError: A sub-cluster that might know it does not answer.
        """
        record = await self._record_in_store(application_id)
        if record is not None and (record.home_subcluster == NOWHERE or record.state is SubmissionState.LOST):
            return self._note_unplaced(record)
        asked = self._view.subclusters if record is None else (record.home_subcluster,)
        outcomes = await asyncio.gather(*(self._ask_quietly(application_id, subcluster) for subcluster in asked))
        found = self._view.applications.find(application_id)
        if found is not None:
            return found
        silent = [subcluster for subcluster, knows in zip(asked, outcomes, strict=True) if not knows]
        if silent:
            names = ", ".join(silent)
            raise HomeUnreachableError(
                f"application {application_id} is not known here, and {names} cannot be asked now; try again"
            )
        raise _not_found(application_id)

    async def _ask_quietly(self, application_id: ApplicationId, subcluster: SubClusterId) -> bool:
        if subcluster in self._view.late(self._clock.now_s()):
            return False
        as_of_s, timeout_s = self._clock.now_s(), self._settings.answer_within_s
        manager = self._managers[subcluster]
        try:
            document = await ask.ask_application(manager, application_id, as_of_s=as_of_s, timeout_s=timeout_s)
        except ResourceManagerError:
            return False
        if document is not None:
            self._view.applications.note(document)
        return True

    async def _record_in_store(self, application_id: ApplicationId) -> SubmissionRecord | None:
        try:
            record = await self._store.find(application_id)
        except StoreUnavailableError:
            return None  # reads go on; every sub-cluster is asked instead
        if record is None or record.state is SubmissionState.LOST:
            return record
        if record.home_subcluster not in (NOWHERE, *self._managers):
            return None
        return record

    def _note_unplaced(self, record: SubmissionRecord) -> ApplicationDocument:
        """An application that waits, was ended while it did, or was lost: only the store knows of it."""
        document = unplaced_document(record, record.rejection or record.decision.reason, self._clock.now_s())
        if document.summary.state.is_final:
            self._view.applications.note(document)
        else:
            self._view.applications.wait(document)
        return document

    # ------------------------------------------------------------------ lists

    async def _fetch_written(self) -> None:
        """Ask for what was written since it was told, newest first and not all at once if it is very much."""
        due = self._due()
        if due:
            asked = (self._fetch(application_id, home) for application_id, home in due[:_MOST_FETCHES])
            await asyncio.gather(*asked, return_exceptions=True)

    def _due(self) -> list[tuple[ApplicationId, SubClusterId]]:
        """Applications that were written since they were told, and may be asked for at present; newest first."""
        outdated = self._view.applications.outdated
        if not outdated:
            return []
        late, forgotten = self._view.late(self._clock.now_s()), self._view.applications.forgotten
        return [
            (application_id, home)
            for application_id in sorted(outdated, reverse=True)
            if (home := self._view.applications.home_of(application_id)) is not None
            and home not in late
            and application_id not in forgotten
        ]

    # ------------------------------------------------------------------ where access lists are on

    async def _guarded_application(
        self, application_id: ApplicationId, home: SubClusterId, viewer: str
    ) -> ApplicationRead:
        is_late = home in self._view.late(self._clock.now_s())
        document, is_fresh = await self._guarded.application(home, application_id, viewer, is_late=is_late)
        document = None if document is None else self._view.applications.submit_times.corrected(document)
        if document is None and is_fresh:
            raise _not_found(application_id)
        if document is None:
            raise HomeUnreachableError(f"{home}, the home of {application_id}, does not answer now; try again")
        whole = self._view.applications.with_account(document)
        return ApplicationRead(whole, Freshness(document.as_of_s, () if is_fresh else (home,)))

    async def _guarded_applications(
        self, documents: Sequence[ApplicationDocument], version: int, freshness: Freshness, viewer: str
    ) -> ApplicationsRead:
        late = self._view.late(self._clock.now_s())
        seen, missing = await self._guarded.applications(viewer, late=late)
        joined = [
            document
            for document in documents
            if document.summary.home_subcluster not in self._settings.guarded
            or self._view.applications.is_synthetic(document.summary.application_id)
        ]
        joined.extend(
            self._view.applications.with_account(self._view.applications.submit_times.corrected(each)) for each in seen
        )
        joined.sort(
            key=lambda document: (document.summary.started_at_ms, document.summary.application_id), reverse=True
        )
        named = tuple(name for name in self._view.subclusters if name in {*freshness.missing, *missing})
        as_of_s = min([freshness.as_of_s, *(document.as_of_s for document in seen)])
        return ApplicationsRead(joined, self._guarded.version(viewer, version), Freshness(as_of_s, named))


def _not_found(application_id: ApplicationId) -> NotFoundError:
    return NotFoundError(f"app with id: {application_id} not found")


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
            self._documents.put((viewer, application_id), document, len(document.told))
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
        self._lists.put((viewer, subcluster), found, sum(len(each.told) for each in found.documents))
        return found
