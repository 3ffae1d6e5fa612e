"""A Global Master's proposals for containers of spanning applications, and what Local Masters make of them.

In one process the books of tentative allocations are the Local Masters' own, and a verdict is there at once. Where
Local Masters are processes of their own, the books are what this Global Master believes: a proposal is believed until
its verdict comes, and a rejection corrects the belief by what it says of others. What is proposed and told in one go
travels in one frame for each Local Master.
"""

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from shim.concurrency.keep_going import aside
from shim.domain.ids import SubClusterId
from shim.domain.launches import (
    CapacityNotice,
    ConflictKind,
    ContainerKind,
    LaunchNews,
    LaunchProposal,
    LaunchVerdict,
    TentativelyAllocated,
    Verdict,
)
from shim.domain.subclusters import SubClusterReport
from shim.errors import HeddleError
from shim.federation.core.federation_view import Applied, FederationView, Part
from shim.ports.clock import Clock
from shim.scheduling.capacity import Capacity
from shim.scheduling.local_master.tentative_allocations import TentativeAllocations

_ME = "me"
_NUMBERS_A_MS = 1 << 16
"""Numbers of a life begin at its start: no later life has the same, unless one proposes 65 million a second."""


class VerifiesLaunches(Protocol):
    """Local Masters elsewhere."""

    async def verify_launches(
        self, subcluster: SubClusterId, proposals: Sequence[LaunchProposal], news: Sequence[LaunchNews]
    ) -> Sequence[LaunchVerdict]:
        """A Local Master's answer to each proposal; UNVERIFIED if it does not say in time."""
        ...


class LaunchVerification:
    """A Local Master's word on proposals: its book of tentative allocations, kept up with its view.

    Args:
        view: Of this sub-cluster, among others or alone.
        lasts_s: How long a tentative allocation holds.
    """

    def __init__(self, subcluster: SubClusterId, view: FederationView, clock: Clock, lasts_s: float) -> None:
        self._subcluster = subcluster
        self._view = view
        self._clock = clock
        self._book = TentativeAllocations(subcluster, lasts_s)

    @property
    def book(self) -> TentativeAllocations:
        """The book, with the newest report in it."""
        polled_at_s = self._view.as_of_s(self._subcluster, Part.NODES)
        if polled_at_s is not None and polled_at_s > self._book.reported_at_s:
            seen = self._view.look(self._subcluster, self._clock.now_s())
            self._book.apply(seen.nodes, seen.queues, polled_at_s)
        return self._book

    def reported(self, report: SubClusterReport, applied: Applied) -> None:  # noqa: ARG002 - the listener's signature
        """See `PollListener`: a book that somebody reads is kept up, so that no reader waits for 10,000 nodes."""
        if self._book.reported_at_s > float("-inf"):
            _ = self.book

    def failed(self, subcluster: SubClusterId, error: HeddleError) -> None:
        """See `PollListener`: the book stays as it is."""

    @property
    def open(self) -> int:
        """Containers that are promised and not granted; whoever asks for this alone needs no report read."""
        return self._book.open

    def verify(
        self, sender: str, proposals: Sequence[LaunchProposal], news: Sequence[LaunchNews]
    ) -> tuple[LaunchVerdict, ...]:
        """Hear what became of earlier proposals, then judge these."""
        book, now_s = self.book, self._clock.now_s()
        for each in news:
            book.tell(sender, each, now_s)
        if book.reported_at_s < 0:
            why = "its Local Master has not polled yet"
            return tuple(LaunchVerdict(self._subcluster, each.number, Verdict.UNVERIFIED, 0, why) for each in proposals)
        return tuple(book.propose(sender, each, now_s) for each in proposals)

    def claims(self) -> CapacityNotice:
        """Return what reports show as free and is claimed."""
        self._book.expire(self._clock.now_s())
        return CapacityNotice(self._book.promised())


@dataclass(slots=True)
class _Outgoing:
    """Messages that wait for one Local Master."""

    proposals: list[LaunchProposal] = field(default_factory=list)
    news: dict[int, LaunchNews] = field(default_factory=dict)


