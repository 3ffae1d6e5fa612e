"""Outlines of running jobs: their graphs as the policy of their queue reads them, on real clusters.

Whoever reads graphs puts them here, beside the calls of ApplicationMasters; cycles take what is there.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from shim.domain.ids import ApplicationAttemptId
from shim.scheduling.capacity import FIRST_TYPES
from shim.scheduling.completion_table import JobForecast
from shim.scheduling.knowledge import Knowledge, StageOutline


@dataclass(frozen=True, slots=True)
class JobOutline:
    """The graph of one job.

    Attributes:
        stages: Parents before their children; demands are of `FIRST_TYPES`.
        finished: Ended tasks of each stage.
        weights: How early each stage is wanted; see `Knowledge.stage_weights`.
        has_times: Whether anything is known of how long its tasks run.
        ran_s: Mean run time of the ended tasks of each stage; 0 where none was timed, empty where nothing is known.
        forecast: What its former run tells, made for as many tasks as this one has; None if there is none.
    """

    stages: tuple[StageOutline, ...]
    finished: tuple[int, ...]
    by_priority: Mapping[int, int]
    weights: Mapping[int, float]
    has_times: bool = True
    forecast: JobForecast | None = None
    ran_s: tuple[float, ...] = ()

    def weight(self, priority: int) -> float:
        """Return how early what an ask of a priority is for is wanted; 1 where nothing is known of it."""
        return self.weights.get(self.by_priority.get(priority, -1), 1.0)


OutlineOf = Callable[[ApplicationAttemptId], JobOutline | None]
"""Gives the outline of an attempt's job; None if that is not known."""


class JobOutlines:
    """Outlines by attempt."""

    def __init__(self) -> None:
        self._outlines: dict[ApplicationAttemptId, JobOutline] = {}

    def put(self, attempt: ApplicationAttemptId, outline: JobOutline | None) -> None:
        """Take in an outline in the place of the one before; None if nothing is known any more."""
        if outline is None:
            self._outlines.pop(attempt, None)
        else:
            self._outlines[attempt] = outline

    def keep(self, attempts: Collection[ApplicationAttemptId]) -> None:
        self._outlines = {each: known for each, known in self._outlines.items() if each in attempts}

    def of(self, attempt: ApplicationAttemptId) -> JobOutline | None:
        """Give the outline of an attempt's job; None if that is not known."""
        return self._outlines.get(attempt)


def outlines_of(
    outline_of: OutlineOf, attempts: Iterable[ApplicationAttemptId]
) -> Mapping[ApplicationAttemptId, JobOutline]:
    found = ((attempt, outline_of(attempt)) for attempt in attempts)
    return {attempt: outline for attempt, outline in found if outline is not None}


def known_graphs(outlines: Mapping[int, JobOutline], n_types: int) -> Knowledge:
    """Put outlines into the form that policies read.

    Args:
        n_types: How many resource types demands have there; stages need nothing of those beyond `FIRST_TYPES`.
    """
    more = (0,) * (n_types - len(FIRST_TYPES))
    return Knowledge(
        graphs={
            row: tuple(replace(stage, demand=(*stage.demand, *more)) for stage in known.stages)
            if more
            else known.stages
            for row, known in outlines.items()
        },
        finished={row: known.finished for row, known in outlines.items()},
        forecasts={row: known.forecast for row, known in outlines.items() if known.forecast is not None},
        stage_weights={row: known.weights for row, known in outlines.items()},
        ran_s={row: known.ran_s for row, known in outlines.items() if known.ran_s},
    )
