"""Policies with other rules, for comparison in simulation alone: what a part of a policy is worth."""

from collections.abc import Mapping
from types import MappingProxyType

from shim.scheduling.deadline_control import DeadlineRules
from shim.scheduling.policies.jockey import JockeyRules, jockey
from shim.scheduling.policies.medea import MedeaRules, medea
from shim.scheduling.policy import Policy
from shim.scheduling.service_round import PlacementWeights

__all__ = ["VARIANTS"]

_PUBLISHED = DeadlineRules(hysteresis=0.2)

VARIANTS: Mapping[str, Policy] = MappingProxyType(
    {
        policy.name: policy
        for policy in (
            jockey(JockeyRules(_PUBLISHED, keeps_pace=False), "jockey-published"),
            jockey(JockeyRules(_PUBLISHED, uses_table=False, keeps_pace=False), "jockey-amdahl"),
            jockey(JockeyRules(uses_table=False), "jockey-amdahl-paced"),
            jockey(JockeyRules(adapts=False), "jockey-once"),
            jockey(JockeyRules(fixed=15), "jockey-15"),
            medea(MedeaRules(weights=PlacementWeights()), "medea-published"),
            medea(MedeaRules(solves=False), "medea-heuristics"),
            medea(MedeaRules(every_s=0.0, orders=("arrival",), solves=False), "medea-one-by-one"),
            medea(MedeaRules(every_s=0.0, orders=("arrival",), solves=False, knows_cardinality=False), "medea-kube"),
            medea(MedeaRules(orders=("no-constraints",), solves=False), "medea-blind"),
        )
    }
)
"""Jockey with the paper's control loop, and that with Amdahl's estimate; Heddle's loop with Amdahl's estimate; with its
first allocation kept; with 15 containers for each deadline. Medea with the paper's weights; without its program; with
each container as it comes; the same with affinity and anti-affinity alone, as Kubernetes has them; without a look at
constraints."""
