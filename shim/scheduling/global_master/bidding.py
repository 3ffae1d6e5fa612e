"""Bids: how a Global Master tells Local Masters what it would do with capacity that it does not see.

A bid is sent when none was sent before, rides along with every launch request, and is renewed on its own only when the
need has become *more* urgent, so that it overtakes another bid or by much (`is_worth_renewing`), within a budget that
launches earn. When the need became less urgent nothing is sent: the offer names the runner-up, and a Global Master that
needs the offer less than that declines, with its true bid riding along. So a stale bid costs a round trip when it
matters, and nothing when it does not. Nothing is bid where a full report is being waited for: offers could not be told
from older ones.
"""

from collections.abc import Iterable, Mapping, Sequence

from shim.domain.ids import LocalMasterId
from shim.domain.messages import Bid, BidLine, Rank
from shim.domain.resources import Need
from shim.scheduling.global_master.core import Core
from shim.scheduling.global_master.events import SendMessage
from shim.scheduling.global_master.links import LocalMasterLink
from shim.scheduling.plan import Turns
from shim.scheduling.ranks import is_worth_renewing, rank_of

_MOST_LINES = 8
_FIRST_BACKOFF_S = 2.0


_Kind = tuple[Need, bool]
"""What is needed, and whether for long."""


def _most_urgent(ranked: Iterable[tuple[_Kind, Rank]], wanted: Mapping[_Kind, int]) -> Iterable[BidLine]:
    """The needs that a bid tells of, each once with its best rank and how many wait; only so many."""
    seen: set[_Kind] = set()
    for kind, rank in ranked:
        if kind not in seen:
            seen.add(kind)
            need, is_long = kind
            yield BidLine(rank, need, wanted[kind], is_long)
            if len(seen) == min(_MOST_LINES, len(wanted)):
                return


def bid_for(core: Core, turns: Turns, now_s: float) -> "CurrentBid":
    """Present bid of the waiting work: a line for each need, and one for its long tasks, the most urgent ones first."""
    needs = core.book.requests.needs
    columns = zip(turns.rows, turns.are_long, turns.keys, turns.deficits, turns.priorities, strict=True)
    ranked = (((needs[row], is_long), rank_of(core.policy, *urgency)) for row, is_long, *urgency in columns)
    return CurrentBid(core, tuple(_most_urgent(ranked, _wanted(core, turns))), now_s)


def _wanted(core: Core, turns: Turns) -> Mapping[_Kind, int]:
    requests = core.book.requests
    wanted: dict[_Kind, int] = {(need, False): count for need, count in requests.wanted.items()}
    for row, is_long in zip(turns.rows, turns.are_long, strict=True):
        if is_long:
            need, count = requests.needs[row], requests.count(row)
            wanted[need, True] = wanted.get((need, True), 0) + count
            wanted[need, False] = wanted.get((need, False), 0) - count
    return {kind: count for kind, count in wanted.items() if count > 0}


class CurrentBid:
    """The bid of this moment, and who has to hear of it."""

    __slots__ = ("_core", "_lines", "_now_s", "_short")

    def __init__(self, core: Core, lines: tuple[BidLine, ...], now_s: float) -> None:
        self._core = core
        self._lines = lines
        self._now_s = now_s
        self._short = _rank_of_short(lines)

    def ride(self, link: LocalMasterLink, *, declines: bool) -> Bid | None:
        """The bid for a request that is sent anyway; None when nothing is wanted, and nothing else was said before.

        Who declines an offer always says what he wants instead, else he would be offered the same again.
        """
        lines = self._lines if link.asked_at_s is None else ()
        if not lines and not declines and (link.bid is None or not link.bid.lines):
            return None
        return self._renew(link, lines)

    def send_alone(self, local_master: LocalMasterId, link: LocalMasterLink) -> None:
        """Send a bid of its own if it is the first, or worth renewing and paid for."""
        if not self._lines or link.asked_at_s is not None:
            return
        core = self._core
        if link.bid_rank is not None:
            if core.tokens < 1.0 or not self._is_worth_sending(link, link.bid_rank):
                return
            core.tokens -= 1.0
        core.effects.append(SendMessage(local_master, self._renew(link, self._lines)))

    def _is_worth_sending(self, link: LocalMasterLink, told: Rank) -> bool:
        """Return whether the most urgent need is more urgent now, or that of short tasks, for which room is kept."""
        policy = self._core.policy
        if is_worth_renewing(policy, told, self._lines[0].rank, link.rival):
            return True
        if link.bid is None or not self._lines[0].is_long:
            return False
        if self._short is None:
            return False
        told_short = _rank_of_short(link.bid.lines)
        return told_short is None or is_worth_renewing(policy, told_short, self._short, None)

    def _renew(self, link: LocalMasterLink, lines: tuple[BidLine, ...]) -> Bid:
        version = 1 if link.bid is None else link.bid.version + 1
        link.bid = Bid(self._core.global_master, self._core.incarnation, version, lines)
        link.bid_rank = lines[0].rank if lines else None
        link.bid_at_s = self._now_s
        link.bid_backoff_s = 2.0 * link.bid_backoff_s or _FIRST_BACKOFF_S
        return link.bid


def _rank_of_short(lines: Sequence[BidLine]) -> Rank | None:
    """Rank of the most urgent short tasks; None if there are none."""
    for line in lines:  # at each of thousands of links in a second: a generator would cost twice as much
        if not line.is_long:
            return line.rank
    return None
