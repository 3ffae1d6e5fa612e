"""From what one poll of a ResourceManager told to a `SubClusterReport`.

A Local Master numbers its reports, remembers which applications were live, and says which of them a poll did not tell
of: those are asked for by id, since absence ends nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from types import MappingProxyType

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.packed_texts import Text
from shim.domain.queues import QueueReport
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import ApplicationDocument, HaState, NodeReport, SubClusterReport

_ALL = 1 << 62

_Documents = Mapping[ApplicationId, ApplicationDocument]


def _none() -> _Documents:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Poll:
    """Answers of one poll, read.

    Attributes:
        began_at_s: When it began; seconds since the epoch.
        ha_state: As `/info` said before and after everything else.
        documents: Answers by name; a part that was not asked for is not in here.
        ended: Applications that became final since they were last asked for.
        left_out: Rows beyond the bounds of what is taken in, by what they are of.
    """

    began_at_s: float
    ha_state: HaState
    started_on_ms: int
    version: str = ""
    clock_skew_s: float = 0.0
    documents: Mapping[str, Text] = field(default_factory=lambda: MappingProxyType({}))
    capacity: ResourceVector = field(default_factory=ResourceVector)
    used: ResourceVector = field(default_factory=ResourceVector)
    nodes: tuple[NodeReport, ...] = ()
    scheduler: str = ""
    queues: tuple[QueueReport, ...] = ()
    maximum_allocation: ResourceVector = field(default_factory=ResourceVector)
    live: _Documents | None = None
    ended: _Documents = field(default_factory=_none)
    forgotten: tuple[ApplicationId, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)


class HeartbeatReporter:
    """Makes the reports of one life of a Local Master."""

    def __init__(
        self, subcluster: SubClusterId, incarnation: int, *, live: frozenset[ApplicationId] = frozenset()
    ) -> None:
        """Begin a life.

        Args:
            subcluster: Whose ResourceManager is polled.
            incarnation: Larger than that of every life before.
            live: Applications that an earlier life told of as live.
        """
        self._subcluster = subcluster
        self._incarnation = incarnation
        self._sequence = 0
        self._live = live

    @property
    def live(self) -> frozenset[ApplicationId]:
        """Applications that were live when they were last told of, and that nothing has ended since."""
        return self._live

    def report(self, poll: Poll) -> SubClusterReport:
        """The report of a poll. What an inactive ResourceManager listed is not believed, so it is left out."""
        self._sequence += 1
        believed = poll if poll.ha_state is HaState.ACTIVE else _only_info(poll)
        applications = {**(believed.live or {}), **believed.ended}
        self._remember(believed)
        return SubClusterReport(
            subcluster=self._subcluster,
            sequence=self._sequence,
            polled_at_s=believed.began_at_s,
            ha_state=believed.ha_state,
            started_on_ms=believed.started_on_ms,
            version=believed.version,
            capacity=believed.capacity,
            used=believed.used,
            maximum_allocation=believed.maximum_allocation,
            clock_skew_s=believed.clock_skew_s,
            nodes=believed.nodes,
            queues=believed.queues,
            labels=tuple(sorted({label for node in believed.nodes for label in node.labels})),
            documents=believed.documents,
            applications=applications,
            forgotten=believed.forgotten,
            is_complete=believed.live is not None,
            incarnation=self._incarnation,
            scheduler=believed.scheduler,
            left_out=believed.left_out,
        )

    def _remember(self, poll: Poll) -> None:
        ended = {name for name, document in poll.ended.items() if document.summary.state.is_final}
        self._live = self._live.union(poll.live or ()).difference(ended, poll.forgotten)


def absent(
    live: frozenset[ApplicationId], told: Iterable[ApplicationId], most: int = _ALL
) -> tuple[ApplicationId, ...]:
    """The oldest applications that were live and that complete lists do not tell of: to be asked for by id."""
    return tuple(nsmallest(most, live.difference(told)))


def _only_info(poll: Poll) -> Poll:
    """The part of a poll that may be believed of a ResourceManager that is not active: that it is there."""
    documents = {name: raw for name, raw in poll.documents.items() if name == "info"}
    return replace(poll, documents=documents, nodes=(), queues=(), scheduler="", live=None, ended=_none(), forgotten=())
