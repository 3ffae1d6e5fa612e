"""Events that the ledger of an attempt takes, and effects that it wants carried out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from shim.domain.allocations import (
    AllocateAnswer,
    AllocateCall,
    AskKey,
    ConstraintHandling,
    Grant,
    NodeToken,
    PendingRequest,
    RequestPlan,
    RunningContainer,
    SessionRequest,
    TaggedSpot,
)
from shim.domain.ids import ContainerId, SubClusterId
from shim.domain.launches import LaunchVerdict, Verdict
from shim.domain.resources import ResourceVector

# The capacity of a sub-cluster, as far as a queue may use it.


@dataclass(frozen=True, slots=True)
class ClusterCapacity:
    """Capacity of a sub-cluster for one queue.

    Attributes:
        is_home: Whether the application's own ApplicationMaster runs there.
        weight: How much the queue prefers it; 1 is usual, 0 is never.
        rack_names: Every rack; found out from `racks` if not given.
        labels: Node labels that the queue may ask for; `*` for all.
        constraints: How its scheduler takes asks with a placement constraint; None as long as that is not known.
        is_trial: Whether nobody knows if the application finds there what it needs: one container is to try.
    """

    subcluster: SubClusterId
    is_home: bool = False
    is_open: bool = True
    free: ResourceVector = field(default_factory=ResourceVector)
    size: ResourceVector = field(default_factory=ResourceVector)
    largest: ResourceVector = field(default_factory=ResourceVector)
    weight: float = 1.0
    nodes: int = 0
    racks: Mapping[str, str] = field(default_factory=dict)
    labels: frozenset[str] = frozenset()
    rack_names: frozenset[str] = frozenset()
    age_s: float = 0.0
    constraints: ConstraintHandling | None = None
    is_trial: bool = False

    def __post_init__(self) -> None:
        if self.racks and not self.rack_names:
            object.__setattr__(self, "rack_names", frozenset(self.racks.values()))

    def has_place(self, place: str) -> bool:
        """Return whether a host or rack of this name is there."""
        return place in self.racks or place in self.rack_names


@dataclass(frozen=True, slots=True)
class LedgerEvent:
    """Base of events."""


@dataclass(frozen=True, slots=True)
class AMRegistered(LedgerEvent):
    """The ApplicationMaster has registered, for the first time or again: its next call says all its asks.

    Attributes:
        home_response_id: What its home expects as the id of the next `allocate`.
        is_resumed: Whether the home has heard of this attempt before, from an earlier ledger. Its next answer may be
            the repetition of one that was lost, whatever is asked: so nothing is asked in that call. From then on
            the home's ids are ahead of the ApplicationMaster's by `home_response_id`.
    """

    home_response_id: int = 0
    is_resumed: bool = False


@dataclass(frozen=True, slots=True)
class AMCalled(LedgerEvent):
    """The ApplicationMaster calls `allocate`.

    Attributes:
        capacities: The sub-clusters as they are known now; the home is always one of them.
        at_s: Now, by a clock that is never set.
    """

    call: AllocateCall
    capacities: tuple[ClusterCapacity, ...]
    at_s: float = 0.0


@dataclass(frozen=True, slots=True)
class CapacityChanged(LedgerEvent):
    """News of capacity since the ApplicationMaster's last call: a Local Master has answered."""

    capacities: tuple[ClusterCapacity, ...]


@dataclass(frozen=True, slots=True)
class Beat(LedgerEvent):
    """Time to speak to a session, whether or not the ApplicationMaster called."""

    subcluster: SubClusterId
    at_s: float = 0.0


@dataclass(frozen=True, slots=True)
class SessionOpened(LedgerEvent):
    """Heddle's own ApplicationMaster there has registered, for the first time or again.

    Attributes:
        live: Containers that run there for the application.
        known: Those of them that the ApplicationMaster was given before this ledger existed.
        orphans: Containers that an attempt before was given, and this one is not told of: to be released.
    """

    subcluster: SubClusterId
    live: tuple[Grant, ...] = ()
    node_tokens: tuple[NodeToken, ...] = ()
    known: frozenset[ContainerId] = frozenset()
    orphans: frozenset[ContainerId] = frozenset()


@dataclass(frozen=True, slots=True)
class FoundAtHome(LedgerEvent):
    """Containers at home of an attempt that registered there before this ledger existed.

    Attributes:
        known: Those of them that the ApplicationMaster was given; None if that was not kept, as it had no gang.
    """

    running: tuple[RunningContainer, ...]
    known: frozenset[ContainerId] | None = None


@dataclass(frozen=True, slots=True)
class SessionAnswered(LedgerEvent):
    """A scheduler answered the request with this serial number."""

    subcluster: SubClusterId
    serial: int
    answer: AllocateAnswer


