"""Reading what is not an application: info, metrics, nodes and scheduler documents of every sub-cluster."""

from collections.abc import Mapping
from dataclasses import dataclass

from shim.domain.ids import SubClusterId
from shim.global_master.federation_view import FederationView, Part, PartDocument
from shim.ports.clock import Clock
from shim.ports.resource_manager import ResourceManager
from shim.services.freshness import Freshness
from shim.services.reading import ReadingSettings

__all__ = ["DocumentReading", "PartRead"]


@dataclass(frozen=True, slots=True)
class PartRead:
    """One part of every sub-cluster that ever told it, in the configured order.

    Attributes:
        version: The same number means the same documents.
    """

    documents: Mapping[SubClusterId, PartDocument]
    version: int
    freshness: Freshness


class DocumentReading:
    """Use cases that read parts: `Part.INFO`, `METRICS`, `NODES`, `SCHEDULER`."""

    def __init__(
        self,
        view: FederationView,
        managers: Mapping[SubClusterId, ResourceManager],
        clock: Clock,
        settings: ReadingSettings,
    ) -> None:
        raise NotImplementedError

    async def part(self, part: Part) -> PartRead:
        """That part of every sub-cluster, from the last poll; one that was written since is fetched first."""
        raise NotImplementedError

    async def part_of(self, subcluster: SubClusterId, part: Part) -> PartRead:
        """That part of one sub-cluster.

        Raises:
            HomeUnreachableError: It has never told it and does not answer.
        """
        raise NotImplementedError

    def mark_touched(self, subcluster: SubClusterId, part: Part) -> None:
        """Something was changed there: the next read fetches first."""
        raise NotImplementedError
