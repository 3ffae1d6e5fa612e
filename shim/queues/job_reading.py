"""Base of the readers of jobs, beside the calls of their ApplicationMasters: whom they look at, and when."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from shim.domain.ids import ApplicationId, SubClusterId
from shim.ports.clock import Clock
from shim.queues.engines import EngineGraphs


@dataclass(frozen=True, slots=True)
class PlannedFor:
    """A job whose stages are wanted."""

    application: ApplicationId
    engine: str
    user: str
    home: SubClusterId


class _OfOneEngine(Protocol):
    @property
    def engine(self) -> str: ...


Source = TypeVar("Source", bound=_OfOneEngine)


class JobReader(ABC, Generic[Source]):
    """Reads, for ever. `run` does it until cancelled; `look` once.

    Args:
        jobs: Jobs of altruistic queues, as they are now.
    """

    def __init__(
        self,
        graphs: EngineGraphs,
        sources: Sequence[Source],
        jobs: Callable[[], Sequence[PlannedFor]],
        clock: Clock,
        interval_s: float,
    ) -> None:
        self._graphs = graphs
        self._sources: Mapping[str, Source] = {source.engine: source for source in sources}
        self._jobs = jobs
        self._clock = clock
        self._interval_s = interval_s

    async def run(self) -> None:
        """Look until cancelled; without any source there is nothing to look at."""
        while True:
            if self._sources:
                await self.look()
            await self._clock.sleep(self._interval_s)

    @abstractmethod
    async def look(self) -> None:
        """Read of every job that is due."""

    def _readable(self) -> list[PlannedFor]:
        """Jobs of engines that there is a source for."""
        return [job for job in self._jobs() if job.engine in self._sources]
