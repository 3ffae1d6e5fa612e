"""Sources of the stages of running jobs: fed beside the calls of ApplicationMasters, never on their path."""

from typing import Protocol

from shim.domain.ids import ApplicationId
from shim.domain.job_graphs import StagesOfJob

__all__ = ["JobGraphs"]


class JobGraphs(Protocol):
    """Answers at once, from what was read before."""

    def stages(self, application: ApplicationId, engine: str) -> StagesOfJob | str:
        """Give the stages of a job, or why they are not known: such a job puts nothing off.

        Args:
            application: The job.
            engine: Its application type, `MAPREDUCE`.
        """
        ...
