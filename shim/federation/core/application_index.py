"""Every application that is known, whoever told of it and in whatever order.

Of two documents of one application the later one stands, and one in a final state stands for ever. Of two sub-clusters
that know one id, its home stands; without one, the first in the configured order. Both are total orders, so what is
known in the end does not depend on the order in which it came in.

True submit times of applications that waited in Heddle.

Their home counts from the moment at which their turn came; lists, filters and reports go by what the client did.
"""

import re
from collections import Counter, OrderedDict, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from shim.domain.application_columns import ApplicationColumns
from shim.domain.applications import SPAN_TAG
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import ApplicationDocument
from shim.domain.told_bounds import LONGEST_DOCUMENT, MOST_APPLICATIONS, MOST_LIVE_BYTES
from shim.domain.usage import Life
from shim.federation.core.account_book import AccountBook, NoUsage


class ApplicationIndex:
    """Documents by application id, with what the federation itself knows of them: homes and own writes.

    Attributes:
        submit_times: Of applications that waited: documents tell when they were submitted, not when their homes got
            them.
    """

    def __init__(
        self, subclusters: Sequence[SubClusterId], most_finals: int, accounts: AccountBook | None = None
    ) -> None:
        """Start empty.

        Args:
            subclusters: In the configured order.
            most_finals: How many documents in a final state are kept.
            accounts: Of applications that use more than their homes; None to show what homes tell alone.
        """
        self._accounts = accounts if accounts is not None else AccountBook(NoUsage())
        self.submit_times = SubmitTimes()
        self._bare: dict[ApplicationId, ApplicationDocument] = {}
        self._rm_started_ms: dict[SubClusterId, int] = {}
        self._rank = {subcluster: rank for rank, subcluster in enumerate(subclusters)}
        self._most_finals = most_finals
        self._documents: dict[ApplicationId, ApplicationDocument] = {}
        self._columns = ApplicationColumns()  # of the same documents: see `_put` and `remove`
        self._live: dict[SubClusterId, set[ApplicationId]] = {subcluster: set() for subcluster in subclusters}
        self._live_bytes: Counter[SubClusterId] = Counter()
        self._finals: deque[ApplicationId] = deque()
        self._homes: dict[ApplicationId, SubClusterId] = {}
        self._synthetic: set[ApplicationId] = set()
        self._waiting: set[ApplicationId] = set()
        self._forgotten: dict[ApplicationId, SubClusterId] = {}
        self._written: dict[ApplicationId, float] = {}
        self._disowned: set[ApplicationId] = set()
        self._version = 1
        self._has_listed = False
        self._sorted: tuple[int, tuple[ApplicationDocument, ...]] = (0, ())

    @property
    def version(self) -> int:
        """Changes whenever an answer made of the documents could change."""
        return self._version

    @property
    def forgotten(self) -> Mapping[ApplicationId, SubClusterId]:
        """Applications of the federation, never seen final, that their active home does not know."""
        return dict(self._forgotten)

    @property
    def outdated(self) -> tuple[ApplicationId, ...]:
        return tuple(self._written)

    def find(self, application_id: ApplicationId) -> ApplicationDocument | None:
        return self._documents.get(application_id)

    def home_of(self, application_id: ApplicationId) -> SubClusterId | None:
        """Home of an application as submitted through the federation, else the sub-cluster where it was seen."""
        document = self._documents.get(application_id)
        seen = None if document is None else document.summary.home_subcluster
        return self._homes.get(application_id, seen)

    def is_synthetic(self, application_id: ApplicationId) -> bool:
        """True if the document is that of `submit`: its home has not told of it yet."""
        return application_id in self._synthetic

    @property
    def waiting(self) -> frozenset[ApplicationId]:
        """Applications that have no home yet: the document is that of `wait`."""
        return frozenset(self._waiting)

    def is_waiting(self, application_id: ApplicationId) -> bool:
        return application_id in self._waiting

    def written_at_s(self, application_id: ApplicationId) -> float | None:
        """Time of the last change, if no document from after that is known."""
        return self._written.get(application_id)

    def is_outdated(self, application_id: ApplicationId) -> bool:
        return application_id in self._written

    def live(self, subcluster: SubClusterId) -> frozenset[ApplicationId]:
        """Applications of a sub-cluster whose document is not final; none that only the federation tells of."""
        return frozenset(self._live[subcluster])

    def count_live(self, subcluster: SubClusterId) -> int:
        return len(self._live[subcluster])

    def unfinished(self) -> list[ApplicationDocument]:
        """Documents of all that live, and of those that only the federation tells of; none that wait."""
        ids = set().union(*self._live.values(), self._synthetic) - self._waiting
        return [self._documents[application_id] for application_id in sorted(ids)]

    def newest_first(self) -> tuple[ApplicationDocument, ...]:
        """Every document, of the application that started last first; equal times by id."""
        version, documents = self._sorted
        if version != self._version:
            documents = tuple(self._columns.documents(self._columns.newest_first()))
            self._sorted = (self._version, documents)
        return documents

    def at_home(self, home: SubClusterId) -> list[ApplicationDocument]:
        """Documents of one sub-cluster by id; those of all others are not looked at."""
        rows = np.flatnonzero(self._columns.has_word("home", home))
        stamp, sequence = (self._columns.numbers(name, rows) for name in ("stamp", "sequence"))
        return self._columns.documents(rows[np.lexsort((sequence, stamp))])

    @property
    def columns(self) -> ApplicationColumns:
        """The same documents by column, for lists."""
        return self._columns

    def submit(self, document: ApplicationDocument) -> None:
        """The federation has taken an application: `document` stands until its home tells of it."""
        application_id = document.summary.application_id
        before = self._documents.get(application_id)
        if before is not None and before.summary.state.is_final:
            return
        home = document.summary.home_subcluster
        self._homes[application_id] = home
        if before is None or application_id in self._synthetic or before.summary.home_subcluster != home:
            self._take_out(application_id)
            self._put(document)
            self._synthetic.add(application_id)
        self.write(application_id, document.as_of_s)

    def move(self, document: ApplicationDocument) -> None:
        """Its home is that of `document` from now on, which stands until that home tells of it; not for what ended."""
        application_id = document.summary.application_id
        self._homes[application_id] = document.summary.home_subcluster
        self._take_out(application_id)
        self._put(document)
        if application_id in self._finals:
            self._finals.remove(application_id)
        self._forgotten.pop(application_id, None)
        if document.summary.state.is_final:
            self._finals.append(application_id)
        else:
            self._synthetic.add(application_id)
        self.write(application_id, document.as_of_s)

    def note_home(self, application_id: ApplicationId, home: SubClusterId) -> None:
        """Its home is this one: the document of another one goes."""
        known = self._documents.get(application_id)
        if known is not None and known.summary.home_subcluster != home:
            self.remove(application_id)
        self._homes[application_id] = home

    def wait(self, document: ApplicationDocument) -> None:
        """The federation has taken an application and holds it back: `document` stands until it gets a home."""
        application_id = document.summary.application_id
        before = self._documents.get(application_id)
        if before is not None and application_id not in self._waiting:
            return
        self._put(document)
        self._synthetic.add(application_id)
        self._waiting.add(application_id)
        if before is None or before.told != document.told:
            self._version += 1

    def end_waiting(self, application_id: ApplicationId, final: ApplicationDocument | None = None) -> None:
        """Take an application out of those that wait; show its end, or nothing until its home tells."""
        if application_id not in self._waiting:
            return
        self.remove(application_id)
        if final is not None:
            self.take(final)

    def disown(self, document: ApplicationDocument) -> None:
        """Give an id up to another application at its home: `document`, which is final, stands for ever."""
        application_id = document.summary.application_id
        self._take_out(application_id)
        self._put(document)
        self._disowned.add(application_id)
        self._written.pop(application_id, None)
        self._forgotten.pop(application_id, None)
        self._version += 1

    def is_disowned(self, application_id: ApplicationId) -> bool:
        return application_id in self._disowned

    def withdraw(self, application_id: ApplicationId) -> None:
        """The submission was rejected: it runs nowhere."""
        self._homes.pop(application_id, None)
        self._forgotten.pop(application_id, None)
        if application_id in self._synthetic:
            self.remove(application_id)

    def write(self, application_id: ApplicationId, at_s: float) -> None:
        """Note a change of an application: documents that were asked for before are out of date."""
        self._written[application_id] = max(at_s, self._written.get(application_id, 0.0))
        self._version += 1

    def note_life(self, subcluster: SubClusterId, rm_started_ms: int) -> None:
        """A ResourceManager's process started then: its counters may have begun anew."""
        self._rm_started_ms[subcluster] = rm_started_ms

    def note(self, document: ApplicationDocument, *, is_listed: bool = False) -> bool:
        """Take in what a home tells; return whether the application became final by it.

        Args:
            document: Of the application.
            is_listed: Whether it is one of a list: what was made of documents stands until `end_list`.
        """
        return self.take(self.submit_times.corrected(document), is_listed=is_listed)

    def end_list(self) -> None:
        """A list is taken in as a whole: what was made of documents before is old, if one of them has changed."""
        if self._has_listed:
            self._has_listed = False
            self._version += 1

    def _changed(self, *, is_listed: bool) -> None:
        if is_listed:
            self._has_listed = True
        else:
            self._version += 1

    def take(self, document: ApplicationDocument, *, is_listed: bool = False) -> bool:
        """Keep a document if it stands; return whether the application became final by it."""
        application_id = document.summary.application_id
        before = self._documents.get(application_id)
        if (
            before is not None
            and before.summary is document.summary
            and self._is_refreshed(document, before, is_listed=is_listed)
        ):
            return False
        if application_id in self._disowned:
            return False
        if SPAN_TAG in document.summary.tags:  # the application that it stands for has a home of its own
            self._take_part(document)
            return False
        if before is not None and not self._stands(document, before):
            return False
        if not self._has_room(document, before):
            return False
        is_final = document.summary.state.is_final
        became_final = is_final and (before is None or not before.summary.state.is_final)
        self._take_out(application_id)
        document = self._whole(document)
        self._put(document)
        self._forgotten.pop(application_id, None)
        if is_final or self._written.get(application_id, float("inf")) <= document.as_of_s:
            self._written.pop(application_id, None)
        if became_final:
            self._finals.append(application_id)
            self._drop_oldest_finals(is_listed=is_listed)
        elif not is_final:
            home = document.summary.home_subcluster
            self._live[home].add(application_id)
            self._live_bytes[home] += len(document.told)
        if before is None or before.told != document.told:
            self._changed(is_listed=is_listed)
        return became_final

    def _is_refreshed(self, document: ApplicationDocument, before: ApplicationDocument, *, is_listed: bool) -> bool:
        """Put a document in the place of one of which only what nobody decides on has changed, as polls mostly tell.

        False for what needs more than that: it is taken in as any other.
        """
        application_id, home = document.summary.application_id, document.summary.home_subcluster
        if (
            before.as_of_s >= document.as_of_s
            or application_id not in self._live[home]
            or (size := len(document.told)) > LONGEST_DOCUMENT
            or (self._written and application_id in self._written)  # mostly empty: then no id is hashed
            or (self._forgotten and application_id in self._forgotten)
            or len(self._accounts)
        ):
            return False
        self._live_bytes[home] += size - len(before.told)
        self._documents[application_id] = document
        self._columns.put(document)
        if before.told != document.told:
            self._changed(is_listed=is_listed)
        return True

    def with_account(self, document: ApplicationDocument) -> ApplicationDocument:
        """A home's document with what the application uses elsewhere; the same one if it uses its home alone."""
        return self._accounts.shown(document, self._life(document))

    def _whole(self, document: ApplicationDocument) -> ApplicationDocument:
        """The same of a document that is kept: it is shown anew when a part of its account changes."""
        whole = self.with_account(document)
        if whole is not document:
            self._bare[document.summary.application_id] = document
        else:
            self._bare.pop(document.summary.application_id, None)
        return whole

    def _take_part(self, document: ApplicationDocument) -> None:
        """Take in the use of an application beyond its home; no document of its own."""
        application_id = document.summary.application_id
        if not self._accounts.note_part(document, self._life(document)):
            return
        known = self._bare.get(application_id) or self._documents.get(application_id)
        if known is None or application_id in self._synthetic:
            return
        self._bare[application_id] = known
        self._put(self._accounts.shown(known, self._life(known)))
        self._version += 1

    def _life(self, document: ApplicationDocument) -> Life:
        return self._rm_started_ms.get(document.summary.home_subcluster, 0), document.summary.started_at_ms

    def forget(self, application_id: ApplicationId, subcluster: SubClusterId, as_of_s: float) -> bool:
        """A sub-cluster that is active says that it does not know an application.

        What the federation answers for stays, and is remembered as forgotten: return whether that is so. What only this
        sub-cluster ever told of goes, unless it is final or was told later than `as_of_s`.
        """
        document = self._documents.get(application_id)
        if document is not None and (
            document.summary.home_subcluster != subcluster
            or document.summary.state.is_final
            or document.as_of_s > as_of_s
        ):
            return False
        if application_id in self._homes:
            if self._homes[application_id] != subcluster:
                return False
            self._forgotten[application_id] = subcluster
            return True
        if document is not None:
            self.remove(application_id)
        return False

    def remove(self, application_id: ApplicationId) -> None:
        self._remove(application_id, is_listed=False)

    def _remove(self, application_id: ApplicationId, *, is_listed: bool) -> None:
        if application_id in self._disowned:
            return
        self._take_out(application_id)
        self._documents.pop(application_id, None)
        self._columns.remove(application_id)
        self._bare.pop(application_id, None)
        self._homes.pop(application_id, None)
        self._forgotten.pop(application_id, None)
        self._written.pop(application_id, None)
        self._changed(is_listed=is_listed)

    def _put(self, document: ApplicationDocument) -> None:
        application_id, home = document.summary.application_id, document.summary.home_subcluster
        if application_id in self._live.get(home, ()):
            self._live_bytes[home] += len(document.told) - len(self._documents[application_id].told)
        self._documents[application_id] = document
        self._columns.put(document)

    def _stands(self, document: ApplicationDocument, before: ApplicationDocument) -> bool:
        application_id = document.summary.application_id
        new_home, old_home = document.summary.home_subcluster, before.summary.home_subcluster
        if new_home != old_home:
            return self._precedence(application_id, new_home) < self._precedence(application_id, old_home)
        if application_id in self._synthetic:
            return True
        return _finality(document) > _finality(before)

    def _has_room(self, document: ApplicationDocument, before: ApplicationDocument | None) -> bool:
        """True unless its sub-cluster has as many as one may have: who tells ever new ones would fill the memory."""
        if len(document.told) > LONGEST_DOCUMENT:
            return False
        home = document.summary.home_subcluster
        is_known = before is not None and before.summary.home_subcluster == home
        if is_known or document.summary.state.is_final:
            return True
        return len(self._live[home]) < MOST_APPLICATIONS and self._live_bytes[home] < MOST_LIVE_BYTES

    def _precedence(self, application_id: ApplicationId, subcluster: SubClusterId) -> tuple[bool, int]:
        return self._homes.get(application_id) != subcluster, self._rank.get(subcluster, len(self._rank))

    def _take_out(self, application_id: ApplicationId) -> None:
        """Off the books of the sub-cluster whose document stood so far."""
        before = self._documents.get(application_id)
        home = None if before is None else before.summary.home_subcluster
        if before is not None and home is not None and application_id in self._live.get(home, ()):
            self._live[home].discard(application_id)
            self._live_bytes[home] -= len(before.told)
        self._synthetic.discard(application_id)
        self._waiting.discard(application_id)

    def _drop_oldest_finals(self, *, is_listed: bool) -> None:
        while len(self._finals) > self._most_finals:
            self._remove(self._finals.popleft(), is_listed=is_listed)


