"""Sources of the stages of running jobs: fed beside the calls of ApplicationMasters, never on their path."""

from typing import Protocol

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.job_graphs import CountedStages, StagesOfJob, TaskCounts


class JobGraphs(Protocol):
    """Answers at once, from what was read before."""

    def stages(self, application: ApplicationId, engine: str) -> StagesOfJob | str:
        """Give the stages of a job, or why they are not known: such a job puts nothing off.

        Args:
            application: The job.
            engine: Its application type, `MAPREDUCE`.
        """
        ...

    def counts(self, application: ApplicationId, now_s: float) -> tuple[TaskCounts, ...] | str:
        """Give the counts of a job's stages; if there are none, or they are too old, why (empty: nobody asked).

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

    def read(self, application: ApplicationId, user: str, known: StagesOfJob | None) -> StagesOfJob | None:
        """Read the plan of a job; called on a thread beside the event loop.

        Args:
            application: The job.
            user: Whose it is, as its home tells.
            known: Of it, read before; it has parts, and another one may run by now.

        Returns:
            Its stages, of the newest part; `known` if that is the newest, None if it has left no plan as yet.

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

    @property
    def needs_plan(self) -> bool:
        """True if only jobs can be asked whose plan was read."""
        ...

    async def counts(
        self, application: ApplicationId, home: SubClusterId, user: str, known: StagesOfJob | None
    ) -> CountedStages | str:
        """Ask the ApplicationMaster of a job, within a few seconds.

        Args:
            application: The job.
            home: Its sub-cluster.
            user: Whose it is.
            known: Its stages as far as they are known.

        Returns:
            What runs now: `known`, or what the answer tells; why that is not known of a job that did answer.

        Raises:
            MalformedJobGraphError: There is no answer, or it is not of this plan.
        """
        ...
