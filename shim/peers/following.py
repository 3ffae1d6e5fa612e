"""A Global Master's side of its links to Local Masters: reports into the view, proposals out, verdicts back.

The leases tell where the active Local Master of each sub-cluster is. While there is none, or it is cut off from here,
the view ages, and tells so; nothing else is concluded from it, as the ResourceManager may be well.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import structlog

from shim.domain.capacity_bids import CapacityBid
from shim.domain.ids import GlobalMasterId, SubClusterId
from shim.domain.launches import LaunchNews, LaunchProposal, LaunchVerdict, proposer
from shim.domain.leases import Lease
from shim.domain.submissions import HomeProposal
from shim.domain.verdicts import HomeVerdict, Verdict
from shim.errors import HeddleError, MasterLinkError
from shim.federation.core.federation_view import FederationView
from shim.federation.poller import PollListener
from shim.peers.follower import Follower, HearRoom
from shim.peers.launch_batches import batches, fits
from shim.peers.roster import Roster, global_master_role, local_master_role
from shim.peers.verification import stripped
from shim.ports.clock import Clock
from shim.ports.master_links import MasterDialer
from shim.protocol.peers import (
    LaunchedFrame,
    LaunchFrame,
    ProposalFrame,
    VerdictFrame,
)

__all__ = ["Following", "FollowingSettings", "LinkStatus"]

_log = structlog.get_logger("heddle.masters")


@dataclass(frozen=True, slots=True)
class FollowingSettings:
    """Settings of following Local Masters.

    Attributes:
        verify_within_s: How long a proposal waits for its verdict.
        retry_s: From the end of a link to the next try.
    """

    verify_within_s: float
    retry_s: float = 0.25


@dataclass(frozen=True, slots=True)
class LinkStatus:
    """State of a Global Master's connection to the Local Master of a sub-cluster.

    Attributes:
        address: Where the Local Master is; empty if no lease tells.
        trouble: Why there is no link; empty if there is one.
        resyncs: How often a report was missing.
    """

    subcluster: SubClusterId
    is_linked: bool
    address: str
    trouble: str
    reports: int
    resyncs: int


class Following:
    """Follows every sub-cluster's Local Master; in a Global Master it stands in the place of `SubClusterPollers`.

    Args:
        me: Name of this Global Master.
        view: What reports go into.
        dialer: Makes the links.
        roster: Says where Local Masters are.
        clock: The machine's.
        settings: How they are followed.
        listeners: Told of every report and failure.

    Attributes:
        me: Name of this Global Master.
        verdicts: How often Local Masters said what.
        repairs: How many homes were chosen again after a rejection.
    """

    def __init__(
        self,
        me: GlobalMasterId,
        view: FederationView,
        dialer: MasterDialer,
        roster: Roster,
        clock: Clock,
        settings: FollowingSettings,
        *,
        listeners: Sequence[PollListener] = (),
    ) -> None:
        self.me = me
        self._dialer = dialer
        self._roster = roster
        self._clock = clock
        self._life = int(clock.now_s() * 1000.0)
        self._settings = settings
        self._followers = {each: Follower(each, me, view, clock, listeners, self._life) for each in view.subclusters}
        self._tasks: list[asyncio.Task[None]] = []
        self.verdicts: Counter[tuple[SubClusterId, Verdict]] = Counter()
        self.repairs = 0

    def listen(self, listener: PollListener) -> None:
        """Tell one more of every report and failure."""
        for follower in self._followers.values():
            follower.listen(listener)

    def listen_to_room(self, hear: HearRoom) -> None:
        """Have somebody told what is spoken for at a Local Master, right after each report."""
        for follower in self._followers.values():
            follower.hear_room = hear

    @property
    def incarnation(self) -> int:
        """Number of this life, as Local Masters are told."""
        return self._life

    @property
    def sender(self) -> str:
        """See `TakesBids`."""
        return proposer(global_master_role(self.me), self._life)

    def bid(self, subcluster: SubClusterId, bid: CapacityBid) -> None:
        """See `TakesBids`: it goes with the next launches; a lost one is made again in time."""
        self._followers[subcluster].bid = bid

    def start(self) -> None:
        """Begin to follow."""
        self._tasks = [
            asyncio.create_task(self._follow_for_ever(follower), name=f"following-{subcluster}")
            for subcluster, follower in self._followers.items()
        ]

    async def first_polls(self) -> None:
        """Wait until every Local Master was heard of once."""
        await asyncio.gather(*(follower.heard.wait() for follower in self._followers.values()))

    async def stop(self) -> None:
        """End every link."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()

    def links(self) -> list[LinkStatus]:
        """Connections to all Local Masters, in the configured order."""
        return [
            LinkStatus(
                subcluster=each.subcluster,
                is_linked=each.questions is not None,
                address=each.address,
                trouble=each.trouble,
                reports=each.reports,
                resyncs=each.resyncs,
            )
            for each in self._followers.values()
        ]

    def repaired(self) -> None:
        """See `VerifiesHomes`."""
        self.repairs += 1

    async def verify(self, home: SubClusterId, proposal: HomeProposal) -> HomeVerdict:
        """Ask the Local Master of a sub-cluster about a proposal. One that says nothing stands in nobody's way."""
        verdict = await self._ask(home, proposal)
        self.verdicts[home, verdict.verdict] += 1
        return verdict

    async def _ask(self, home: SubClusterId, proposal: HomeProposal) -> HomeVerdict:
        follower = self._followers[home]
        questions = follower.questions
        if questions is None:
            return HomeVerdict(home, Verdict.UNVERIFIED, f"no link to its Local Master: {follower.trouble}")
        question = ProposalFrame(questions.next_number(), stripped(proposal))
        try:
            answer = await questions.ask(question, timeout_s=self._settings.verify_within_s)
        except MasterLinkError as exc:
            return HomeVerdict(home, Verdict.UNVERIFIED, str(exc))
        if not isinstance(answer, VerdictFrame) or answer.verdict.subcluster != home:
            return HomeVerdict(home, Verdict.UNVERIFIED, "its Local Master answered something else")
        return answer.verdict

    async def verify_launches(
        self, subcluster: SubClusterId, proposals: Sequence[LaunchProposal], news: Sequence[LaunchNews]
    ) -> Sequence[LaunchVerdict]:
        """See `VerifiesLaunches`: a Local Master that says nothing stands in nobody's way."""
        verdicts: list[LaunchVerdict] = []
        unsaid = self._followers[subcluster].unsaid
        unsaid.add(news)
        for some, told in tuple(batches(proposals, unsaid.take())) or (((), ()),):
            verdicts += await self._verify_some(subcluster, some, told)
        too_large = [each for each in proposals if not fits(each)]
        return (*verdicts, *_unverified(subcluster, too_large, "it names too many places"))

    async def _verify_some(
        self, subcluster: SubClusterId, proposals: Sequence[LaunchProposal], news: Sequence[LaunchNews]
    ) -> Sequence[LaunchVerdict]:
        follower = self._followers[subcluster]
        questions, bid, follower.bid = follower.questions, follower.bid, None
        if questions is None:
            return _unverified(subcluster, proposals, f"no link: {follower.trouble}")
        if not proposals and not news and bid is None:
            return ()
        question = LaunchFrame(questions.next_number(), tuple(proposals), tuple(news), self._life, bid)
        follower.unsaid.sent(question.number, news)
        try:
            answer = await questions.ask(question, timeout_s=self._settings.verify_within_s)
        except MasterLinkError as exc:
            return _unverified(subcluster, proposals, str(exc))
        if not isinstance(answer, LaunchedFrame) or any(each.subcluster != subcluster for each in answer.verdicts):
            return _unverified(subcluster, proposals, "its Local Master answered something else")
        said = {each.number: each for each in answer.verdicts}
        silent = [each for each in proposals if each.number not in said]
        return (*said.values(), *_unverified(subcluster, silent, "its Local Master did not say"))

    async def _follow_for_ever(self, follower: Follower) -> None:
        while True:
            lease = self._roster.local_master(follower.subcluster)
            try:
                await self._follow_once(follower, lease)
            except HeddleError as exc:
                if str(exc) != follower.trouble:
                    _log.warning("not following", subcluster=follower.subcluster, reason=str(exc))
                follower.trouble = str(exc)
            except Exception as exc:  # noqa: BLE001 - the task's boundary: a bug with one frame must not end following
                _log.exception("following_failed_by_a_bug", subcluster=follower.subcluster)
                follower.trouble = f"{type(exc).__name__}: {exc}"
            await self._clock.sleep(self._settings.retry_s)

    async def _follow_once(self, follower: Follower, lease: Lease | None) -> None:
        if lease is None or not lease.holder:
            follower.address = ""
            raise MasterLinkError(f"no Local Master of {follower.subcluster} has a lease: run heddle lm")
        follower.address = lease.address
        link = await self._dialer.dial(lease.address, expected=local_master_role(follower.subcluster))
        try:
            await follower.follow(link)
        finally:
            with suppress(HeddleError):
                await link.close()


def _unverified(
    subcluster: SubClusterId, proposals: Iterable[LaunchProposal], reason: str
) -> tuple[LaunchVerdict, ...]:
    return tuple(LaunchVerdict(subcluster, each.number, Verdict.UNVERIFIED, 0, reason) for each in proposals)
