"""Sub-clusters: what a Local Master reports of one, and whether it may take applications."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any, Self

import msgspec

from shim.domain.applications import ApplicationSummary
from shim.domain.ids import ApplicationId, NodeId, SubClusterId
from shim.domain.packed_texts import Text, plain
from shim.domain.queues import QueueReport
from shim.domain.resources import ResourceVector


def version_numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version of Hadoop, for comparisons: (3, 1, 1) of `3.1.1-vendor5`."""
    return tuple(int(part) for part in version.partition("-")[0].split(".") if part.isdecimal())


class SubClusterState(Enum):
    """State of a sub-cluster's ResourceManager at the time of asking.

    The wire names are those of Hadoop's `SubClusterState`.
    """

    NEW = "SC_NEW"
    """Configured; it has not reported yet."""
    RUNNING = "SC_RUNNING"
    """Its newest heartbeat is in time and its ResourceManager was ACTIVE."""
    RECOVERING = "SC_UNHEALTHY"
    """It answers, but is not ACTIVE: it lists nothing, and a submission that reaches it now can end it."""
    LOST = "SC_LOST"
    """Its heartbeat is late; what was last known of it is still listed, with its age."""

    @property
    def is_usable(self) -> bool:
        """True if applications may be sent there."""
        return self is SubClusterState.RUNNING


class HaState(Enum):
    """`haState` of a ResourceManager's `/info`."""

    INITIALIZING = "INITIALIZING"
    ACTIVE = "ACTIVE"
    STANDBY = "STANDBY"
    STOPPED = "STOPPED"


class Admission(Enum):
    """An operator's word on whether a sub-cluster takes new applications."""

    OPEN = "open"
    CORDONED = "cordoned"
    """No new applications."""
    DRAINING = "draining"
    """No new applications, and somebody waits for the running ones to end."""
    RETIRED = "retired"
    """It never comes back, and nothing of it runs: what waited for it goes elsewhere, what ran there is lost."""


@dataclass(frozen=True, slots=True)
class AdmissionWord:
    """Who said when, and why, whether a sub-cluster takes applications.

    Attributes:
        at_ms: Since the epoch.
        reason: In the operator's words; empty if none was given.
    """

    admission: Admission
    by: str
    at_ms: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class NodeReport:
    """One NodeManager as its ResourceManager reports it."""

    node: NodeId
    rack: str
    state: str
    total: ResourceVector
    used: ResourceVector
    labels: tuple[str, ...] = ()


class ApplicationAmounts(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What an application holds and has used, as its document tells.

    Attributes:
        mib_s: Memory times time that it has used so far.
        is_beginning: Whether it has one container at most, and not for longer than a minute.
    """

    memory_mib: int
    vcores: int
    mib_s: int
    is_beginning: bool


class ApplicationDocument(msgspec.Struct, frozen=True, gc=False):
    """An application's summary and, untouched, the JSON object that its home answered.

    The collector of garbage does not look at these: each poll makes all of them anew, and none can be in a cycle.

    Attributes:
        told: The value of `app`: a JSON object, UTF-8; maybe packed.
        as_of_s: When the home said so; seconds since the epoch by Heddle's clock.
        amounts: What `told` says of them; None if nobody has read that yet.
    """

    summary: ApplicationSummary
    told: Text = msgspec.field(name="raw")
    as_of_s: float
    amounts: ApplicationAmounts | None = None

    @property
    def raw(self) -> bytes:
        """The object as it was written."""
        return plain(self.told)

    def but(self, **changes: Any) -> Self:
        """The same with other values of some attributes."""
        return msgspec.structs.replace(self, **changes)


@dataclass(frozen=True, slots=True)
class SubClusterReport:
    """One heartbeat of a Local Master: everything that one poll of its ResourceManager told.

    Attributes:
        incarnation: Number of the Local Master's life; a report of a later life is newer.
        sequence: Counts from 1 for each life of the Local Master; a report is applied only if it is newer.
        polled_at_s: When the poll began; seconds since the epoch by the Local Master's clock.
        started_on_ms: `startedOn` of the ResourceManager; changes when it restarts or fails over.
        clock_skew_s: The ResourceManager's clock less ours, as measured by its `Date` header.
        scheduler: `type` of the scheduler document, as `capacityScheduler`; empty if it was not asked for.
        documents: JSON answers by name: `info`, `metrics`, `nodes`, `scheduler`; those that this poll asked for.
        applications: Live applications, and those that became final since the last report.
        forgotten: Applications that the active ResourceManager, asked by id, says it does not know.
        is_complete: Whether `applications` lists every live one; only then is absence worth a look.
        left_out: How many rows cannot be read, or are beyond the bounds of what is taken in, by what they are of.
    """

    subcluster: SubClusterId
    sequence: int
    polled_at_s: float
    ha_state: HaState
    started_on_ms: int
    version: str
    capacity: ResourceVector
    used: ResourceVector
    maximum_allocation: ResourceVector
    clock_skew_s: float = 0.0
    nodes: tuple[NodeReport, ...] = ()
    queues: tuple[QueueReport, ...] = ()
    labels: tuple[str, ...] = ()
    documents: Mapping[str, Text] = field(default_factory=lambda: MappingProxyType({}))
    applications: Mapping[ApplicationId, ApplicationDocument] = field(default_factory=lambda: MappingProxyType({}))
    forgotten: tuple[ApplicationId, ...] = ()
    is_complete: bool = True
    incarnation: int = 0
    scheduler: str = ""
    left_out: Mapping[str, int] = field(default_factory=dict)
