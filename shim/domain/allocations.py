"""Messages of `allocate` between an ApplicationMaster and a scheduler, as far as Heddle decides on them.

Whatever is not decided on travels as the bytes that it came in: `raw` is one serialized message, `rest` is what is left
of a whole one when the parts beside it were taken out.

Source: `AllocateRequest`, `AllocateResponse`, `ResourceRequest`, `Container`, `ContainerStatus` of YARN's API.

What an attempt wants of one kind, from its ledger to the cycle of its queue, and what a cycle plans for it.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from shim.domain.ids import ContainerId, NodeId, SubClusterId
from shim.domain.launches import WorkEstimate
from shim.domain.resources import ResourceVector

ANY = "*"
"""Place of an ask that any node may grant: its count is the number of containers that are wanted."""

LOST_EXIT_STATUS = -100
"""`ContainerExitStatus.ABORTED`: not the program's fault, so that the ApplicationMaster asks for another container."""

ENDED_BY_ITSELF = frozenset({0, -105})
"""`ContainerExitStatus.SUCCESS`, `KILLED_BY_APPMASTER`: it was wanted no longer."""


class ConstraintHandling(Enum):
    """Way of a scheduler with asks that have a placement constraint.

    Values: those of `yarn.resourcemanager.placement-constraints.handler`.
    """

    NONE = "disabled"
    """It refuses every call with such an ask."""
    TOTALS = "scheduler"
    """A count takes the place of the last one, and waits until it is granted."""
    ADDS = "placement-processor"
    """A count adds to what is pending, cannot be taken back, and is granted or rejected within a few calls."""


@dataclass(frozen=True, slots=True)
class TagBound:
    """Bounds of how many other containers with a tag the node, or the rack, of a container may hold.

    Attributes:
        whose: Which applications' containers count: `self`, `all`, `not-self`, or `app-id/` with an id.
    """

    tag: str
    least: int = 0
    most: int | None = None
    is_rack: bool = False
    whose: str = "self"


