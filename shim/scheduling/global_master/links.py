"""A Global Master's side of its conversation with one Local Master."""

from dataclasses import dataclass, field

from shim.domain.messages import Bid, Launch, LaunchRequest, PreemptionRequest, Rank


@dataclass(slots=True)
class LaunchDraft:
    """Content of the next launch request to a Local Master."""

    launches: list[Launch] = field(default_factory=list)
    declined: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    cancels: list[int] = field(default_factory=list)
    preemptions: list[PreemptionRequest] = field(default_factory=list)


@dataclass(slots=True)
class LocalMasterLink:
    """State of one direction each: requests sent, reports heard.

    Attributes:
        incarnation: Life of the Local Master that is spoken to; 0 before its first report.
        sequence: Of the last request.
        heard_to: Sequence of the last report that was applied.
        unseen: Requests that no report has confirmed, with the time they were last sent at, by sequence.
        bid: The newest bid, None before the first one.
        bid_rank: Rank of its most urgent line; None when nothing is wanted.
        bid_backoff_s: How long to wait for a report that knows of it before it is sent again; doubles each time.
        rival: Rank of the best bid of another Global Master there, by the last report; None for none.
        asked_at_s: When a full report was last asked for; None when none is due.
        asked_back: What was asked back there since then, and for which queue; for none once it was offered.
    """

    incarnation: int = 0
    sequence: int = 0
    heard_to: int = 0
    unseen: dict[int, tuple[LaunchRequest, float]] = field(default_factory=dict)
    bid: Bid | None = None
    bid_rank: Rank | None = None
    bid_at_s: float = 0.0
    bid_backoff_s: float = 0.0
    rival: Rank | None = None
    asked_at_s: float | None = None
    queue_usage: dict[str, tuple[int, ...]] = field(default_factory=dict)
    asked_back: list[tuple[PreemptionRequest, str]] = field(default_factory=list)

    def note_preempted(self, queue: str) -> None:
        """A task of this queue was taken back there: who knows the queue exactly need not expect it any more."""
        for position, (wish, _) in enumerate(self.asked_back):
            if wish.victim_queue == queue:
                del self.asked_back[position]
                return

    def note_offers(self, count: int) -> None:
        """So many offers came: what is launched on them counts by itself from now on."""
        for position, (wish, taker) in enumerate(self.asked_back):
            if count and taker:
                self.asked_back[position] = (wish, "")
                count -= 1
