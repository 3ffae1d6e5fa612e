"""Messages between a Global and a Local Master about containers that an application asks for."""

from dataclasses import dataclass
from enum import Enum

from shim.domain.ids import SubClusterId
from shim.domain.resources import ResourceVector

# Messages between a Global Master that would send an application to a sub-cluster, and its Local Master.


class Verdict(Enum):
    """Outcome of a proposal."""

    ACCEPTED = "accepted"
    """The Local Master counts the application from now on."""
    REJECTED = "rejected"
    """The sub-cluster is not what the proposal rests on: others have filled it, or it may not have the application."""
    UNVERIFIED = "unverified"
    """No Local Master said anything in time: the ResourceManager alone has the word."""


@dataclass(frozen=True, slots=True)
class PlacedKind:
    """Number of applications of one kind that are on the way to a sub-cluster; no report shows them yet.

    Attributes:
        queue: As submitted; empty for the default queue.
        memory_mib: Of the ApplicationMaster's container; `vcores` likewise.
    """

    queue: str
    memory_mib: int
    vcores: int
    count: int


@dataclass(frozen=True, slots=True)
class HomeVerdict:
    """A Local Master's answer to a proposal.

    Attributes:
        score: By the Local Master's knowledge; None if the sub-cluster may not have the application at all.
        age_s: Of that knowledge; None if nobody said.
        placed: With a rejection: everything that is on its way there, whoever sent it. Newer than any report.
    """

    subcluster: SubClusterId
    verdict: Verdict
    reason: str
    score: float | None = None
    age_s: float | None = None
    placed: tuple[PlacedKind, ...] = ()


@dataclass(frozen=True, slots=True)
class ContainerKind:
    """The properties of a request that decide where a container can be had.

    Attributes:
        queue: In the words of the sub-cluster; empty if it is not known.
        label: Node label expression; empty for nodes without one.
        places: Hosts and racks that alone will do; empty for any.
    """

    queue: str
    resource: ResourceVector
    label: str = ""
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LaunchProposal:
    """A Global Master would ask a sub-cluster for containers.

    Attributes:
        number: Of all proposals of this life of the Global Master to this sub-cluster no other has it.
        holder: The attempt that wants them, for people.
    """

    number: int
    holder: str
    kind: ContainerKind
    count: int


@dataclass(frozen=True, slots=True)
class LaunchNews:
    """State of a proposal so far. Counts only grow, so that repetition and disorder do no harm.

    Attributes:
        honoured: Containers that the ResourceManager has granted.
    """

    number: int
    honoured: int = 0
    withdrawn: int = 0


@dataclass(frozen=True, slots=True)
class TentativelyAllocated:
    """Containers that others were promised and have not been granted yet."""

    kind: ContainerKind
    count: int


@dataclass(frozen=True, slots=True)
class UnreportedContainers:
    """Containers that somebody was promised, or granted, and that no report shows yet."""

    to: str
    kind: ContainerKind
    count: int


@dataclass(frozen=True, slots=True)
class CapacityNotice:
    """Capacity of a sub-cluster that is claimed and that its report shows as free.

    Attributes:
        promised: To all Global Masters, the oldest first.
    """

    promised: tuple[UnreportedContainers, ...] = ()


class ConflictKind(Enum):
    """Kinds of conflicts for which Local Masters reject a proposal, or a part of it."""

    CLAIMED = "claimed"
    """Others were promised the room, or granted it, and no report shows it yet."""
    USED = "used"
    """The newest report shows the room in use: it is newer than what was planned on."""
    QUEUE = "queue"
    """The queue may not have so much there."""
    NODE = "node"
    """No node there could hold one any more, were it empty: nodes went, or have other labels."""


@dataclass(frozen=True, slots=True)
class LaunchVerdict:
    """A Local Master's answer to a proposal.

    Attributes:
        accepted: How many containers there is room for; they are promised from now on.
        age_s: Of the report that it rests on; None if nobody said.
        promised: With a rejection: everything that others were promised there. No report shows it.
        conflict: With a rejection: what is in the way. None where what became of it came before the proposal.
    """

    subcluster: SubClusterId
    number: int
    verdict: Verdict
    accepted: int
    reason: str = ""
    age_s: float | None = None
    promised: tuple[TentativelyAllocated, ...] = ()
    conflict: ConflictKind | None = None


@dataclass(frozen=True, slots=True)
class WorkEstimate:
    """Expected work of an attempt, as learnt durations tell it; shown to people.

    Attributes:
        work_s: Seconds of containers: what those that wait will take, or, if none has begun, what it costs to find out.
        container_s: How long one is expected to run.
        ended: Containers of the attempt that have ended, and `running` those that run.
        alike: Applications of the same user, type and name that have taught something.
    """

    work_s: float
    container_s: float
    ended: int
    running: int
    alike: int
    others: int


def proposer(name: str, life: int) -> str:
    """Name of a Global Master's life, by which a Local Master tells proposals apart."""
    return f"{name} {life}"
