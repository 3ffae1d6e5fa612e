"""Applications, attempts and containers of a modelled ResourceManager."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from shim.domain.resources import ResourceVector

_EPOCH_SHIFT = 40
_MASTER = ResourceVector(512, 1)


@dataclass(frozen=True, slots=True)
class Order:
    """A submission, as a client asks for it.

    Attributes:
        program: What its ApplicationMaster runs: the command of its launch context.
        master: Size of its ApplicationMaster's container.
        keeps_containers: Whether its containers outlive an attempt.
    """

    id: ApplicationId
    user: str
    name: str
    queue: str
    program: str = ""
    master: ResourceVector = _MASTER
    kind: str = "YARN"
    tags: tuple[str, ...] = ()
    is_unmanaged: bool = False
    keeps_containers: bool = False
    most_attempts: int = 2


class ModelledContainerState(Enum):
    """State of a container."""

    ALLOCATED = "allocated"
    """A heartbeat gave it; its ApplicationMaster does not know it."""
    ACQUIRED = "acquired"
    """Its ApplicationMaster was told."""
    RUNNING = "running"
    """Its node has told of it."""


@dataclass(slots=True)
class ModelledContainer:
    """A live container.

    Attributes:
        since_s: When it got into its state, in virtual time.
        given_ms: When it was allocated, on the wall clock.
    """

    id: ContainerId
    node: NodeId
    resource: ResourceVector
    priority: int
    request_id: int
    given_ms: int
    since_s: float
    is_master: bool = False
    state: ModelledContainerState = ModelledContainerState.ALLOCATED


@dataclass(frozen=True, slots=True)
class ContainerEnd:
    """End of a container, as its ApplicationMaster is told."""

    id: ContainerId
    exit_status: int
    diagnostics: str = ""


@dataclass(slots=True)
class ModelledAttempt:
    """One attempt of an application.

    Attributes:
        heard_s: When its ApplicationMaster said something last, in virtual time.
        is_active: Whether the scheduler has it: its queue's part for ApplicationMasters was not used up.
        last_answer: The last answer to `allocate`, for a call that is repeated.
        gone: Ends that its ApplicationMaster is told next.
        told: Ends in the last answer: nodes tell of them again after a restart, as nobody has confirmed them
            (`NodeHeartbeatResponse.getContainersToBeRemovedFromNM`).
        known_nodes: Nodes for which its ApplicationMaster has a token.
    """

    id: ApplicationAttemptId
    heard_s: float
    master: ContainerId | None = None
    is_active: bool = False
    is_registered: bool = False
    is_over: bool = False
    response_id: int = 0
    last_answer: bytes = b""
    containers: dict[ContainerId, ModelledContainer] = field(default_factory=dict)
    fresh: list[ModelledContainer] = field(default_factory=list)
    gone: list[ContainerEnd] = field(default_factory=list)
    told: list[ContainerEnd] = field(default_factory=list)
    known_nodes: set[NodeId] = field(default_factory=set)
    count: int = 0

    def next_id(self, epoch: int) -> ContainerId:
        """The id of its next container; the ApplicationMaster's own is the first."""
        self.count += 1
        return ContainerId(self.id, (epoch << _EPOCH_SHIFT) | self.count)


@dataclass(slots=True)
class Application:
    """An application.

    Attributes:
        state: As the ResourceManager shows it (`YarnApplicationState`).
        granted: Live containers as they were granted: what nodes tell of after a restart carries as much.
        saved_s: From when on its ResourceManager knows it after a restart, in virtual time.
        mib_s: Memory that ended containers have used, in MiB x seconds; `vcore_s` likewise.
    """

    order: Order
    started_ms: int
    saved_s: float
    state: str = "ACCEPTED"
    final_status: str = "UNDEFINED"
    finished_ms: int = 0
    launched_ms: int = 0
    diagnostics: str = ""
    attempts: list[ModelledAttempt] = field(default_factory=list)
    granted: dict[ContainerId, ModelledContainer] = field(default_factory=dict)
    mib_s: float = 0.0
    vcore_s: float = 0.0

    @property
    def is_over(self) -> bool:
        """True if it is in a final state."""
        return self.state in {"FINISHED", "FAILED", "KILLED"}

    @property
    def attempt(self) -> ModelledAttempt:
        return self.attempts[-1]

    @property
    def live(self) -> Mapping[ContainerId, ModelledContainer]:
        """Containers of the application, its ApplicationMaster's included."""
        return {name: each for attempt in self.attempts for name, each in attempt.containers.items()}

    def at_queue(self, path: str) -> "Application":
        self.order = replace(self.order, queue=path)
        return self
