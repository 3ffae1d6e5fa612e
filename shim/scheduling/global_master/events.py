"""Events and effects of a Global Master."""

from dataclasses import dataclass

from shim.domain.ids import LocalMasterId
from shim.domain.messages import Bid, EndingKind, LaunchRequest, LocalMasterReport, ReportRequest, TaskRef
from shim.domain.resources import Need


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """Tasks of a job that need the same.

    Attributes:
        indices: Their places in the job.
    """

    need: Need
    indices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A job, or what is left to be placed of one.

    Attributes:
        estimate_s: Mean time of a task as the submitter stated it; 0 for none.
        priority: Larger goes first.
        is_gang: Whether its tasks start together or not at all.
    """

    job: str
    groups: tuple[TaskGroup, ...]
    queue: str = ""
    estimate_s: float = 0.0
    priority: int = 0
    is_gang: bool = False


@dataclass(frozen=True, slots=True)
class GlobalMasterEvent:
    """Event for a Global Master.

    Attributes:
        at_s: When, in seconds of the caller's clock; never decreases from one event to the next.
    """

    at_s: float


@dataclass(frozen=True, slots=True)
class LocalMastersFound(GlobalMasterEvent):
    """Local Masters whose reports are wanted: at the start, and when clusters are added."""

    local_masters: tuple[LocalMasterId, ...]


@dataclass(frozen=True, slots=True)
class JobSubmitted(GlobalMasterEvent):
    """A job's tasks want places."""

    job: JobRequest


@dataclass(frozen=True, slots=True)
class JobWithdrawn(GlobalMasterEvent):
    """The tasks of a job that wait no longer want places."""

    job: str


@dataclass(frozen=True, slots=True)
class ReportReceived(GlobalMasterEvent):
    """A Local Master's report arrived."""

    report: LocalMasterReport


@dataclass(frozen=True, slots=True)
class GlobalMasterTick(GlobalMasterEvent):
    """Time has passed: what was not answered is sent again."""


@dataclass(frozen=True, slots=True)
class GlobalMasterEffect:
    """Effect of a Global Master."""


@dataclass(frozen=True, slots=True)
class SendMessage(GlobalMasterEffect):
    """Send the message to a Local Master; it may be lost."""

    to: LocalMasterId
    message: LaunchRequest | Bid | ReportRequest


@dataclass(frozen=True, slots=True)
class TaskSettled(GlobalMasterEffect):
    """A task ended; its submitter is told."""

    task: TaskRef
    kind: EndingKind