@dataclass(frozen=True, slots=True)
class SessionRefused(LedgerEvent):
    """A scheduler refused the whole of a request, and used up none of its ids.

    Attributes:
        java_class: Of the exception that it answered.
        expected_id: The response id that it says it expects, if that was the trouble.
    """

    subcluster: SubClusterId
    serial: int
    java_class: str
    message: str
    expected_id: int | None = None


@dataclass(frozen=True, slots=True)
class SessionForgotten(LedgerEvent):
    """A scheduler answers that the ApplicationMaster is not registered: it has restarted, and knows no asks."""

    subcluster: SubClusterId
    serial: int


@dataclass(frozen=True, slots=True)
class SessionLost(LedgerEvent):
    """A session could not be opened, or its sub-cluster is given up until it is back.

    One that was open before is to be opened again as soon as that is possible, without another word.

    Attributes:
        reason: For people; stands in the diagnostics of its containers.
    """

    subcluster: SubClusterId
    reason: str


@dataclass(frozen=True, slots=True)
class NotRunning(LedgerEvent):
    """A ResourceManager was asked about containers, and lists none of these: the answer to `AskRunning`."""

    subcluster: SubClusterId
    containers: tuple[ContainerId, ...]


@dataclass(frozen=True, slots=True)
class Recall(LedgerEvent):
    """The attempt's queue holds more than its share, or does so no more."""


@dataclass(frozen=True, slots=True)
class DemandCap(Recall):
    """The Global Master says how much may be asked for: what is beyond it waits here.

    Attributes:
        amount: Of what is not granted yet; None for all of it.
    """

    amount: ResourceVector | None


@dataclass(frozen=True, slots=True)
class HeldBack(Recall):
    """An altruistic job puts tasks off: so many containers are not asked for as yet.

    It lapses by itself after a few calls of the ApplicationMaster: whoever holds back says so again in time.

    Attributes:
        counts: Containers of each ask that stay here; what is not named goes out.
    """

    counts: Mapping[AskKey, int]


@dataclass(frozen=True, slots=True)
class PreemptionRequested(Recall):
    """Containers are asked back from the ApplicationMaster, in each answer.

    Attributes:
        is_strict: Whether they will be taken in any case.
    """

    containers: tuple[ContainerId, ...]
    is_strict: bool


@dataclass(frozen=True, slots=True)
class PreemptionCancelled(Recall):
    """Containers that were asked back may stay."""

    containers: tuple[ContainerId, ...]


@dataclass(frozen=True, slots=True)
class ReleaseOrder(Recall):
    """Containers are to be released."""

    containers: tuple[ContainerId, ...]


@dataclass(frozen=True, slots=True)
class Finished(LedgerEvent):
    """The application has ended, or its ApplicationMaster says that it will."""


@dataclass(frozen=True, slots=True)
class LedgerEffect:
    """Base of effects."""


@dataclass(frozen=True, slots=True)
class CallSession(LedgerEffect):
    """Call `allocate` of a scheduler. A request that was not answered is said again in the same words."""

    subcluster: SubClusterId
    request: SessionRequest


@dataclass(frozen=True, slots=True)
class OpenSession(LedgerEffect):
    """Start, or register again, Heddle's own ApplicationMaster in a sub-cluster."""

    subcluster: SubClusterId


@dataclass(frozen=True, slots=True)
class AskRunning(LedgerEffect):
    """Ask a ResourceManager whether containers run that it did not know of when it had restarted.

    Not before its nodes have had their time to register.
    It knows a container again once its node has registered, and tells no ApplicationMaster of that. What was granted
    and never started it knows no more.
    """

    subcluster: SubClusterId
    containers: tuple[ContainerId, ...]


@dataclass(frozen=True, slots=True)
class CloseSession(LedgerEffect):
    """Finish Heddle's own ApplicationMaster in a sub-cluster."""

    subcluster: SubClusterId


@dataclass(frozen=True, slots=True)
class AnswerAM(LedgerEffect):
    """Answer the ApplicationMaster."""

    answer: AllocateAnswer


@dataclass(frozen=True, slots=True)
class RefuseAM(LedgerEffect):
    """The ApplicationMaster is answered with an exception."""

    java_class: str
    message: str


class Fate(Enum):
    """Fates of containers, as they are stored."""

    GIVEN = "given"
    """The ApplicationMaster has been told of them."""
    ENDED = "ended"
    """It knows that they have ended."""


@dataclass(frozen=True, slots=True)
class Remember(LedgerEffect):
    """Store facts about containers beyond the home that another ledger would need, should this one be lost.

    Attributes:
        answer: Response id of the answer that gives them: an answer that dies with this ledger was not heard, which
            the ApplicationMaster's next call shows. 0 where they have ended.
    """

    subcluster: SubClusterId
    fate: Fate
    containers: tuple[ContainerId, ...]
    answer: int = 0


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
