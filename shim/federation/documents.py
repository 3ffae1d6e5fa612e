"""Reading what is not an application: info, metrics, nodes and scheduler documents of every sub-cluster."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from shim.concurrency.single_flight import SingleFlight
from shim.domain.ids import SubClusterId
from shim.errors import HomeUnreachableError, ResourceManagerError
from shim.federation import rm_questions as ask
from shim.federation.core.federation_view import FederationView, Part, PartDocument
from shim.federation.freshness import Freshness, freshness_of
from shim.federation.reading import ReadingSettings
from shim.ports.clock import Clock
from shim.ports.resource_manager import ResourceManager


@dataclass(frozen=True, slots=True)
class PartRead:
    """One part of every sub-cluster that ever told it, in the configured order."""

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
        """Read through `view`, which polls keep."""
        self._view = view
        self._managers = managers
        self._clock = clock
        self._settings = settings
        self._flights: SingleFlight[tuple[SubClusterId, Part, bool], None] = SingleFlight()

    def is_at_hand(self, part: Part) -> bool:
        """True if that part needs no question to a sub-cluster now."""
        return not any(self._view.is_touched(name, part) for name in self._view.subclusters)

    async def part(self, part: Part) -> PartRead:
        """Answers of every sub-cluster for that part, from the last poll; one written since is fetched first."""
        late = self._view.late(self._clock.now_s())
        due = [name for name in self._view.subclusters if self._view.is_touched(name, part) and name not in late]
        if due:
            await asyncio.gather(*(self._fetch(name, part) for name in due), return_exceptions=True)
        told = {name: self._view.part(name, part) for name in self._view.subclusters}
        return PartRead(
            documents={name: document for name, document in told.items() if document is not None},
            version=self._view.version(part),
            freshness=freshness_of(self._view, part, self._clock.now_s()),
        )

    async def part_of(self, subcluster: SubClusterId, part: Part) -> PartRead:
        """Answer of one sub-cluster for that part.

        Raises:
            HomeUnreachableError: It has never told it and does not answer.
        """
        late = subcluster in self._view.late(self._clock.now_s())
        if self._view.part(subcluster, part) is None or (self._view.is_touched(subcluster, part) and not late):
            try:
                await self._fetch(subcluster, part)
            except ResourceManagerError:
                late = True
        document = self._view.part(subcluster, part)
        if document is None:
            raise HomeUnreachableError(f"sub-cluster {subcluster} has not told its {part.value} yet; try again")
        freshness = Freshness(document.as_of_s, (subcluster,) if late else ())
        return PartRead({subcluster: document}, self._view.version(part), freshness)

    def mark_touched(self, subcluster: SubClusterId, part: Part) -> None:
        """Note a change there: the next read fetches first."""
        self._view.mark_touched(subcluster, part, at_s=self._clock.now_s())

    async def _fetch(self, subcluster: SubClusterId, part: Part) -> None:
        key = (subcluster, part, self._view.is_touched(subcluster, part))
        await self._flights.do(key, lambda: self._ask(subcluster, part))

    async def _ask(self, subcluster: SubClusterId, part: Part) -> None:
        as_of_s = self._clock.now_s()
        answer = await ask.ask_part(self._managers[subcluster], part, timeout_s=self._settings.answer_within_s)
        self._view.note_part(subcluster, part, PartDocument(answer.body, as_of_s))
