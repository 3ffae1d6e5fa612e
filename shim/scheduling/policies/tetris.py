"""Tetris: the request that fits a node's room best, weighed against short jobs and fair shares.

Source: Grandl et al., SIGCOMM 2014.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from shim.scheduling.packing import PackingRules, pack, rank
from shim.scheduling.plan import Plan
from shim.scheduling.policy import CellChoice, Fact, Ordering, Placement, Policy, first_come
from shim.scheduling.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class _Kernel:
    rules: PackingRules

    def __call__(self, snapshot: Snapshot, memory: dict[str, object], turns: Sequence[int]) -> Plan:
        return pack(snapshot, memory, turns, self.rules)

    def rank(
        self, snapshot: Snapshot, memory: dict[str, object], turns: Sequence[int], plan: Plan
    ) -> Sequence[tuple[int, int]]:
        """Rank what waits; see `RankKernel`."""
        return rank(snapshot, memory, turns, plan, self.rules)


def tetris(rules: PackingRules) -> Policy:
    kernel = _Kernel(rules)
    return Policy(
        "tetris",
        Ordering(first_come),
        Placement(CellChoice.BY_ROOM, kernel=kernel, rank=kernel.rank),
        summary="the request that fits a node's room best, weighed against short jobs and fair shares",
        source="Grandl et al., SIGCOMM 2014",
        needs=frozenset({Fact.VECTORS, Fact.ESTIMATES}),
        rules=rules,
        remake=tetris,
    )


TETRIS = tetris(PackingRules())
