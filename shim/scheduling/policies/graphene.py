"""Graphene (DAGPS): each job is planned once by itself, troublesome tasks first; online its stages go in that order.

Among jobs requests are packed as Tetris does, with alignment weighed by how early the job's plan wants the stage.

Source: Grandl et al., OSDI 2016, sections 4 to 6.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from shim.scheduling.knowledge import StageOutline
from shim.scheduling.packing import PackingRules, node_size, pack, rank
from shim.scheduling.plan import Plan
from shim.scheduling.policy import CellChoice, Fact, Ordering, Placement, Policy, first_come
from shim.scheduling.snapshot import RequestColumn, Snapshot
from shim.scheduling.virtual_space import stage_weights

_PLANS = "plans of jobs"


@dataclass(frozen=True, slots=True)
class _Kernel:
    rules: PackingRules

    def __call__(self, snapshot: Snapshot, memory: dict[str, object], turns: Sequence[int]) -> Plan:
        return pack(snapshot, memory, turns, self.rules, self._weights(snapshot, memory, turns))

    def rank(
        self, snapshot: Snapshot, memory: dict[str, object], turns: Sequence[int], plan: Plan
    ) -> Sequence[tuple[int, int]]:
        """Rank what waits; see `RankKernel`."""
        return rank(snapshot, memory, turns, plan, self.rules, self._weights(snapshot, memory, turns))

    def _weights(self, snapshot: Snapshot, memory: dict[str, object], turns: Sequence[int]) -> dict[int, float]:
        """Weigh each request by how early its job's plan wants its stage."""
        before = memory.get(_PLANS)
        known = before if isinstance(before, dict) else {}
        capacity = node_size(snapshot, memory) * max(1, len(snapshot.nodes))
        kept: dict[tuple[StageOutline, ...], dict[int, float]] = {}
        weights: dict[int, float] = {}
        for row in turns:
            job, stage = snapshot.requests.numbers[[RequestColumn.JOB, RequestColumn.STAGE], row].tolist()
            planned = snapshot.knowledge.stage_weights.get(job)
            graph = snapshot.knowledge.graphs.get(job)
            if planned is None and graph is not None:
                if graph not in kept:
                    kept[graph] = known[graph] if graph in known else stage_weights(graph, capacity)
                planned = kept[graph]
            if planned is not None:
                weights[row] = planned.get(stage, 1.0)
        memory[_PLANS] = kept
        return weights


def graphene(rules: PackingRules) -> Policy:
    kernel = _Kernel(rules)
    return Policy(
        "graphene",
        Ordering(first_come),
        Placement(CellChoice.BY_ROOM, kernel=kernel, rank=kernel.rank),
        summary="troublesome tasks of each job first, in the order of a plan of its graph; packed as Tetris does",
        source="Grandl et al., OSDI 2016",
        needs=frozenset({Fact.DAG, Fact.VECTORS, Fact.ESTIMATES}),
        rules=rules,
        remake=graphene,
    )


GRAPHENE = graphene(PackingRules())
