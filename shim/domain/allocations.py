"""Messages of `allocate` between an ApplicationMaster and a scheduler, as far as Heddle decides on them.

Whatever is not decided on travels as the bytes that it came in: `raw` is one serialized message, `rest` is what is left
of a whole one when the parts beside it were taken out.

Source: `AllocateRequest`, `AllocateResponse`, `ResourceRequest`, `Container`, `ContainerStatus` of YARN's API.
"""

from dataclasses import dataclass, field
from enum import Enum

from shim.domain.ids import ContainerId, NodeId
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
        most: None for no bound.
        is_rack: Whether the whole rack is looked at, not the node.
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
        tags: Of the containers.
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
        resource: Of each container.
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
        count: How many containers are wanted there, in all.
        relaxes: Whether the scheduler may grant them elsewhere than at this place.
        raw: The serialized `ResourceRequestProto`, or `SchedulingRequestProto` without its count.
    """

    key: AskKey
    place: str
    count: int
    relaxes: bool = True
    raw: bytes = b""

    def at_most(self, count: int) -> "Ask":
        """The same row for no more than so many containers."""
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
        response_id: Of the last answer that it has.
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
        reason: Number of a `RejectionReasonProto`.
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
        headroom: What the application could still get.
        nodes: How many nodes the cluster has.
        joined: Serialized parts that go to the ApplicationMaster from any scheduler: node reports, preemption,
            changes of containers. Such bytes of several schedulers, one after the other, are all of them.
        rest: Everything else, serialized: only the home's concerns the ApplicationMaster.
        news: Nodes that are lost or back with their sub-cluster.
        asked_back: Containers that Heddle asks back; what a scheduler itself asks back is in `joined`.
        am_rm_token: A new token of this scheduler for the session, serialized; empty if there is none.
        rejected: Asks with a placement that found none.
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
