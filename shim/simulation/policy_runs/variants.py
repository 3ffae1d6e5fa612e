"""Policies with other rules, for comparison in simulation alone: what a part of a policy is worth."""

from collections.abc import Mapping
from types import MappingProxyType

from shim.scheduling.policies.jockey import JockeyRules, jockey
from shim.scheduling.policies.medea import MedeaRules, medea
from shim.scheduling.policy import Policy

__all__ = ["VARIANTS"]

VARIANTS: Mapping[str, Policy] = MappingProxyType(
    {
        policy.name: policy
        for policy in (
            jockey(JockeyRules(uses_table=False), "jockey-amdahl"),
            jockey(JockeyRules(adapts=False), "jockey-once"),
            jockey(JockeyRules(fixed=15), "jockey-15"),
            medea(MedeaRules(solves=False), "medea-heuristics"),
            medea(MedeaRules(every_s=0.0, orders=("arrival",), solves=False), "medea-one-by-one"),
            medea(MedeaRules(orders=("no-constraints",), solves=False), "medea-blind"),
        )
    }
)
"""Jockey with Amdahl's estimate, with its first allocation kept, and with 15 containers for each deadline; Medea
without its program, with each container as it comes, and without a look at constraints."""
