"""Observations of running jobs: their stages, their containers by stage, and the counts of their ApplicationMasters.

Graphs, ledgers and counts are put together here, for whoever plans jobs: altruism, and policies that go by graphs.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from shim.domain.applications import FinalStatus
from shim.domain.ids import ApplicationAttemptId
from shim.domain.job_graphs import StagesOfJob
from shim.federation.core.federation_view import FederationView
from shim.multicluster.core import AttemptHoldings
from shim.ports.attempt_calls import Attempt
from shim.ports.job_graphs import JobGraphs
from shim.queues.core.job_watch import JobRun, JobWatch, StageContainer, StageFacts, StageSeen
from shim.scheduling.durations import recurring_key, wider_key


class SeenAttempt(Protocol):
    """The part of `MultiClusterAttempt` that is looked at."""

    @property
    def attempt(self) -> Attempt: ...

    @property
    def holdings(self) -> AttemptHoldings: ...


@dataclass(frozen=True, slots=True)
class JobObservation:
    """One look at a job.

    Attributes:
        tasks: Its containers but for its ApplicationMaster's own.
        seen: Findings on each stage, as far as they go; none where stages are not known.
        facts: The same where they are enough to plan the job; else why they are not.
        is_current: Whether the stages are known to be of what runs now.
    """

    tasks: tuple[StageContainer, ...]
    stages: StagesOfJob | str
    seen: tuple[StageSeen, ...] = ()
    facts: tuple[StageFacts, ...] | str = ""
    is_current: bool = True


class JobObservations:
    """Looks at jobs, and remembers from look to look how long tasks of each stage run.

    Args:
        view: Tells of each application of which engine it is, and by what it is known again.
    """

    def __init__(self, view: FederationView, graphs: JobGraphs) -> None:
        self._view = view
        self._graphs = graphs
        self._watch = JobWatch()

    def keep(self, attempts: Collection[ApplicationAttemptId], now_s: float) -> Sequence[JobRun]:
        """Forget the jobs that are not here any more; what they taught stays, and what their ends teach.

        Returns:
            Runs that ended well and were seen whole.
        """
        self._watch.keep(attempts, now_s)
        return self._watch.settle(self._has_succeeded, now_s)

    def unsettled(self) -> Collection[ApplicationAttemptId]:
        """Give the jobs that are over, of which it is not known as yet how they ended."""
        return self._watch.unsettled()

    def _has_succeeded(self, attempt: ApplicationAttemptId) -> bool | None:
        document = self._view.applications.find(attempt.application)
        status = FinalStatus.UNDEFINED if document is None else document.summary.final_status
        return None if status is FinalStatus.UNDEFINED else status is FinalStatus.SUCCEEDED

    def look(self, span: SeenAttempt, now_s: float) -> JobObservation:
        """Look at a job."""
        attempt, asks = span.attempt, span.holdings.asks
        document = self._view.applications.find(attempt.id.application)
        # runs may be numbered: jobs of one name that are others have other stages
        engine, key = (
            ("", "")
            if document is None
            else (document.summary.application_type, wider_key(recurring_key(document.summary)))
        )
        tasks = tuple(_tasks(span))
        stages = self._graphs.stages(attempt.id.application, engine)
        told = self._graphs.counts(attempt.id.application, now_s)
        if not isinstance(stages, StagesOfJob):
            return JobObservation(tasks, stages, facts=(isinstance(told, str) and told) or stages)
        counts = None if isinstance(told, str) or len(told) != len(stages.graph.stages) else told
        self._watch.observe(attempt.id, stages, key, tasks, asks, now_s, counts)
        is_current = counts is not None or not stages.has_parts
        facts = self._watch.facts(attempt.id, stages, key, asks, counts)
        if not is_current and isinstance(told, str) and told:
            facts = told
        return JobObservation(tasks, stages, self._watch.seen(attempt.id, stages, key, asks, counts), facts, is_current)


def _tasks(span: SeenAttempt) -> list[StageContainer]:
    home = span.attempt.home_subcluster
    return [
        StageContainer(each.id, each.key)
        for each in span.holdings.held
        if not (each.id.is_first and each.subcluster == home)
    ]