class LaunchService:
    """Every attempt's proposals.

    Args:
        lasts_s: How long a tentative allocation holds.
        elsewhere: The Local Masters, if they are processes of their own.
        sender: Name that they have for this life of this Global Master.

    Attributes:
        verdicts: How often Local Masters said what.
        conflicts: How often they rejected something, by what was in the way.
    """

    def __init__(
        self,
        view: FederationView,
        clock: Clock,
        lasts_s: float,
        elsewhere: VerifiesLaunches | None = None,
        sender: str = "",
    ) -> None:
        self._sender = sender
        self._tells: dict[SubClusterId, None] = {}
        self._books = {each: LaunchVerification(each, view, clock, lasts_s) for each in view.subclusters}
        self._clock = clock
        self._elsewhere = elsewhere
        self._numbers = itertools.count(int(clock.now_s() * 1000) * _NUMBERS_A_MS)
        self._judges: dict[int, Callable[[Sequence[LaunchVerdict]], None]] = {}
        self._outgoing: dict[SubClusterId, _Outgoing] = {}
        self._sending: set[asyncio.Task[None]] = set()
        self.verdicts: Counter[tuple[SubClusterId, Verdict]] = Counter()
        self.conflicts: Counter[tuple[SubClusterId, ConflictKind]] = Counter()

    def reported(self, report: SubClusterReport, applied: Applied) -> None:
        self._books[report.subcluster].reported(report, applied)

    def failed(self, subcluster: SubClusterId, error: HeddleError) -> None:
        """See `PollListener`."""

    def open_allocations(self) -> Mapping[SubClusterId, int]:
        """Containers that are promised and not granted, as far as is known here."""
        return {name: verification.open for name, verification in self._books.items()}

    def room(self, subcluster: SubClusterId, kind: ContainerKind) -> int:
        """Containers of a kind that could be had, as far as is known."""
        return self._books[subcluster].book.room(kind)

    def capacity(self, queue_at: Callable[[SubClusterId], str]) -> Capacity:
        """Free capacity everywhere, less what is tentatively allocated.

        Args:
            queue_at: What a sub-cluster calls the queue that asks; empty if it is not known there.
        """
        books = {name: verification.book for name, verification in self._books.items()}
        return Capacity(
            {name: book.nodes for name, book in books.items()},
            {name: book.left_of(queue_at(name)) for name, book in books.items()},
        )

    def propose(
        self,
        subcluster: SubClusterId,
        holder: str,
        kind: ContainerKind,
        count: int,
        judge: Callable[[Sequence[LaunchVerdict]], None],
    ) -> tuple[int, LaunchVerdict | None]:
        """Ask for a tentative allocation: the number of the proposal, and the verdict if it is there at once.

        A verdict that comes later is given to `judge`.
        """
        proposal = LaunchProposal(next(self._numbers), holder, kind, count)
        verdict = self._books[subcluster].book.propose(_ME, proposal, self._clock.now_s())
        if self._elsewhere is None:
            self._count(verdict)
            return proposal.number, verdict
        self._judges[proposal.number] = judge
        self._out(subcluster).proposals.append(proposal)
        return proposal.number, None

    def tell(self, subcluster: SubClusterId, news: LaunchNews) -> None:
        """Say what became of a proposal so far."""
        self._books[subcluster].book.tell(_ME, news, self._clock.now_s())
        if self._elsewhere is not None:
            self._out(subcluster).news[news.number] = news

    def took(self, subcluster: SubClusterId, holder: str, kind: ContainerKind) -> None:
        """A container was granted that nobody had promised: no report shows it yet."""
        self._books[subcluster].book.took(holder, kind, self._clock.now_s())

    def lost(self, subcluster: SubClusterId, number: int) -> int:
        """Number of a proposal's containers that have a tentative allocation no more, though nobody withdrew it."""
        return self._books[subcluster].book.lost(_ME, number)

    def claims_reported(self, subcluster: SubClusterId, told: CapacityNotice) -> None:
        """A Local Master tells what its report shows as free and is others': it is not there to plan on."""
        others = (TentativelyAllocated(each.kind, each.count) for each in told.promised if each.to != self._sender)
        self._books[subcluster].book.learn(others, self._clock.now_s())
        self._tells[subcluster] = None

    async def close(self) -> None:
        for task in tuple(self._sending):
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)

    def _count(self, verdict: LaunchVerdict) -> None:
        self.verdicts[verdict.subcluster, verdict.verdict] += 1
        if verdict.conflict is not None:
            self.conflicts[verdict.subcluster, verdict.conflict] += 1

    def _out(self, subcluster: SubClusterId) -> _Outgoing:
        """Messages that go out when whoever speaks now has finished."""
        if subcluster not in self._outgoing:
            self._outgoing[subcluster] = _Outgoing()
            task = aside(f"launches at {subcluster}", self._send(subcluster))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)
        return self._outgoing[subcluster]

    async def _send(self, subcluster: SubClusterId) -> None:
        assert self._elsewhere is not None  # noqa: S101 - else nothing goes out
        out = self._outgoing.pop(subcluster)
        news = tuple(out.news.values())
        verdicts = await self._elsewhere.verify_launches(subcluster, tuple(out.proposals), news)
        heard: dict[Callable[[Sequence[LaunchVerdict]], None], list[LaunchVerdict]] = {}
        for verdict in verdicts:
            self._count(verdict)
            judge = self._judges.pop(verdict.number, None)
            if judge is None:
                continue
            heard.setdefault(judge, []).append(verdict)
            if verdict.verdict is Verdict.REJECTED:
                book = self._books[subcluster].book
                book.correct(_ME, verdict.number, verdict.accepted)
                if subcluster not in self._tells:  # else all of it came with the verdict
                    book.learn(verdict.promised, self._clock.now_s())
        for judge, told in heard.items():
            judge(told)
