"""The stages of jobs by their engine, as far as they are known without a call to anybody.

MapReduce's stages are the same for every job: its ApplicationMaster asks for failed maps at priority 5, for reduces at
10, for opportunistic maps at 19 and for maps at 20 (Hadoop, `RMContainerAllocator`). Graphs of other engines are put
here by whoever reads them.
"""

from collections import OrderedDict

from shim.domain.ids import ApplicationId
from shim.domain.job_graphs import JobGraph, Stage, StagesOfJob, TaskCounts

_MAPREDUCE = StagesOfJob(
    JobGraph.of("MapReduce", (Stage("map", None, 0, 0), Stage("reduce", None, 0, 0, (0,), (0,)))),
    {5: 0, 19: 0, 20: 0, 10: 1},
    frozenset({5}),
    source="every MapReduce job has these",
)
_MOST_GRAPHS = 4096
_COUNTS_LAST_S = 6.0
"""Older counts are none: three times that they were asked for without an answer."""


class EngineGraphs:
    """Graphs of jobs: MapReduce's, and those that were read. Implements `JobGraphs`."""

    def __init__(self) -> None:
        self._read: OrderedDict[ApplicationId, StagesOfJob | str] = OrderedDict()
        self._counts: OrderedDict[ApplicationId, tuple[float, tuple[TaskCounts, ...] | str]] = OrderedDict()

    def __contains__(self, application: ApplicationId) -> bool:
        """True once a job's graph was read, or given up."""
        return application in self._read

    def put(self, application: ApplicationId, stages: StagesOfJob | str) -> None:
        """Take in a graph that was read, or why it cannot be; counts of another one are none of it."""
        if self._read.get(application) is not stages:
            self._counts.pop(application, None)
        self._read[application] = stages
        while len(self._read) > _MOST_GRAPHS:
            self._read.popitem(last=False)

    def count(self, application: ApplicationId, counts: tuple[TaskCounts, ...] | str, at_s: float) -> None:
        """Take in what an ApplicationMaster counted, or why it is not known; of too many the oldest goes."""
        self._counts[application] = at_s, counts
        self._counts.move_to_end(application)
        while len(self._counts) > _MOST_GRAPHS:
            self._counts.popitem(last=False)

    def counts(self, application: ApplicationId, now_s: float) -> tuple[TaskCounts, ...] | str:
        at_s, counts = self._counts.get(application, (0.0, ""))
        if isinstance(counts, str):
            return counts
        return counts if now_s - at_s <= _COUNTS_LAST_S else "its ApplicationMaster has not counted its tasks for long"

    def stages(self, application: ApplicationId, engine: str) -> StagesOfJob | str:
        found = self._read.get(application)
        if found is None and engine == "MAPREDUCE":
            found = _MAPREDUCE
        return found or f"the stages of {f'a {engine} job' if engine else 'this job'} are not known"
