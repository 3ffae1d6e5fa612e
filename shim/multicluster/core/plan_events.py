"""Messages between the ledger of an attempt and the cycle of its queue: plans and verdicts in, requests out."""

from dataclasses import dataclass

from shim.domain.allocations import AskKey, TaggedSpot
from shim.domain.ids import ContainerId, SubClusterId
from shim.domain.launches import LaunchVerdict, Verdict
from shim.domain.requests import PendingRequest, RequestPlan
from shim.domain.resources import ResourceVector
from shim.multicluster.core.events import LedgerEffect, LedgerEvent


@dataclass(frozen=True, slots=True)
class PlanEvent(LedgerEvent):
    """News of a cycle, or of a Local Master, about an attempt's requests."""


@dataclass(frozen=True, slots=True)
class Planned(PlanEvent):
    """A cycle has run; requests that it does not name stay as they are."""

    plans: tuple[RequestPlan, ...]


@dataclass(frozen=True, slots=True)
class AllocationsVerified(PlanEvent):
    """Local Masters have answered proposals. Numbers are those of `Propose`."""

    verdicts: tuple[LaunchVerdict, ...]

    @property
    def is_rejected(self) -> bool:
        """Return whether there is less room for one of them than was proposed."""
        return any(each.verdict is Verdict.REJECTED for each in self.verdicts)


@dataclass(frozen=True, slots=True)
class ExpiredAllocation:
    """A tentative allocation that stands no more: it is too old, or reports show that others took the capacity."""

    subcluster: SubClusterId
    number: int
    count: int


@dataclass(frozen=True, slots=True)
class AllocationsExpired(PlanEvent):
    """Tentative allocations that nobody withdrew, and that stand no more."""

    expired: tuple[ExpiredAllocation, ...]


@dataclass(frozen=True, slots=True)
class Proceed(LedgerEvent):
    """Permission to go on to the home: the call's new asks are planned."""


@dataclass(frozen=True, slots=True)
class PlanEffect(LedgerEffect):
    """Wish of a ledger to its queue's cycle, or to Local Masters."""


@dataclass(frozen=True, slots=True)
class PublishRequests(PlanEffect):
    """Rows of the queue's next cycle.

    Attributes:
        requests: Those that changed; they take the place of earlier ones with the same key.
        dropped: Keys that want nothing any more, or are not for the cycle to plan.
        is_urgent: Whether no plan has looked at some of the containers yet: plan these requests at once.
    """

    requests: tuple[PendingRequest, ...]
    dropped: tuple[AskKey, ...] = ()
    is_urgent: bool = False


@dataclass(frozen=True, slots=True)
class Propose(PlanEffect):
    """Ask the Local Master of a sub-cluster for a tentative allocation.

    Attributes:
        number: Of the proposal; the ledger gives each number once.
        places: Hosts and racks that alone will do; empty for any.
    """

    subcluster: SubClusterId
    number: int
    key: AskKey
    count: int
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SettleAllocation(PlanEffect):
    """Tell the Local Master what became of a tentative allocation so far; counts only grow.

    Attributes:
        honoured: Containers that were granted.
        withdrawn: Those that nobody waits for any more.
    """

    subcluster: SubClusterId
    number: int
    honoured: int
    withdrawn: int


@dataclass(frozen=True, slots=True)
class ContainerGranted(PlanEffect):
    """A scheduler granted a container; `is_unplanned` says that it had no tentative allocation."""

    subcluster: SubClusterId
    key: AskKey
    is_unplanned: bool = False


@dataclass(frozen=True, slots=True)
class ContainerBegan(PlanEffect):
    """The attempt has a container.

    Attributes:
        since_s: Since when, in seconds since the epoch; None for since now.
        resource: Its size; None if an earlier ledger was granted it.
        spot: Where it is, as far as its scheduler has told.
    """

    container: ContainerId
    since_s: float | None = None
    resource: ResourceVector | None = None
    spot: TaggedSpot | None = None


@dataclass(frozen=True, slots=True)
class ContainerEnded(PlanEffect):
    """The attempt has it no more; `is_whole` says whether it ran for as long as its ApplicationMaster wanted it."""

    container: ContainerId
    is_whole: bool


@dataclass(frozen=True, slots=True)
class LeftQueue(PlanEffect):
    """The attempt wants nothing any more: its rows go."""
