"""Overview of several masters for operators: who lives and owns what, the links, what went wrong and was put right."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from shim.domain.ids import SubClusterId
from shim.domain.launches import Verdict
from shim.peers.following import Following, LinkStatus
from shim.peers.ownership import QueueOwnership
from shim.peers.passing_on import PassedOn
from shim.peers.roster import Roster, role_prefix
from shim.ports.clock import Clock
from shim.ports.lease_store import Lease

_SHOWN_AFTER_S = 60.0  # a lease that has ended: long enough to be seen by somebody


@dataclass(frozen=True, slots=True)
class MasterStatus:
    """A master by its lease.

    Attributes:
        name: `gm/<id>` or `lm/<sub-cluster>`.
        remaining_s: Until the lease ends, unless it is prolonged; not above 0 for one that has ended.
    """

    name: str
    address: str
    fence: int
    remaining_s: float


@dataclass(frozen=True, slots=True)
class QueueOwner:
    """A queue, and the Global Master that owns it; empty for nobody."""

    queue: str
    owner: str


@dataclass(frozen=True, slots=True)
class MastersStatus:
    """All of it.

    Attributes:
        name: Of the Global Master that tells; empty where the masters are all in one process.
        verdicts: How often Local Masters said what to this Global Master's proposals, by sub-cluster.
        repairs: Choices that were made again after a rejection.
        passed_on: Submissions that went to other Global Masters (`sent`), came from them (`taken`), or were taken
            here because their owner could not be asked (`failed`).
    """

    name: str = ""
    masters: tuple[MasterStatus, ...] = ()
    queues: tuple[QueueOwner, ...] = ()
    links: tuple[LinkStatus, ...] = ()
    verdicts: Mapping[tuple[SubClusterId, Verdict], int] = field(default_factory=dict)
    repairs: int = 0
    passed_on: Mapping[str, int] = field(default_factory=dict)

    @property
    def inconsistencies(self) -> int:
        """Proposals that were rejected: the view was not what the sub-cluster is."""
        return sum(count for (_, verdict), count in self.verdicts.items() if verdict is Verdict.REJECTED)


class PassedOnCounts:
    """Counts what was passed on, for one Global Master."""

    def __init__(self, me: str) -> None:
        self._me = me
        self.counts: Counter[str] = Counter({"sent": 0, "taken": 0, "failed": 0})

    def tell(self, passed: PassedOn) -> None:
        if passed.outcome is None:
            self.counts["failed"] += 1
        else:
            self.counts["taken" if passed.owner == self._me else "sent"] += 1


@dataclass(frozen=True, slots=True)
class MastersOverview:
    """Tells how one Global Master sees all masters."""

    ownership: QueueOwnership
    roster: Roster
    following: Following
    passed_on: PassedOnCounts
    clock: Clock

    def now(self) -> MastersStatus:
        """The state of things, from what is known here: nobody is asked."""
        now_s = self.clock.monotonic_s()
        owners = ((queue, self.ownership.owner_of(queue)) for queue in sorted(self.roster.queues()))
        return MastersStatus(
            name=self.ownership.me,
            masters=tuple(
                self._status(lease, now_s)
                for lease in self.roster.all()
                if role_prefix(lease.name) in ("gm/", "lm/") and self.roster.remaining_s(lease, now_s) > -_SHOWN_AFTER_S
            ),
            queues=tuple(QueueOwner(queue, owner.master if owner is not None else "") for queue, owner in owners),
            links=tuple(self.following.links()),
            verdicts=dict(self.following.verdicts),
            repairs=self.following.repairs,
            passed_on=dict(self.passed_on.counts),
        )

    def _status(self, lease: Lease, now_s: float) -> MasterStatus:
        remaining_s = self.roster.remaining_s(lease, now_s)
        return MasterStatus(lease.name, lease.address, lease.fence, round(max(0.0, remaining_s), 3))
