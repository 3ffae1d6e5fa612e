"""Sparrow and Omega in a queue of real clusters, where sub-clusters stand for nodes.

As published both launch by themselves: Sparrow writes into the queues of nodes, Omega commits to the state of all
nodes. In front of ResourceManagers the same decisions are taken one step higher:

- *Sparrow*: a scheduler's queue stands for a node's. Each request is put into the queues of sub-clusters that are drawn
  at random, and bound to whichever grants first; what is left over elsewhere is withdrawn. No report is read.
- *Omega*: reports and the books of Local Masters stand for the shared state. Each Global Master plans first come, first
  served on its own copy, on random nodes; Local Masters commit what still fits, and name what conflicts.

Source: Ousterhout et al., SOSP 2013, sections 3.4 to 3.6; Schwarzkopf et al., EuroSys 2013, section 3.4.
"""

from dataclasses import dataclass

from shim.scheduling.orderings import first_come
from shim.scheduling.parameters import parameter
from shim.scheduling.policy import CellChoice, NodeChoice, Ordering, Placement, Policy
from shim.scheduling.snapshot import Scope

__all__ = ["OMEGA_OVER_CLUSTERS", "SPARROW_OVER_CLUSTERS", "ProbeRules", "sparrow_over_clusters"]


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
    """Sparrow with other numbers of probes."""
    return Policy(
        "sparrow",
        Ordering(first_come),
        Placement(CellChoice.BY_ROOM, NodeChoice.PACK, Scope.CLUSTER, samples=rules.probes),
        summary="asks two sub-clusters that are drawn, and takes from whichever grants first",
        source="Ousterhout et al., SOSP 2013",
        rules=rules,
        remake=sparrow_over_clusters,
    )


SPARROW_OVER_CLUSTERS = sparrow_over_clusters(ProbeRules())

OMEGA_OVER_CLUSTERS = Policy(
    "omega",
    Ordering(first_come),
    Placement(CellChoice.RANDOM, NodeChoice.RANDOM_START, Scope.CLUSTER),
    summary="plans on random nodes of its own view; Local Masters commit what still fits",
    source="Schwarzkopf et al., EuroSys 2013",
)