@dataclass(frozen=True, slots=True)
class PlacementConstraint:
    """Tags of the containers of a `SchedulingRequest`, and where these may be.

    Attributes:
        constraint: Serialized `PlacementConstraintProto`, with the one that was registered for these tags.
        needs: Tags that containers of the application must have there already (affinity).
        most_a_node: Most containers with these tags on one node, as far as the constraint bounds them.
        is_local: Whether each cluster can judge it by what runs there.
        choices: The constraint as conjunctions of which one shall hold; none where there is no constraint, or where it
            speaks of anything else than tags on nodes and racks.
    """

    tags: frozenset[str] = frozenset()
    constraint: bytes = b""
    needs: frozenset[str] = frozenset()
    most_a_node: int | None = None
    is_local: bool = False
    choices: tuple[tuple[TagBound, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class TaggedSpot:
    """A node where a container with tags is.

    Attributes:
        placement: What its ask wanted; its tags alone where that is not known.
    """

    node: NodeId
    placement: PlacementConstraint


@dataclass(frozen=True, slots=True)
class AskKey:
    """Asks with equal keys are for containers that can stand for each other.

    Attributes:
        priority: Of the containers; smaller goes first.
        allocation_request_id: Drawn by the ApplicationMaster; -1 if it draws none.
        is_opportunistic: Whether the containers may queue at a node.
        label: Node label expression; empty for none.
        placement: Of a `SchedulingRequest`; None for a `ResourceRequest`.
    """

    priority: int
    allocation_request_id: int
    is_opportunistic: bool
    resource: ResourceVector
    label: str = ""
    placement: PlacementConstraint | None = None
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Hash once: thousands of rows of a call are kept by key and place, and each is looked up several times."""
        kind = (self.priority, self.allocation_request_id, self.is_opportunistic, self.label)
        object.__setattr__(self, "_hash", hash((kind, self.resource, self.placement)))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True)
class Ask:
    """One row of asks: a count that takes the place of the last one for the same key and place.

    Attributes:
        place: A host, a rack (`/rack`) or `ANY`.
        relaxes: Whether the scheduler may grant them elsewhere than at this place.
        raw: The serialized `ResourceRequestProto`, or `SchedulingRequestProto` without its count.
    """

    key: AskKey
    place: str
    count: int
    relaxes: bool = True
    raw: bytes = b""

    def at_most(self, count: int) -> "Ask":
        return self if self.count <= count else Ask(self.key, self.place, count, self.relaxes, self.raw)


@dataclass(frozen=True, slots=True)
class UpdateRequest:
    """A change of a container's size or execution type.

    Attributes:
        raw: The serialized `UpdateContainerRequestProto`.
    """

    container: ContainerId
    raw: bytes


@dataclass(frozen=True, slots=True)
class AllocateCall:
    """One `allocate` request of an ApplicationMaster.

    Attributes:
        rest: Progress, tracking address and what nobody here knows: for its home alone.
    """

    response_id: int
    asks: tuple[Ask, ...] = ()
    releases: tuple[ContainerId, ...] = ()
    blacklist_additions: tuple[str, ...] = ()
    blacklist_removals: tuple[str, ...] = ()
    updates: tuple[UpdateRequest, ...] = ()
    rest: bytes = b""


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """One `allocate` request to a scheduler; repeated in the same words until it is answered.

    Attributes:
        serial: Counts the requests of a ledger: an answer names the one that it answers.
        asks: With counts of this session, not of the ApplicationMaster.
    """

    serial: int
    response_id: int
    asks: tuple[Ask, ...] = ()
    releases: tuple[ContainerId, ...] = ()
    blacklist_additions: tuple[str, ...] = ()
    blacklist_removals: tuple[str, ...] = ()
    updates: tuple[UpdateRequest, ...] = ()
    rest: bytes = b""


@dataclass(frozen=True, slots=True)
class Grant:
    """A container that a scheduler gives.

    Attributes:
        tags: Of its `SchedulingRequest`.
        raw: The serialized `ContainerProto`, with the token that its node asks for.
    """

    container: ContainerId
    node: NodeId
    priority: int
    allocation_request_id: int
    resource: ResourceVector
    raw: bytes = b""
    tags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RejectedAsk:
    """Containers that a scheduler has found no place for; it tries no more.

    Attributes:
        raw: The serialized `SchedulingRequestProto`.
    """

    priority: int
    allocation_request_id: int
    tags: frozenset[str]
    count: int
    reason: int
    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class RunningContainer:
    """A container that runs, as its ResourceManager tells whoever asks; it does not tell whether its master has it.

    Attributes:
        grant: As it was given, without what only its master is told.
        since_s: When it was given; seconds since the epoch, by the ResourceManager's clock.
    """

    grant: Grant
    since_s: float


@dataclass(frozen=True, slots=True)
class Ended:
    """A container that is no more.

    Attributes:
        raw: The serialized `ContainerStatusProto`; empty if no scheduler said it, but Heddle.
    """

    container: ContainerId
    exit_status: int
    diagnostics: str = ""
    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class PreemptedContainer:
    """A container that the ApplicationMaster shall give back, as somebody else is entitled to it.

    Attributes:
        is_strict: Whether it will go in any case; else something of the same size does as well.
        grant: As its scheduler gave it, with its size.
    """

    container: ContainerId
    is_strict: bool
    grant: Grant | None = None


@dataclass(frozen=True, slots=True)
class NodeToken:
    """NMToken: lets an ApplicationMaster start containers at a node.

    Attributes:
        raw: The serialized `NMTokenProto`.
    """

    node: NodeId
    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class NodeNews:
    """A node went away with its whole sub-cluster, or came back with it: its own scheduler cannot tell.

    An ApplicationMaster runs again what it had finished on a lost node and still needs, such as the output of maps.
    """

    node: NodeId
    is_lost: bool


@dataclass(frozen=True, slots=True)
class AllocateAnswer:
    """A scheduler's answer to one `allocate`.

    Attributes:
        joined: Serialized parts that go to the ApplicationMaster from any scheduler: node reports, preemption,
            changes of containers. Such bytes of several schedulers, one after the other, are all of them.
        rest: Everything else, serialized: only the home's concerns the ApplicationMaster.
        news: Nodes that are lost or back with their sub-cluster.
        asked_back: Containers that Heddle asks back; what a scheduler itself asks back is in `joined`.
        am_rm_token: A new token of this scheduler for the session, serialized; empty if there is none.
    """

    response_id: int
    grants: tuple[Grant, ...] = ()
    ended: tuple[Ended, ...] = ()
    node_tokens: tuple[NodeToken, ...] = ()
    headroom: ResourceVector = field(default_factory=ResourceVector)
    nodes: int = 0
    joined: bytes = b""
    rest: bytes = b""
    news: tuple[NodeNews, ...] = ()
    asked_back: tuple[PreemptedContainer, ...] = ()
    am_rm_token: bytes = b""
    rejected: tuple[RejectedAsk, ...] = ()


NEAR_DATA = "read_across_s"
"""With this begins the reason of a plan that keeps a request to sub-clusters near its data, all of it asked for or not;
it is the name of the key that says for how long."""


HeldTags = Mapping[SubClusterId, Mapping[frozenset[str], int]]
"""How many containers the application has with exactly these tags, by sub-cluster."""


class ClaimedCapacity:
    """Capacity that asks with a constraint ask for already: DistributedShell has one ask for each container."""

    def __init__(self) -> None:
        self._tags: dict[SubClusterId, Counter[frozenset[str]]] = {}
        self._amounts: dict[SubClusterId, ResourceVector] = {}

    def add(self, key: AskKey, targets: Mapping[SubClusterId, int], sign: int = 1) -> None:
        tags = frozenset() if key.placement is None else key.placement.tags
        for name, count in targets.items():
            self._tags.setdefault(name, Counter())[tags] += sign * count
            self._amounts[name] = self.amount(name) + key.resource.times(sign * count)

    def tagged(self, subcluster: SubClusterId, tags: frozenset[str]) -> int:
        return count_tagged(self._tags.get(subcluster, {}), tags)

    def amount(self, subcluster: SubClusterId) -> ResourceVector:
        return self._amounts.get(subcluster, ResourceVector())


@dataclass(frozen=True, slots=True)
class TagCounts:
    """Containers that a constraint looks at."""

    held: HeldTags = field(default_factory=dict)
    claimed: ClaimedCapacity = field(default_factory=ClaimedCapacity)


def count_tagged(counts: Mapping[frozenset[str], int], tags: frozenset[str]) -> int:
    return sum(count for each, count in counts.items() if tags <= each)


@dataclass(frozen=True, slots=True)
class GangDemand:
    """The part of a gang that is not granted yet, over all keys of its attempt.

    Attributes:
        count: How many schedulers may be asked for, together; 0 for none at present.
        text: Where the gang stands, for people.
    """

    count: int
    text: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """Containers of one ask key of one attempt that are wanted and that no scheduler has granted.

    The ledger makes it from what the ApplicationMaster asks for, and has it split over sub-clusters; the splitter adds
    what is allocated and where it may be, and publishes it to the queue's cycle. What only the split looks at makes no
    other request for the cycle, and is not compared.

    Attributes:
        named: How many are wanted at each host and rack that the asks name; in a cycle, what is left of that.
        is_strict: Whether they may be at those places alone; `places` are then the hosts, and the racks that will do.
        starved: For how many beats each session has granted none of them.
        refused: Sub-clusters whose scheduler refused such an ask.
        rejected: Sub-clusters that found no place for containers with this placement.
        is_limited: Whether more is wanted than may be asked for: the rest is held back, or beyond an allowance.
        tags: What a placement constraint is judged by; None for nothing of the kind. It is looked at within a split.
        held: Containers that the attempt has, of whatever kind.
        gang: Where all that the attempt wants is to be had together, with any of its keys; None where each is by
            itself.
        tentative: Those of them with a tentative allocation, by sub-cluster; verdicts that are on their way count.
        queued: Those that a scheduler is asked for without one.
        avoided: Sub-clusters that granted nothing for too long: nothing new starts there.
        unresponsive: Sub-clusters that grant nothing although there is capacity: this request goes before no other
            there.
        local: How many are wanted at named hosts of each sub-cluster, or at racks that tell sub-clusters apart.
        weights: How much the queue prefers each sub-cluster; 1 for those that are not in here.
        most_at: How many containers with its tags a placement constraint leaves to each sub-cluster, beside those that
            the attempt has; no entry where it bounds nothing. Tentative allocations are not taken off.
    """

    key: AskKey
    wanted: int
    named: Mapping[str, int] = field(default_factory=dict)
    is_strict: bool = False
    places: tuple[str, ...] = ()
    standing: Mapping[SubClusterId, int] = field(default_factory=dict, compare=False)
    starved: Mapping[SubClusterId, int] = field(default_factory=dict, compare=False)
    refused: frozenset[SubClusterId] = field(default=frozenset(), compare=False)
    rejected: frozenset[SubClusterId] = field(default=frozenset(), compare=False)
    is_limited: bool = field(default=False, compare=False)
    tags: TagCounts | None = field(default=None, compare=False)
    held: int = 0
    gang: GangDemand | None = None
    tentative: Mapping[SubClusterId, int] = field(default_factory=dict)
    queued: Mapping[SubClusterId, int] = field(default_factory=dict)
    may_use: frozenset[SubClusterId] = frozenset()
    avoided: frozenset[SubClusterId] = frozenset()
    unresponsive: frozenset[SubClusterId] = frozenset()
    local: Mapping[SubClusterId, int] = field(default_factory=dict)
    weights: Mapping[SubClusterId, float] = field(default_factory=dict)
    most_at: Mapping[SubClusterId, int] = field(default_factory=dict)

    @property
    def unallocated(self) -> int:
        """Containers without a tentative allocation."""
        return max(0, self.wanted - sum(self.tentative.values()))

    @property
    def withheld(self) -> int:
        """Containers that no scheduler is asked for, as other attempts go first."""
        return max(0, self.wanted - sum(self.tentative.values()) - sum(self.queued.values()))

    @property
    def is_withheld(self) -> bool:
        """Return whether nothing may be asked for at present: a part of a gang could be had, and not all of it."""
        return self.gang is not None and not self.gang.count


@dataclass(frozen=True, slots=True)
class RequestPlan:
    """Decision of a cycle on one request.

    Attributes:
        starts: Containers to be allocated tentatively, by sub-cluster, beyond those that are.
        may_queue: Sub-clusters whose scheduler may be asked for the rest: no other attempt goes first there.
        at_most: Containers that such a scheduler may be asked for without a tentative allocation; all of the rest where
            it has no entry.
        behind: Applications that go first somewhere, the first of them first.
        reason: For people; empty where `behind` and `capacity` say it all.
        made_by: `exact`, `bounded` or `greedy`.
        estimate: What the order expects of the attempt, if it goes by learnt durations.
        rule: The policy that decided, by the name that the queue's configuration has for it.
        hosts: Containers of `starts` that are for one host, by sub-cluster and host; None where the policy leaves hosts
            to the schedulers.
        is_late_bound: Whether each of `may_queue` is asked for all of the rest at once. Whichever grants first binds a
            container, and the others are asked for one less.
    """

    key: AskKey
    starts: Mapping[SubClusterId, int] = field(default_factory=dict)
    may_queue: frozenset[SubClusterId] = frozenset()
    at_most: Mapping[SubClusterId, int] = field(default_factory=dict)
    behind: tuple[str, ...] = ()
    capacity: Mapping[SubClusterId, int] = field(default_factory=dict)
    reason: str = ""
    made_by: str = "greedy"
    estimate: WorkEstimate | None = None
    rule: str = ""
    hosts: Mapping[SubClusterId, Mapping[str, int]] | None = None
    is_late_bound: bool = False
