"""Policies that a queue of real clusters may have for its containers: those of the registry whose needs are met there.

Asks name sizes and places. Times that submitters state elsewhere are learnt here from containers that have ended;
graphs are read beside the calls of ApplicationMasters; tags and constraints are those of `SchedulingRequest`s, and
services are what asks so. Two that launch by themselves as published have a form over sub-clusters here.

Sparrow and Omega in a queue of real clusters, where sub-clusters stand for nodes.

As published both launch by themselves: Sparrow writes into the queues of nodes, Omega commits to the state of all
nodes. In front of ResourceManagers the same decisions are taken one step higher:

- *Sparrow*: a scheduler's queue stands for a node's. Each request is put into the queues of sub-clusters that are drawn
  at random, and bound to whichever grants first; what is left over elsewhere is withdrawn. No report is read.
- *Omega*: reports and the books of Local Masters stand for the shared state. Each Global Master plans first come, first
  served on its own copy, on random nodes; Local Masters commit what still fits, and name what conflicts.

Source: Ousterhout et al., SOSP 2013, sections 3.4 to 3.6; Schwarzkopf et al., EuroSys 2013, section 3.4.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

from shim.errors import BadRequestError
from shim.scheduling.parameters import PolicyParameter, checked_values, named_values, parameter, parameters_of, spec_of
from shim.scheduling.policies.medea import MEDEA_IN_QUEUES
from shim.scheduling.policy import CellChoice, Fact, Ordering, Placement, Policy, first_come
from shim.scheduling.registry import KINDS, PolicyKind
from shim.scheduling.snapshot import Scope


@dataclass(frozen=True, slots=True)
class ProbeRules:
    """Probes of a request. Gangs are placed by room: a part of one is worth nothing."""

    probes: int = parameter(
        2,
        unit="sub-clusters",
        least=1,
        most=100,
        section="sections 3.4 to 3.6",
        meaning="How many are drawn for each request, and asked for all of it at once.",
    )


def sparrow_over_clusters(rules: ProbeRules) -> Policy:
    return Policy(
        "sparrow",
        Ordering(first_come),
        Placement(CellChoice.BY_ROOM, Scope.CLUSTER, samples=rules.probes),
        summary="asks two sub-clusters that are drawn, and takes from whichever grants first",
        source="Ousterhout et al., SOSP 2013",
        rules=rules,
        remake=sparrow_over_clusters,
    )


SPARROW_OVER_CLUSTERS = sparrow_over_clusters(ProbeRules())

OMEGA_OVER_CLUSTERS = Policy(
    "omega",
    Ordering(first_come),
    Placement(CellChoice.RANDOM, Scope.CLUSTER),
    summary="plans on random nodes of its own view; Local Masters commit what still fits",
    source="Schwarzkopf et al., EuroSys 2013",
)


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


def queue_rejection(name: str) -> str:
    """Say why no queue of real clusters can have a policy; empty if it can, or if there is none of that name."""
    kind = KINDS.get(name)
    return "" if kind is None else _rejection(kind)


def shadow_rejection(name: str) -> str:
    """Say why no queue can have a policy in its shadow; empty if it can, or if there is none of that name."""
    policy = queue_policy(name)
    if policy is None:
        return queue_rejection(name)
    return "it draws at random, so that a difference says nothing" if _draws(policy) else ""


def _draws(policy: Policy) -> bool:
    return policy.placement.samples > 0 or policy.placement.cells is CellChoice.RANDOM


_OVER_CLUSTERS: Mapping[str, Policy] = MappingProxyType(
    {policy.name: policy for policy in (SPARROW_OVER_CLUSTERS, OMEGA_OVER_CLUSTERS)}
)


def _rejection(kind: PolicyKind) -> str:
    if kind.name in _OVER_CLUSTERS:
        return ""
    policy = kind.policy
    lacking = sorted(fact.value for fact in kind.needs - QUEUE_FACTS)
    if lacking:
        return f"it needs {'; '.join(lacking)}, which no queue of real clusters has"
    if policy is None:
        return f"it has no scheduling cycle; `heddle simulate --compare {kind.name}` runs it"
    return ""


QUEUE_POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        **{kind.name: kind.policy for kind in KINDS.values() if kind.policy is not None and not _rejection(kind)},
        **_OVER_CLUSTERS,
        MEDEA_IN_QUEUES.name: MEDEA_IN_QUEUES,
    }
)
"""By the words of `containers` of a `[[queue]]`."""

PARAMETERS: Mapping[str, Mapping[str, PolicyParameter]] = MappingProxyType(
    {name: found for name, policy in QUEUE_POLICIES.items() if (found := parameters_of(policy))}
)
"""Of each policy that has some: keys of a `[[queue]]` that has the policy."""


@lru_cache(maxsize=1024)
def queue_policy(spec: str) -> Policy | None:
    """A queue's policy by its name, with the values of parameters that follow it (`delay:node_s=3.0`); None for none.

    Those of a `[[queue]]` are named by `with_parameters`.
    """
    try:
        name, values = named_values(spec)
        policy = QUEUE_POLICIES.get(name)
        return None if policy is None else policy.with_parameters(values)
    except BadRequestError:
        return None


def parameter_rejection(names: Iterable[str], key: str, value: object) -> str:
    """Say why a key is not, with this value, a parameter of any of some policies; empty if it is one of some."""
    policies = [QUEUE_POLICIES[name] for name in dict.fromkeys(names) if name in QUEUE_POLICIES]
    told: list[str] = []
    for policy in sorted(policies, key=lambda each: key not in parameters_of(each)):
        try:
            checked_values(policy, {key: value})
        except BadRequestError as exc:
            told.append(str(exc))
            if key in parameters_of(policy):
                return str(exc)
        else:
            return ""
    having = [name for name, known in PARAMETERS.items() if key in known]
    return f"{'; '.join(told) or 'the queue has no policy'} ({key} is a parameter of {', '.join(having)})"


def with_parameters(name: str, raw: Mapping[str, object]) -> str:
    """Name a policy with those of some values, which were checked, that are its parameters; others are left out."""
    policy = QUEUE_POLICIES.get(name)
    if policy is None:
        return name
    known = parameters_of(policy)
    return spec_of(policy, checked_values(policy, {key: value for key, value in raw.items() if key in known}))


def goes_by_graphs(name: str) -> bool:
    """Return whether a queue's policy of that name reads the graphs of its jobs; False for what is none."""
    policy = queue_policy(name)
    return policy is not None and policy.goes_by(Fact.DAG)


