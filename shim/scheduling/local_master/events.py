"""Events and effects of a Local Master.

Every event carries the time: the master reads no clock. Every effect names what it is about; who executes it may be a
service on a real cluster or the simulator.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from shim.domain.ids import GlobalMasterId
from shim.domain.messages import Bid, Launch, LaunchRequest, LocalMasterReport, ReportRequest


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node as its cluster reports it.

    Attributes:
        capacity: Amount of each resource type, in the federation's order of types.
    """

    capacity: tuple[int, ...]
    properties: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class LocalMasterEvent:
    """Event for a Local Master.

    Attributes:
        at_s: When, in seconds of the caller's clock; never decreases from one event to the next.
    """

    at_s: float


@dataclass(frozen=True, slots=True)
class MessageReceived(LocalMasterEvent):
    """A Global Master's message arrived."""

    message: LaunchRequest | Bid | ReportRequest


@dataclass(frozen=True, slots=True)
class TaskEnded(LocalMasterEvent):
    """A task finished on its node.

    Attributes:
        number: The launch's number.
    """

    global_master: GlobalMasterId
    number: int


@dataclass(frozen=True, slots=True)
class NodeChanged(LocalMasterEvent):
    """A node came back, went away (`spec` None: its tasks are lost) or changed its size or properties."""

    node: int
    spec: NodeSpec | None


@dataclass(frozen=True, slots=True)
class GlobalMastersChanged(LocalMasterEvent):
    """Other Global Masters than before share the cluster: the nodes are divided anew."""

    global_masters: Sequence[GlobalMasterId]


@dataclass(frozen=True, slots=True)
class HeartbeatDue(LocalMasterEvent):
    """Time to tell every Global Master what has changed."""


@dataclass(frozen=True, slots=True)
class LocalMasterTick(LocalMasterEvent):
    """Time has passed: offers and held launches that nobody answered expire."""


@dataclass(frozen=True, slots=True)
class LocalMasterEffect:
    """Effect of a Local Master."""


@dataclass(frozen=True, slots=True)
class SendReport(LocalMasterEffect):
    """Send the report to a Global Master; it may be lost."""

    to: GlobalMasterId
    report: LocalMasterReport


@dataclass(frozen=True, slots=True)
class StartTask(LocalMasterEffect):
    """Start a task on its node; `TaskEnded` follows in time."""

    global_master: GlobalMasterId
    launch: Launch


@dataclass(frozen=True, slots=True)
class StopTask(LocalMasterEffect):
    """Stop a running task: it was preempted. No `TaskEnded` follows."""

    global_master: GlobalMasterId
    number: int
    node: int
