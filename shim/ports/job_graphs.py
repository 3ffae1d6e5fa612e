"""Sources of the stages of running jobs: fed beside the calls of ApplicationMasters, never on their path."""

from typing import Protocol

from shim.domain.ids import ApplicationId
from shim.domain.job_graphs import StagesOfJob

__all__ = ["JobGraphs", "JobPlans"]


class JobGraphs(Protocol):
    """Answers at once, from what was read before."""

    def stages(self, application: ApplicationId, engine: str) -> StagesOfJob | str:
        """Give the stages of a job, or why they are not known: such a job puts nothing off.

        Args:
            application: The job.
            engine: Its application type, `MAPREDUCE`.
        """
        ...


class JobPlans(Protocol):
    """Plans that the jobs of one engine leave where they can be read; a read may take as long as a file system does."""

    @property
    def engine(self) -> str:
        """Application type of the jobs, `TEZ`."""
        ...

    def read(self, application: ApplicationId, user: str) -> StagesOfJob | None:
        """Read the plan of a job; called on a thread beside the event loop.

        Args:
            application: The job.
            user: Whose it is, as its home tells.

        Returns:
            Its stages; None if it has left no plan as yet.

        Raises:
            MalformedJobGraphError: There is one, and it cannot be read or is none.
        """
        ...
