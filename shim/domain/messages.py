"""Messages between Global Masters and Local Masters.

The words are Megha's (`design.md`, naming): a Global Master sends *launch requests*; the Local Master verifies
them and answers with a *report*, which carries its fresh state and whatever else has happened since the last one.

Both directions survive loss, repetition and reordering:

- A Global Master numbers its launch requests for each Local Master and repeats one until a report says that it was
  seen. The Local Master executes each number at most once.
- A Local Master numbers its reports for each Global Master. A report holds what changed since the one before; after a
  gap the Global Master asks for a full one. Rejections and endings stay in the Local Master's outbox, and in each
  full report, until the Global Master says how far it has heard.
- An incarnation is the number of a master's life. The newest life of a Global Master fences off the requests of older
  ones; a new life of a Local Master starts its reports anew.
"""

from dataclasses import dataclass, field
from enum import Enum

from shim.domain.ids import GlobalMasterId, LocalMasterId
from shim.domain.resources import Need

Rank = tuple[int, ...]
"""How badly somebody needs capacity, for comparison between Global Masters: the smaller tuple goes first."""


class InconsistencyKind(Enum):
    """Reason of a rejected launch: the Global Master's view was behind the truth."""

    INTERNAL = "internal"
    """In its own partition: another one had borrowed the capacity."""
    EXTERNAL = "external"
    """In another's partition: the owner or a third one had taken it."""


class EndingKind(Enum):
    """End of a running task."""

    FINISHED = "finished"
    PREEMPTED = "preempted"
    """Taken back for a queue that was below its share; the task is asked for again."""
    LOST = "lost"
    """Its node went away; the task is asked for again."""


class Occasion(Enum):
    """Occasion of a report: the most urgent of what it carries. Only for counting and for people."""

    HEARTBEAT = "heartbeat"
    VERDICT = "verdict"
    COMPLETION = "completion"
    OFFER = "offer"
    CHANGE = "change"
    """Capacity came free that nobody had bid for: its owner is told."""
    ANSWER = "answer"
    """The full report that was asked for."""


@dataclass(frozen=True, slots=True)
class TaskRef:
    """A task by its job and its place in it."""

    job: str
    index: int


@dataclass(frozen=True, slots=True)
class Launch:
    """A match that a Global Master wants to become true.

    Attributes:
        number: Unique among all launches of all lives of the Global Master.
        node: Index of the node at the Local Master.
        queue: Whom the usage is booked to.
        offer: Number of the offer that it uses, 0 for none.
        is_held: Take the capacity, but start only when the whole gang has its own.
    """

    number: int
    node: int
    need: Need
    task: TaskRef
    queue: str = ""
    offer: int = 0
    is_held: bool = False


@dataclass(frozen=True, slots=True)
class BidLine:
    """Tasks of one kind that wait.

    Attributes:
        rank: Urgency of the most urgent of them.
        is_long: Whether they run long: they leave some room free for short ones.
    """

    rank: Rank
    need: Need
    count: int
    is_long: bool = False


@dataclass(frozen=True, slots=True)
class Bid:
    """A Global Master's bid for capacity that it does not see; no lines: nothing.

    Attributes:
        version: Grows with each bid to this Local Master; an older one never replaces a newer one.
    """

    global_master: GlobalMasterId
    incarnation: int
    version: int
    lines: tuple[BidLine, ...]


