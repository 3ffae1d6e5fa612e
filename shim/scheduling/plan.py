"""Decisions of one scheduling cycle: how many of each request are granted where, held, reserved, or taken back.

Every decision has a reason: a code for programs, and a text that `heddle app why` shows. Texts are made only when
somebody reads them.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from shim.domain.messages import Rank
from shim.domain.resources import Need
from shim.scheduling.snapshot import Scope


class ReasonCode(Enum):
    """Kind of a reason; the value is the text, with the facts' places in it."""

    ROOM = "there is room for {count} on {place}"
    PREFERRED = "{place} is a place that the application named"
    BORROWED = "there is room on {place}, which another Global Master owns"
    OFFERED = "the Local Master offered room on {place}"
    NO_ROOM = "no node that will do has room for {count} more"
    GANG = "all {count} of its containers start together or none does; there was room for {found}"
    ABOVE_SHARE = "queue {queue} holds its share or more, and something was asked back of it lately"
    LIMITED = "its named places, or the limits of queue {queue}, leave no room for more of it"
    WAITS_FOR_PLACE = "it waits for one of its named places, {left_s:.1f} s more at most"
    TAKEN_FOR_SHARE = "queue {victim} holds more than its share, and queue {taker} less"
    POLICY = "{text}"
    """A policy's own words."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Reason of a decision."""

    code: ReasonCode
    facts: tuple[tuple[str, object], ...] = ()

    @property
    def text(self) -> str:
        return self.code.value.format_map(_Facts(self.facts))


class _Facts(dict[str, object]):
    """Facts of a text; what nobody told is left out."""

    def __missing__(self, key: str) -> object:
        return _Unknown()


class _Unknown:
    """Prints as a dash, whatever the format asks."""

    def __format__(self, spec: str) -> str:
        return "-"


@dataclass(slots=True)
class PlannedGrant:
    """Containers of one request that may start; never changed, and not frozen, as that takes three times as long.

    Attributes:
        scope: How closely the place is named; `place` is then a row of nodes or clusters, or a rack's number.
        is_borrowed: Whether the room belongs to another Global Master's partition.
        offer: Number of the offer that is used; 0 for none.
    """

    request: int
    count: int
    scope: Scope
    place: int
    reason: Reason
    is_borrowed: bool = False
    offer: int = 0


@dataclass(frozen=True, slots=True)
class Hold:
    """Containers of one request that wait on purpose, or because nothing is free.

    Attributes:
        until_s: When it is looked at again even if nothing changed; None when only a change helps.
    """

    request: int
    count: int
    reason: Reason
    until_s: float | None = None


@dataclass(frozen=True, slots=True)
class PlannedReservation:
    """Room that nobody else is given for some time.

    Attributes:
        from_s: When it begins; `to_s` is when it ends.
    """

    request: int
    count: int
    scope: Scope
    place: int
    from_s: float
    to_s: float
    reason: Reason


@dataclass(frozen=True, slots=True)
class TakeBack:
    """Capacity that goes from one queue to another.

    Attributes:
        need: What has to fit where something was taken back.
        rank: Urgency of that request.
        containers: Rows of running containers; empty when the Local Master picks.
    """

    victim: int
    cluster: int
    need: Need
    request: int
    rank: Rank
    reason: Reason
    containers: tuple[int, ...] = ()


class MadeBy(Enum):
    """Maker of a plan."""

    EXACT = "exact"
    BOUNDED = "bounded"
    """A solver ran out of time; `Plan.bound` says how far off the best it can be."""
    GREEDY = "greedy"


@dataclass(frozen=True, slots=True)
class Turns:
    """The requests that take a turn, in their order: an index over rows, each column as long as the first.

    Attributes:
        rows: Of the requests.
        keys: What the policy's ordering computed; the smaller goes first.
        deficits: How far below its share the job's queue is; smaller goes first, 1 is for those who hold theirs.
        priorities: Of the jobs; larger goes first.
        are_long: Whether the tasks run long, as far as is known: they leave some room free for short ones.
    """

    rows: Sequence[int] = ()
    keys: Sequence[float] = ()
    deficits: Sequence[float] = ()
    priorities: Sequence[float] = ()
    are_long: Sequence[bool] = ()

    def at(self, positions: Sequence[int]) -> "Turns":
        """Those at some positions, in that order."""
        return Turns(
            [self.rows[at] for at in positions],
            [self.keys[at] for at in positions],
            [self.deficits[at] for at in positions],
            [self.priorities[at] for at in positions],
            [self.are_long[at] for at in positions],
        )


NO_TURNS = Turns()


@dataclass(frozen=True, slots=True)
class Plan:
    """Decisions of a cycle.

    Attributes:
        grants: In the order in which they were decided.
        declined: Numbers of offers that are left, or used only partly.
        turns: The order; empty when nothing could be placed at all, so that none was needed.
        shares: Containers that a job may count on, by its row; empty where no policy promises any.
        objective: What a solver maximised, and `bound` the most that is possible; None where nothing is maximised.
    """

    grants: Sequence[PlannedGrant] = ()
    holds: Sequence[Hold] = ()
    reservations: Sequence[PlannedReservation] = ()
    take_backs: Sequence[TakeBack] = ()
    declined: Sequence[int] = ()
    used_offers: int = 0
    turns: Turns = NO_TURNS
    shares: Mapping[int, int] = field(default_factory=dict)
    made_by: MadeBy = MadeBy.GREEDY
    objective: float | None = None
    bound: float | None = None

    def granted(self) -> Mapping[int, int]:
        """Number of containers of each request that are granted anywhere."""
        counts: defaultdict[int, int] = defaultdict(int)
        for grant in self.grants:
            counts[grant.request] += grant.count
        return counts


NO_PLAN = Plan()