def orders_stages(name: str) -> bool:
    """Return whether a queue's policy of that name goes by the order in which plans of jobs want their stages."""
    policy = queue_policy(name)
    return policy is not None and Fact.DAG in policy.needs


def predicts_by_runs(name: str) -> bool:
    """Return whether a queue's policy of that name predicts jobs with deadlines by graphs and former runs."""
    policy = queue_policy(name)
    return policy is not None and policy.goes_by(Fact.DAG) and policy.goes_by(Fact.DEADLINES)


def goes_by_deadlines(name: str) -> bool:
    """True if a queue's policy of that name has deadlines of its jobs met; False for what is none."""
    policy = queue_policy(name)
    return policy is not None and policy.goes_by(Fact.DEADLINES)


def asks_solver(name: str) -> bool:
    """Return whether a queue's policy of that name has plans of its cycles improved by a solver."""
    policy = queue_policy(name)
    return policy is not None and policy.solver is not None


def is_solved_apart(name: str) -> bool:
    """Return whether cycles go on without what a solver plans for a queue's policy of that name."""
    policy = queue_policy(name)
    return policy is not None and policy.is_solved_apart


SHADOW_POLICIES = tuple(name for name in QUEUE_POLICIES if not shadow_rejection(name))
"""By the words of `shadow` of a `[[queue]]`."""


def _ordering(policy: Policy) -> Ordering:
    """Give its ordering. A policy that places by itself may read how long containers are expected to run."""
    return policy.ordering if policy.placement.kernel is None else replace(policy.ordering, learns_durations=True)


@lru_cache(maxsize=1024)
def container_ordering(spec: str) -> Ordering:
    """Ordering of a queue's containers by a policy that `queue_policy` knows.

    Raises:
        BadRequestError: It knows none of that name.
    """
    policy = queue_policy(spec)
    if policy is None:
        raise BadRequestError(f"no queue can have policy {spec!r}")
    return _ordering(policy)
