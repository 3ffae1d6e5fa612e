"""Figures of a run of a policy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from shim.scheduling.durations import FloatArray
from shim.simulation.figures_file import FiguresFile, JobBar
from shim.simulation.lives import unfinished_over_time


@dataclass(slots=True)
class RunFigures:
    """Counts and times of one run.

    Attributes:
        starts: Tasks that started at their data, in the rack of it, and elsewhere; those without data are not in it.
        response_s: From arrival to end, by job; NaN for one that has not ended.
        longest_wait_s: The longest that a ready stage waited for its first container.
        met: Jobs with a deadline that met it; `missed` likewise.
        beside_deadline: What each job with a deadline took, as a part of the time up to that.
        makespan_s: When the last job ended.
        busy: Part of the capacity of the scarcest resource that was in use, over the run.
        promised_s: Containers that jobs could count on, times seconds; 0 for a policy that promises none.
        promised_work_s: Run time of the tasks of the jobs with a deadline that ended.
        broken: Parts of the running services' containers whose constraints were broken, after each start of any.
        service_waits_s: From the arrival of each service to its first container.
    """

    response_s: FloatArray
    starts: list[int] = field(default_factory=lambda: [0, 0, 0])
    longest_wait_s: float = 0.0
    cycles: int = 0
    met: int = 0
    missed: int = 0
    beside_deadline: list[float] = field(default_factory=list)
    makespan_s: float = 0.0
    busy: float = 0.0
    promised_s: float = 0.0
    promised_work_s: float = 0.0
    broken: list[float] = field(default_factory=list)
    solver_plans: int = 0
    service_waits_s: list[float] = field(default_factory=list)

    @property
    def node_local(self) -> float:
        """Part of the tasks with data that started at it."""
        return self.starts[0] / max(1, sum(self.starts))

    @property
    def rack_local(self) -> float:
        return (self.starts[0] + self.starts[1]) / max(1, sum(self.starts))

    @property
    def spread(self) -> float:
        """Longest run of a job with a deadline by the shortest one, each beside its deadline; 1 where none has any."""
        return max(self.beside_deadline, default=1.0) / min(self.beside_deadline, default=1.0)

    @property
    def promised(self) -> float:
        """Promised containers as a multiple of what the jobs with deadlines worked."""
        return self.promised_s / self.promised_work_s if self.promised_work_s else 0.0

    @property
    def violated(self) -> float:
        return float(np.mean(self.broken)) if self.broken else 0.0

    @property
    def service_wait_s(self) -> float:
        return float(np.mean(self.service_waits_s)) if self.service_waits_s else 0.0

    @property
    def mean_s(self) -> float:
        """Mean response of a job."""
        return float(np.mean(self.response_s))

    def percentile_s(self, percent: float) -> float:
        """Response that this part of the jobs does not exceed."""
        return float(np.percentile(self.response_s, percent, method="inverted_cdf"))


# Figures of runs of policies, for plots and for the console.


def policy_figures(
    bars: Mapping[str, Sequence[JobBar]], columns: Sequence[tuple[str, str]], rows: Sequence[Mapping[str, str]]
) -> FiguresFile:
    """Gather the figures of runs.

    Args:
        bars: Jobs that ended, by the run's name.
        columns: Heading and key of each column of the table.
        rows: Its rows, as texts.
    """
    figures = FiguresFile("policies of the scheduling core", columns, rows)
    ended = {name: each for name, each in bars.items() if each}
    responses = {name: [bar.to_s - bar.from_s for bar in each] for name, each in ended.items()}
    figures.add_distribution("response (s)", responses)
    figures.add_over_time(
        "jobs that have not ended", {name: unfinished_over_time(each) for name, each in ended.items()}
    )
    for name, each in ended.items():
        figures.add_jobs(name, each)
    return figures