def _finality(document: ApplicationDocument) -> tuple[bool, float]:
    return document.summary.state.is_final, document.as_of_s


_MOST = 20_000
# a quote inside of a JSON text is escaped: only a member's own name has one right before its colon
_STARTED = re.compile(rb'("startedTime"\s*:\s*)(\d+)')
_ELAPSED = re.compile(rb'("elapsedTime"\s*:\s*)(\d+)')


class SubmitTimes:
    """Times of submission by application, the newest 20,000 that were noted."""

    def __init__(self) -> None:
        self._at_ms: OrderedDict[ApplicationId, int] = OrderedDict()

    @property
    def known(self) -> Mapping[ApplicationId, int]:
        """All of them, in milliseconds since the epoch."""
        return self._at_ms

    def note(self, application_id: ApplicationId, at_ms: int) -> None:
        self._at_ms[application_id] = at_ms
        if len(self._at_ms) > _MOST:
            self._at_ms.popitem(last=False)

    def corrected(self, document: ApplicationDocument) -> ApplicationDocument:
        """The document with the true time of submission, and the time elapsed since."""
        if not self._at_ms:
            return document
        at_ms = self._at_ms.get(document.summary.application_id)
        told_ms = document.summary.started_at_ms
        if at_ms is None or at_ms == told_ms:
            return document
        raw = _STARTED.sub(rb"\g<1>%d" % at_ms, document.raw, count=1)
        raw = _ELAPSED.sub(lambda found: found[1] + b"%d" % max(0, int(found[2]) + told_ms - at_ms), raw, count=1)
        return document.but(summary=replace(document.summary, started_at_ms=at_ms), told=raw, amounts=None)
