"""Policies that a queue of real clusters may have for its containers: those of the registry whose needs are met there.

Asks name sizes and places. Times that submitters state elsewhere are learnt here from containers that have ended;
graphs are read beside the calls of ApplicationMasters; tags and constraints are those of `SchedulingRequest`s, and
services are what asks so. Two that launch by themselves as published have a form over sub-clusters here.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from shim.scheduling.policies.medea import MEDEA_IN_QUEUES
from shim.scheduling.policies.over_clusters import OMEGA_OVER_CLUSTERS, SPARROW_OVER_CLUSTERS
from shim.scheduling.policy import CellChoice, Fact, Ordering, Policy
from shim.scheduling.registry import KINDS, PolicyKind

__all__ = [
    "CONTAINER_ORDERS",
    "QUEUE_FACTS",
    "QUEUE_POLICIES",
    "SHADOW_POLICIES",
    "asks_solver",
    "goes_by_graphs",
    "is_solved_apart",
    "queue_objection",
    "shadow_objection",
]

QUEUE_FACTS = frozenset(
    {
        Fact.VECTORS,
        Fact.LOCALITY,
        Fact.ESTIMATES,
        Fact.DEADLINES,
        Fact.DAG,
        Fact.CONSTRAINTS,
        Fact.LONG_RUNNING,
    }
)
"""What a queue of real clusters tells; graphs of those jobs whose engines leave them where they can be read."""


def queue_objection(name: str) -> str:
    """Say why no queue of real clusters can have a policy; empty if it can, or if there is none of that name."""
    kind = KINDS.get(name)
    return "" if kind is None else _objection(kind)


def shadow_objection(name: str) -> str:
    """Say why no queue can have a policy in its shadow; empty if it can, or if there is none of that name."""
    policy = QUEUE_POLICIES.get(name)
    if policy is None:
        return queue_objection(name)
    return "it draws at random, so that a difference says nothing" if _draws(policy) else ""


def _draws(policy: Policy) -> bool:
    return policy.placement.samples > 0 or policy.placement.cells is CellChoice.RANDOM


_OVER_CLUSTERS: Mapping[str, Policy] = MappingProxyType(
    {policy.name: policy for policy in (SPARROW_OVER_CLUSTERS, OMEGA_OVER_CLUSTERS)}
)


def _objection(kind: PolicyKind) -> str:
    if kind.name in _OVER_CLUSTERS:
        return ""
    policy = kind.policy
    lacking = sorted(fact.value for fact in kind.needs - QUEUE_FACTS)
    if lacking:
        return f"it needs {'; '.join(lacking)}, which no queue of real clusters has"
    if policy is None:
        return f"it has no scheduling cycle; `heddle simulate {kind.name}` runs it"
    return ""


QUEUE_POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        **{kind.name: kind.policy for kind in KINDS.values() if kind.policy is not None and not _objection(kind)},
        **_OVER_CLUSTERS,
        MEDEA_IN_QUEUES.name: MEDEA_IN_QUEUES,
    }
)
"""By the words of `containers` of a `[[queue]]`."""


def goes_by_graphs(name: str) -> bool:
    """Tell whether a queue's policy of that name reads the graphs of its jobs; False for what is none."""
    policy = QUEUE_POLICIES.get(name)
    return policy is not None and Fact.DAG in policy.needs


def asks_solver(name: str) -> bool:
    """Tell whether a queue's policy of that name has plans of its cycles improved by a solver."""
    policy = QUEUE_POLICIES.get(name)
    return policy is not None and policy.solver is not None


def is_solved_apart(name: str) -> bool:
    """Tell whether cycles go on without what a solver plans for a queue's policy of that name."""
    policy = QUEUE_POLICIES.get(name)
    return policy is not None and policy.is_solved_apart


SHADOW_POLICIES = tuple(name for name in QUEUE_POLICIES if not shadow_objection(name))
"""By the words of `shadow` of a `[[queue]]`."""


def _ordering(policy: Policy) -> Ordering:
    """Give its ordering. A policy that places by itself may read how long containers are expected to run."""
    return policy.ordering if policy.placement.kernel is None else replace(policy.ordering, learns_durations=True)


CONTAINER_ORDERS: Mapping[str, Ordering] = MappingProxyType(
    {name: _ordering(policy) for name, policy in QUEUE_POLICIES.items()}
)
"""Orderings that a queue may have for its containers, by the words of `[[queue]]`."""