@dataclass(frozen=True, slots=True)
class PreemptionRequest:
    """A wish to take capacity back from a queue above its share; verified like a launch (Megha, algorithm 2)."""

    victim_queue: str
    need: Need
    rank: Rank


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """All requests of a Global Master to one Local Master after one cycle: one message.

    Attributes:
        to_incarnation: Life of the Local Master that it is meant for; another one drops it.
        sequence: Counts from 1 for each pair of lives of both masters.
        heard_to: Sequence of the last report that was applied.
        declined: Offers that are not (or only partly) used.
        starts: Held launches whose gang is complete.
        bid: The current bid, riding along.
        learnt: Seconds that the first finished task of some jobs ran: news for the other Global Masters.
        wants_verdict: Whether acceptance shall be answered at once; a rejection always is.
    """

    global_master: GlobalMasterId
    incarnation: int
    to_incarnation: int
    sequence: int
    heard_to: int
    launches: tuple[Launch, ...] = ()
    declined: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()
    cancels: tuple[int, ...] = ()
    preemptions: tuple[PreemptionRequest, ...] = ()
    bid: Bid | None = None
    learnt: tuple[float, ...] = ()
    wants_verdict: bool = False


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """A Global Master missed a report, or is new, and wants everything."""

    global_master: GlobalMasterId
    incarnation: int


@dataclass(frozen=True, slots=True)
class NodeState:
    """One node as its Local Master knows it.

    Attributes:
        node: Index at the Local Master.
        free: Free amount of each resource type; what is offered to somebody is not free.
        properties: What `Need` compares with; None when unchanged since the last report.
    """

    node: int
    free: tuple[int, ...]
    properties: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class LaunchRejected:
    """A launch that the truth refused."""

    number: int
    kind: InconsistencyKind


@dataclass(frozen=True, slots=True)
class Ending:
    """A task that no longer runs.

    Attributes:
        ran_for_s: Seconds between its start and its end.
    """

    number: int
    task: TaskRef
    kind: EndingKind
    ran_for_s: float


@dataclass(frozen=True, slots=True)
class Offer:
    """Capacity that is kept for one Global Master until it answers or the offer expires.

    Attributes:
        number: Unique for each life of the Local Master.
        room: Free amount of each resource type that is kept.
        runner_up: Rank of the next best bidder; who needs it less than that should decline. None when there is none.
        is_for_short: Whether tasks that run long are to leave it.
    """

    number: int
    node: int
    room: tuple[int, ...]
    runner_up: Rank | None
    is_for_short: bool = False


@dataclass(frozen=True, slots=True)
class RunningLaunch:
    """A launch of the asking Global Master (of any life of it) that runs or is held."""

    number: int
    node: int
    need: Need
    task: TaskRef
    queue: str
    started_at_s: float


@dataclass(frozen=True, slots=True)
class LocalMasterReport:
    """All news of a Local Master for one Global Master: one message.

    Attributes:
        to_incarnation: Life of the Global Master that it is meant for; another one drops it.
        sequence: Counts from 1 for each life of the Local Master and each Global Master.
        is_full: Whether `nodes` lists every node and `running` every launch; else only changes.
        seen_to: Every launch request up to this sequence has been executed.
        seen_beyond: Requests above `seen_to` that have been executed as well.
        bid_version: Of the newest bid that the Local Master has of this Global Master; 0 for none.
        rival: Rank of the most urgent bid of anybody else there; None if there is none.
        waited_s: For how long somebody has bid there without a break, in seconds; 0 if nobody does.
        learnt: What other Global Masters have learnt, see `LaunchRequest`; of no consequence when it is lost.
        owners: For a full report, the Global Master of each node's partition.
        queue_usage: For a heartbeat, a full report, and the first report after a heartbeat that was left out: what each
            queue holds here.
    """

    local_master: LocalMasterId
    incarnation: int
    to_incarnation: int
    sequence: int
    occasion: Occasion
    is_full: bool = False
    seen_to: int = 0
    seen_beyond: tuple[int, ...] = ()
    nodes: tuple[NodeState, ...] = ()
    rejected: tuple[LaunchRejected, ...] = ()
    ended: tuple[Ending, ...] = ()
    offers: tuple[Offer, ...] = ()
    bid_version: int = 0
    rival: Rank | None = None
    waited_s: float = 0.0
    learnt: tuple[float, ...] = ()
    owners: tuple[GlobalMasterId, ...] = ()
    running: tuple[RunningLaunch, ...] = ()
    queue_usage: tuple[tuple[str, tuple[int, ...]], ...] = field(default=())
