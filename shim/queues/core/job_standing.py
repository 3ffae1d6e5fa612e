"""State of a job that puts work off, from look to look: its plan, and what it was promised."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from altruism import JobPlan, StageGraph, stage_ranks
from fairness import FloatArray, IntArray
from shim.domain.job_graphs import StagesOfJob

__all__ = ["JobStanding"]

_ROUNDING = 1e-9
_ANOTHER = 0.1
"""An estimate that changed by a larger part makes a new plan."""
_LATE_S = 5.0
"""What a plan may end later than was promised, before a job counts as late."""


@dataclass(slots=True, eq=False)
class JobStanding:
    """State of a job; its mean demand is fixed when it is planned first.

    Attributes:
        seen: Inputs of the plan whose change is worth a new one.
        promised_s: Earliest end that was promised for this work by these estimates, since something was put off.
        has_put_off: Whether anything of it was put off since.
        seconds: Estimates that its promise is for. Those of later looks may differ by less than a tenth, and all looks
            together by no more: else what drifts slowly would never be another estimate.
        rank: Order of its stages; None for the packer's own.
        ranked_for_s: Durations that it was found for; None before it was looked for.
    """

    mean_demand: FloatArray
    share: FloatArray
    stages: StagesOfJob | None = None
    plan: JobPlan | None = None
    promised_s: float = math.inf
    has_put_off: bool = False
    seconds: FloatArray | None = None
    tasks: IntArray | None = None
    seen: tuple[object, ...] = ()
    yields: bool = True
    rank: Sequence[float] | None = None
    ranked_for_s: FloatArray | None = None

    @property
    def is_late(self) -> bool:
        """Tell whether the plan in force ends later than was promised: its share fell after it had put something off.

        With its share alone it would have done that work while it had the larger share. It puts off no more, or it
        would be later with each further fall, though no single promise was broken.
        """
        return self.plan is not None and self.plan.ends_by_s > self.promised_s + _LATE_S

    def promise(self, plan: JobPlan) -> None:
        """Take over a plan.

        A job that has put nothing off so far is promised whatever its share allows now: with its share alone it would
        be no earlier.
        """
        self.plan = plan
        self.promised_s = min(self.promised_s, plan.ends_by_s) if self.has_put_off else plan.ends_by_s

    def ranked(self, graph: StageGraph, share: FloatArray) -> Sequence[float] | None:
        """Order the stages; anew only where durations have changed, as that takes a hundred packings."""
        if self.ranked_for_s is None or not _are_close(graph.duration, self.ranked_for_s):
            self.rank, self.ranked_for_s = stage_ranks(graph, share), graph.duration
        return self.rank

    def covers(self, share: FloatArray) -> bool:
        """True if the plan in force was made for no larger share than this."""
        return not bool((share < self.share - _ROUNDING).any())

    def is_same_work(self, graph: StageGraph) -> bool:
        """True if the plan in force was made by these estimates, for no fewer tasks of any stage."""
        if self.plan is None or self.seconds is None or self.seconds.shape != graph.duration.shape:
            return False
        has_grown = self.tasks is None or bool((graph.tasks > self.tasks).any())
        return _are_close(graph.duration, self.seconds) and not has_grown


def _are_close(seconds: FloatArray, before: FloatArray) -> bool:
    """Tell of estimates of the same stages whether they are what they were."""
    if seconds.shape != before.shape:
        return False
    return bool((np.abs(seconds - before) <= _ANOTHER * np.maximum(before, 1.0)).all())
