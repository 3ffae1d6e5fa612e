"""Keeps what applications have used: in the store, for reports and for the next Heddle.

An application that ended is written once; one that lives now and then. Each row is a sum since its begin, so that one
that is written twice, or by two Heddles, counts once.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence

import structlog

from shim.domain.applications import ApplicationSummary
from shim.domain.credits import Credits
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import ApplicationDocument, SubClusterReport
from shim.domain.usage import Account, PartUsage
from shim.errors import BadRequestError, HeddleError, StoreError
from shim.federation.core.account_book import AccountBook, ReadsUsage
from shim.federation.core.federation_view import Applied, FederationView, find_queue
from shim.identity.service import Caller
from shim.ports.clock import Clock
from shim.ports.queue_stores import (
    GROUPS,
    GROUPS_OF_CREDITS,
    KEPT_FOR_MS,
    MOST_GROUPS,
    CreditQuestion,
    CreditStore,
    UsageQuestion,
    UsageRow,
    UsageStore,
    UsageTotal,
)

_log = structlog.get_logger("heddle.usage")
_TURN_S = 5.0
_LIVE_EVERY_S = 60.0
_FORGET_EVERY_S = 3600.0
_MOST_RESTORED = 60_000
_MOST_WRITTEN = 50_000
_MOST_LIVE = 2_000
"""Live applications that are written in one turn; where there are more, each is written less often."""
_SLICE = 100
"""Rows that go to the store at once."""
_READ_AT_ONCE = 20
"""Documents that are read before others have their turn: two milliseconds of work."""


class UsageKeeping:
    """Writes what reports tell; a listener of heartbeats. `run` does it for ever, `turn` once.

    Args:
        accounts: Knows what they use beyond their homes.
        is_mine: Whether this Heddle writes the applications of a queue.
        ended: Told of each application that has ended, with the memory times time that it has used (MiB x s).
    """

    def __init__(
        self,
        view: FederationView,
        accounts: AccountBook,
        form: ReadsUsage,
        store: UsageStore,
        clock: Clock,
        is_mine: Callable[[str], bool] = lambda _: True,
        ended: Callable[[ApplicationDocument, float], None] = lambda _, __: None,
    ) -> None:
        self._ended = ended
        self._view = view
        self._accounts = accounts
        self._form = form
        self._store = store
        self._clock = clock
        self._is_mine = is_mine
        self._due: dict[ApplicationId, None] = {}
        self._written: OrderedDict[ApplicationId, int] = OrderedDict()
        self._live_at_s: dict[ApplicationId, float] = {}
        self._room = _MOST_LIVE
        self._forget_at_s = 0.0

    def reported(self, report: SubClusterReport, applied: Applied) -> None:  # noqa: ARG002 - the listener's signature
        self._due |= dict.fromkeys(report.applications)

    def failed(self, subcluster: SubClusterId, error: HeddleError) -> None:
        """See `PollListener`."""

    async def restore(self) -> None:
        """Take over what an earlier Heddle knew of applications that use more than their homes."""
        try:
            rows = await self._store.spanning(_MOST_RESTORED)
        except StoreError as exc:
            _log.warning("accounts of earlier applications are not known", reason=str(exc))
            return
        except Exception:  # noqa: BLE001 - rows that no Heddle wrote must not keep this one from starting
            _log.exception("accounts of earlier applications cannot be read")
            return
        grouped: dict[ApplicationId, list[UsageRow]] = {}
        for row in rows:
            grouped.setdefault(row.application, []).append(row)
        for application, parts in grouped.items():
            home = next((row.subcluster for row in parts if row.is_home), None)
            user = parts[0].user
            self._accounts.restore(application, user, home, {row.subcluster: row.part for row in parts})

    async def run(self) -> None:
        while True:
            await self._clock.sleep(_TURN_S)
            await self.turn()

    async def turn(self) -> None:
        """Write what has changed; what the store does not take now is written later."""
        due, self._due = list(self._due), {}
        self._room = _MOST_LIVE
        now_s = self._clock.now_s()
        try:
            for start in range(0, len(due), _SLICE):
                await self._write(due[start : start + _SLICE], now_s)
                await asyncio.sleep(0)
            if now_s >= self._forget_at_s:
                await self._store.forget(int(now_s * 1000) - KEPT_FOR_MS)
                self._forget_at_s = now_s + _FORGET_EVERY_S
                find = self._view.applications.find
                self._live_at_s = {name: at_s for name, at_s in self._live_at_s.items() if find(name)}
        except StoreError as exc:
            self._due = dict.fromkeys(due) | self._due
            _log.warning("usage is not kept yet", applications=len(due), reason=str(exc))

    async def _write(self, names: Sequence[ApplicationId], now_s: float) -> None:
        found = [(name, document) for name in names if (document := self._written_now(name, now_s)) is not None]
        rows: dict[ApplicationId, list[UsageRow]] = {}
        for number, (name, document) in enumerate(found, start=1):
            rows[name] = list(self._rows(document))
            if number % _READ_AT_ONCE == 0:
                await asyncio.sleep(0)
        await self._store.keep([row for each in rows.values() for row in each])
        for name, document in found:
            if not document.summary.state.is_final:
                self._live_at_s[name] = now_s
                continue
            self._ended(document, float(sum(row.part.spent.get("memory_mib_s", 0) for row in rows[name])))
            self._live_at_s.pop(name, None)
            self._written[name] = hash(document.raw)
            self._written.move_to_end(name)
        while len(self._written) > _MOST_WRITTEN:
            self._written.popitem(last=False)

    def _written_now(self, name: ApplicationId, now_s: float) -> ApplicationDocument | None:
        """The document of an application that is to be written now; what has no room in this turn waits for its own."""
        document = self._view.applications.find(name)
        if document is None or self._view.applications.is_synthetic(name):
            return None
        if not self._is_mine(self._path_of(document.summary)):
            return None
        if document.summary.state.is_final:
            return None if self._written.get(name) == hash(document.raw) else document
        if now_s - self._live_at_s.get(name, float("-inf")) < _LIVE_EVERY_S:
            return None
        if not self._room:
            self._due[name] = None  # before those that are told from now on
            return None
        self._room -= 1
        return document

    def _rows(self, document: ApplicationDocument) -> Iterator[UsageRow]:
        summary = document.summary
        home = summary.home_subcluster
        account = self._accounts.find(summary.application_id, summary.user)
        if account is None:
            told = self._form.read(document.raw)
            account = Account(home, {home: PartUsage((0, summary.started_at_ms), told.spent, as_of_s=document.as_of_s)})
        ended_at_ms = summary.finished_at_ms if summary.state.is_final else 0
        path = self._path_of(summary)
        for name, part in account.parts.items():
            yield UsageRow(
                summary.application_id,
                name,
                name == home,
                summary.user,
                path,
                summary.started_at_ms,
                ended_at_ms,
                part,
            )

    def _path_of(self, summary: ApplicationSummary) -> str:
        """Its queue, by its path: versions before 3.3 tell the last part alone, and another queue would be counted."""
        told = summary.queue
        if told.startswith("root.") or not told:
            return told
        queue = find_queue(self._view.look(summary.home_subcluster, self._clock.now_s()), told)
        return queue.path if queue is not None and queue.path.rpartition(".")[2] == told else told


class UsageReports:
    """Answers what was used: administrators everything, everybody else what their own applications used.

    Args:
        credits_: Knows what jobs of altruistic queues gave and received.
    """

    def __init__(
        self, store: UsageStore, credits_: CreditStore, clock: Clock, is_admin: Callable[[Caller], bool]
    ) -> None:
        self._store = store
        self._credits = credits_
        self._clock = clock
        self._is_admin = is_admin

    async def totals(
        self, caller: Caller, by: Sequence[str], from_ms: int | None, to_ms: int | None
    ) -> tuple[Sequence[UsageTotal], UsageQuestion, bool]:
        """Sums that a caller may see, what was asked, and whether smaller sums are left out.

        Raises:
            BadRequestError: If there is no such group, or the time ends before it begins.
            StoreUnavailableError: If the store does not answer.
        """
        unknown = [name for name in by if name not in GROUPS]
        if unknown or len(set(by)) < len(by):
            told = unknown[0][:40] if unknown else "a group twice"
            raise BadRequestError(f"usage is told by {', '.join(GROUPS)}, and not by {told!r}")
        now_ms = int(self._clock.now_s() * 1000)
        begin, end = 0 if from_ms is None else from_ms, now_ms if to_ms is None else to_ms
        if end < begin:
            raise BadRequestError("the time in question ends before it begins")
        user = None if self._is_admin(caller) else caller.user
        question = UsageQuestion(tuple(by), begin, end, now_ms, user)
        found = await self._store.totals(question)
        return found[:MOST_GROUPS], question, len(found) > MOST_GROUPS

    async def credits(self, question: UsageQuestion) -> Mapping[tuple[str, ...], Credits] | None:
        """Give what jobs of altruistic queues gave and received, by the same groups; None where clusters are asked for.

        Raises:
            StoreUnavailableError: If the store does not answer.
        """
        if not set(question.by) <= set(GROUPS_OF_CREDITS):
            return None
        asked = CreditQuestion(question.by, question.from_ms, question.to_ms, question.user)
        return dict(await self._credits.totals(asked))
