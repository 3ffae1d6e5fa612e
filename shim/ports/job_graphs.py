"""Sources of the stages of running jobs: fed beside the calls of ApplicationMasters, never on their path."""

from typing import Protocol

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.job_graphs import StagesOfJob, TaskCounts

__all__ = ["JobCounts", "JobGraphs", "JobPlans"]


class JobGraphs(Protocol):
    """Answers at once, from what was read before."""

    def stages(self, application: ApplicationId, engine: str) -> StagesOfJob | str:
        """Give the stages of a job, or why they are not known: such a job puts nothing off.

        Args:
            application: The job.
            engine: Its application type, `MAPREDUCE`.
        """
        ...

    def counts(self, application: ApplicationId, now_s: float) -> tuple[TaskCounts, ...] | None:
        """Give the counts of a job's stages; None if there are none, or they are too old.

        Args:
            application: The job.
            now_s: Now.
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


class JobCounts(Protocol):
    """Counts of tasks that ApplicationMasters of one engine tell."""

    @property
    def engine(self) -> str:
        """Application type of the jobs, `TEZ`."""
        ...

    async def counts(
        self, application: ApplicationId, home: SubClusterId, user: str, n_stages: int
    ) -> tuple[TaskCounts, ...]:
        """Ask the ApplicationMaster of a job, within two seconds.

        Args:
            application: The job.
            home: Its sub-cluster.
            user: Whose it is.
            n_stages: Stages of its plan.

        Returns:
            Counts of each stage of the plan.

        Raises:
            MalformedJobGraphError: There is no answer, or it is not of this plan.
        """
        ...
