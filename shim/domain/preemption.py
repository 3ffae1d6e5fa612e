"""Containers that one queue holds beyond its share while another waits for its own: values only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.resources import ResourceVector

PREEMPTED_EXIT_STATUS = -102
"""`ContainerExitStatus.PREEMPTED`: ApplicationMasters do not count it as a failure of the task."""

PREEMPTED_DIAGNOSTICS = "Container preempted by scheduler"
"""`SchedulerUtils.PREEMPTED_CONTAINER`: what a ResourceManager says of a container that it took itself."""


class PreemptionStage(Enum):
    """Stage of taking back from a queue that holds too much, in this order; the last two end it."""

    HELD_BACK = "held back"
    """Its applications' asks are not passed on: what ends is not replaced."""
    ASKED = "asked back"
    """The ApplicationMaster is told, and may give something else of the same size instead."""
    DEMANDED = "demanded"
    """It is told that this container will go."""
    RELEASED = "released"
    SPARED = "spared"
    """Whoever waited has got its share otherwise, or wants it no more."""


@dataclass(frozen=True, slots=True)
class PreemptionSettings:
    """Patience.

    Attributes:
        preempt_after_s: A queue must have been owed something for this long before containers are asked back.
        preempt_grace_s: From asking a container back to taking it; in the second half it is demanded.
        settle_s: What has gone counts as on its way for this long, until reports show who has it now.
        idle_s: A queue that leaves what is free for it for this long cannot use it, and nothing is kept for it.
        stale_s: While a sub-cluster does not tell how it is, asks that are held back stay so for this long.
        stuck_s: A release that takes longer does not count as on its way any more; nor does what was begun before this
            process, and was not seen since.
    """

    preempt_after_s: float
    preempt_grace_s: float
    settle_s: float
    idle_s: float = 30.0
    stale_s: float = 10.0
    stuck_s: float = 60.0


def settling_s(poll_interval_s: float) -> float:
    """Time in which reports show who has what went: three polls of every sub-cluster, and no less than five seconds."""
    return max(5.0, 3 * poll_interval_s)


@dataclass(frozen=True, slots=True)
class PreemptionAct:
    """One act of preemption.

    Attributes:
        at_ms: When; milliseconds since the epoch.
        stage: What was done; None if asks go out again.
        container: Which; None where it concerns asks.
        taker: The queue that waits for its share, or the job that a lent one goes back to; empty where it concerns
            asks.
        room: Names the containers that go together, to make room for one of the taker's.
    """

    at_ms: int
    application: ApplicationId
    queue: str
    stage: PreemptionStage | None
    reason: str
    container: ContainerId | None = None
    subcluster: SubClusterId | None = None
    taker: str = ""
    room: str = ""

    @property
    def done(self) -> str:
        return "passed on again" if self.stage is None else self.stage.value


@dataclass(frozen=True, slots=True)
class HeldContainer:
    """A container of an application whose calls Heddle reads.

    Attributes:
        queue: Path of its queue in the policy.
        since_s: When it was first seen; seconds since the epoch.
        is_given: Whether its ApplicationMaster has been told of it.
        is_home: Whether its ApplicationMaster runs in the same sub-cluster: elsewhere it has no container of its own.
        is_lent: Whether its job was granted it out of what another job put off: such are taken first.
    """

    id: ContainerId
    queue: str
    subcluster: SubClusterId
    node: NodeId
    resource: ResourceVector
    since_s: float
    is_given: bool = True
    is_home: bool = True
    is_lent: bool = False

    @property
    def is_master(self) -> bool:
        """True for the ApplicationMaster's own container, whose loss would be that of the whole attempt."""
        return self.id.is_first and self.is_home


@dataclass(frozen=True, slots=True)
class AskingAttempt:
    """An attempt whose calls Heddle reads.

    Attributes:
        places: Sub-clusters that it may be given containers of.
    """

    id: ApplicationAttemptId
    queue: str
    wants: ResourceVector
    places: frozenset[SubClusterId] = frozenset()


@dataclass(frozen=True, slots=True)
class WaitingWork:
    """Demand of a queue that waits on one sub-cluster, as far as it may have it there.

    Attributes:
        unit: Size of one container of it.
        count: How many of them wait; none where only those could be that wait elsewhere.
        free: How many of them fit into what nobody has there.
        elsewhere: How many of those that wait could as well be had on each other sub-cluster.
    """

    unit: ResourceVector
    count: int
    free: int = 0
    elsewhere: Mapping[SubClusterId, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class QueueShare:
    """Share, entitlement and use of one queue.

    Attributes:
        entitled: What it is entitled to now of what is scarce, over all sub-clusters.
        waiting: What it waits for, by sub-cluster, with every one on which it could be had.
        budget: Containers of it that may be taken in a minute.
    """

    path: str
    entitled: ResourceVector
    used: ResourceVector
    waiting: Mapping[SubClusterId, WaitingWork] = field(default_factory=lambda: MappingProxyType({}))
    may_be_taken_from: bool = False
    budget: int = 0


@dataclass(frozen=True, slots=True)
class ShareSnapshot:
    """The federation at one moment.

    Attributes:
        at_s: When; seconds since the epoch.
        capacity: What is divided and scarce; 0 of what there is enough of for all, which says nothing of shares.
        as_of_s: Of each sub-cluster's newest report.
        is_fresh: Whether every sub-cluster whose capacity is divided has just told how it is.
    """

    at_s: float
    capacity: ResourceVector
    queues: tuple[QueueShare, ...] = ()
    containers: tuple[HeldContainer, ...] = ()
    attempts: tuple[AskingAttempt, ...] = ()
    as_of_s: Mapping[SubClusterId, float] = field(default_factory=lambda: MappingProxyType({}))
    is_fresh: bool = True

    def as_of(self, subcluster: SubClusterId) -> float:
        """Time of a sub-cluster's newest report; -inf if it has sent none."""
        return self.as_of_s.get(subcluster, float("-inf"))
