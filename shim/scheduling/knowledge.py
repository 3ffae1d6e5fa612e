"""Knowledge of jobs beyond numbers: their graphs, former runs, tags and constraints.

Everything here may be missing: a policy that needs it says so (`Policy.needs`), and falls back to its order where it
is not there. Times are learnt or stated, never the true ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from shim.domain.wishes import JobWishes
from shim.scheduling.completion_table import JobForecast
from shim.scheduling.tag_constraints import NO_SERVICES, ServiceFacts


@dataclass(frozen=True, slots=True)
class StageOutline:
    """A stage as far as it is known before it ran.

    Attributes:
        expected_s: How long one is expected to run.
        demand: Amount of each resource type for one of them.
        parents: Numbers of the stages that end before it begins.
    """

    n_tasks: int
    expected_s: float
    demand: tuple[int, ...]
    parents: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Knowledge:
    """By row of the job or request.

    Attributes:
        graphs: Stages of a job, by the job's row.
        finished: Ended tasks of each stage of a job, by the job's row.
        forecasts: What former runs of a job of its kind tell, by the job's row.
        services: Tags of services and the constraints between their containers.
        stage_weights: How early each stage of a job is wanted, 1 for the first, by a plan that was made beforehand;
            by the job's row.
        ran_s: What the ended tasks of each stage of a job ran, in the mean; 0 where none was timed; by the job's row.
        wishes: What places and times are worth to a job that says so, by the job's row.
    """

    graphs: Mapping[int, tuple[StageOutline, ...]] = field(default_factory=lambda: MappingProxyType({}))
    finished: Mapping[int, tuple[int, ...]] = field(default_factory=lambda: MappingProxyType({}))
    forecasts: Mapping[int, JobForecast] = field(default_factory=lambda: MappingProxyType({}))
    services: ServiceFacts = NO_SERVICES
    stage_weights: Mapping[int, Mapping[int, float]] = field(default_factory=lambda: MappingProxyType({}))
    ran_s: Mapping[int, tuple[float, ...]] = field(default_factory=lambda: MappingProxyType({}))
    wishes: Mapping[int, JobWishes] = field(default_factory=lambda: MappingProxyType({}))


NOTHING_KNOWN = Knowledge()
