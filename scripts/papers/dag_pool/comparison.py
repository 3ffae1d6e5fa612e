"""Policies by name, and their outcomes beside work-conserving DRF."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

from altruism import LeftoverOrder
from scripts.papers.dag_pool.altruistic import AltruismSettings, AltruisticPolicy, Reach
from scripts.papers.dag_pool.greedy import GREEDY_ORDERS, GreedyPolicy
from scripts.papers.dag_pool.jobs import PoolJob
from scripts.papers.dag_pool.pool import PoolOutcome, PoolPolicy, run_pool
from shim.simulation.engine import seeded
from shim.simulation.results import nearest_rank

_PAPER = AltruismSettings(strict=False)
_KEPT = AltruismSettings(order=LeftoverOrder.EARLIEST_PLANNED)

ALTRUISTIC: Mapping[str, AltruismSettings] = {
    "shares alone": replace(_PAPER, probability=0.0, lends=False),
    "carbyne": _PAPER,
    "carbyne P=0.75": replace(_PAPER, probability=0.75),
    "carbyne P=0.5": replace(_PAPER, probability=0.5),
    "carbyne P=0.25": replace(_PAPER, probability=0.25),
    "carbyne P=0": replace(_PAPER, probability=0.0),
    "carbyne, packing first": replace(_PAPER, order=LeftoverOrder.PACKING),
    "carbyne, graphene inside": replace(_PAPER, is_ranked=True),
    "promises": _KEPT,
    "promises P=0": replace(_KEPT, probability=0.0),
    "promises, graphene inside": replace(_KEPT, is_ranked=True),
    "promises, whole pool": replace(_KEPT, reach=Reach.POOL),
}
"""Altruistic policies, and the division that they start from: `shares alone` is DRF that is not work-conserving, as in
figure 2 of Carbyne's paper, each job packed within its share. `carbyne` is the paper's rule; with `promises` plans are
promises, and leftover is lent only where no plan needs it; in the `whole pool` jobs put off what the room of all others
allows."""

POLICIES: Sequence[str] = (*GREEDY_ORDERS, *ALTRUISTIC)
"""Every policy."""


def policy_named(name: str, seed: int) -> PoolPolicy:
    """Make a policy of `POLICIES`."""
    if name in GREEDY_ORDERS:
        return GreedyPolicy(name)
    return AltruisticPolicy(ALTRUISTIC[name], seeded(seed, "altruism"))


@dataclass(frozen=True, slots=True)
class Factors:
    """A policy beside DRF on the same jobs; above 1 is better.

    Attributes:
        mean, p50, p75, p95: Of DRF's completion times by the policy's.
        slowed: Part of the jobs that are slower than 0.8 times DRF.
        worst: The smallest factor of a job.
        makespan: DRF's by the policy's.
        jain: Mean over windows, and the least.
        look_ms: 99th percentile of a decision's processor time.
    """

    mean: float
    p50: float
    p75: float
    p95: float
    slowed: float
    worst: float
    makespan: float
    jain: tuple[float, float]
    look_ms: float

    @classmethod
    def mean_of(cls, several: Sequence["Factors"]) -> "Factors":
        """Mean over seeds; of the worst the worst."""

        def mean(name: str) -> float:
            return fmean(getattr(each, name) for each in several)

        return cls(
            mean=mean("mean"),
            p50=mean("p50"),
            p75=mean("p75"),
            p95=mean("p95"),
            slowed=mean("slowed"),
            worst=min(each.worst for each in several),
            makespan=mean("makespan"),
            jain=(fmean(each.jain[0] for each in several), min(each.jain[1] for each in several)),
            look_ms=median(each.look_ms for each in several),
        )


_BADLY_SLOWED = 0.8


def _factors(drf: PoolOutcome, other: PoolOutcome) -> Factors:
    each = [a / b for a, b in zip(drf.completions_s, other.completions_s, strict=True)]
    before, after = sorted(drf.completions_s), sorted(other.completions_s)

    def at(percent: float) -> float:
        return nearest_rank(before, percent) / nearest_rank(after, percent)

    return Factors(
        mean=fmean(before) / fmean(after),
        p50=at(50),
        p75=at(75),
        p95=at(95),
        slowed=sum(factor < _BADLY_SLOWED for factor in each) / len(each),
        worst=min(each),
        makespan=drf.makespan_s / other.makespan_s,
        jain=(fmean(other.jain), min(other.jain)) if other.jain else (1.0, 1.0),
        look_ms=1000 * nearest_rank(sorted(other.looks_s), 99),
    )


def compare(jobs: Sequence[PoolJob], names: Sequence[str], *, seed: int) -> dict[str, Factors]:
    """Run DRF and the policies named on the same jobs."""
    drf = run_pool(jobs, GreedyPolicy("drf"))
    return {name: _factors(drf, run_pool(jobs, policy_named(name, seed))) for name in names}
