"""The source of simulated jobs, as the options of `heddle simulate` and `heddle simulate yarn` name it."""

from dataclasses import dataclass
from pathlib import Path

from shim.errors import BadRequestError
from shim.simulation.engine import seeded
from shim.simulation.traces import Workload, fixed_jobs, read_trace


@dataclass(frozen=True, slots=True)
class JobSource:
    """A trace, or a load of equal jobs with Poisson arrivals.

    Attributes:
        trace: The file of a trace.
        load: Work that arrives, as a part of what the slots can do.
        n_jobs: At most so many jobs of a trace; exactly so many of a load.
        n_tasks: Tasks of each job of a load.
        duration_s: Of each of these tasks.
        cutoff_s: Jobs of a trace with a shorter mean task time are short; None for the published cut.
    """

    trace: Path | None
    load: float | None
    n_jobs: int | None
    n_tasks: int
    duration_s: float
    cutoff_s: float | None = None

    def read(self, *, seed: int, n_slots: int, usual_jobs: int) -> Workload:
        """Read or draw the jobs.

        Args:
            seed: Where arrivals are drawn from.
            n_slots: Slots that a load is a part of.
            usual_jobs: Jobs of a load where no number is given.

        Raises:
            BadRequestError: If there is not exactly one of a trace and a load, or the trace cannot be read.
        """
        match self:
            case JobSource(trace=Path() as trace, load=None):
                return read_trace(trace, first_jobs=self.n_jobs, cutoff_s=self.cutoff_s)
            case JobSource(trace=None, load=float() as load):
                return fixed_jobs(
                    seeded(seed, "arrivals"),
                    n_jobs=self.n_jobs or usual_jobs,
                    n_tasks=self.n_tasks,
                    duration_s=self.duration_s,
                    load=load,
                    n_slots=n_slots,
                )
            case _:
                raise BadRequestError("give either --trace FILE or --load PART")
