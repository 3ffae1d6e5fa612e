"""Omega (Schwarzkopf et al., EuroSys 2013): schedulers in parallel on shared state, conflicts found at commit.

- Ordering: each scheduler serves its own queue, first come first served; a job not fully placed goes to its end.
- Placement: randomised first fit on a private copy of the whole cell's state, as old as the decision takes.
- Commitment: one transaction for a job's claims. A claim conflicts if its node has no room left (*resource fit*) or
  if anything was claimed there since the copy was taken (*sequence numbers*). Conflicting claims fail alone
  (*incremental*) or take the whole transaction with them (*all or nothing*).
- Reallocation: none.

A claim that is rolled back gives its resources back but leaves its mark on the node's sequence number, as in the
simulator that the authors published. Pure: the time that a decision takes is the caller's.
"""

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from shim.scheduling.placements import PolicyRandom


class ConflictMode(Enum):
    """Condition of a conflict."""

    RESOURCE_FIT = "resource-fit"
    SEQUENCE_NUMBERS = "sequence-numbers"


class TransactionMode(Enum):
    """Effect of a conflict on the other claims of its transaction."""

    INCREMENTAL = "incremental"
    ALL_OR_NOTHING = "all-or-nothing"


@dataclass(frozen=True, slots=True)
class OmegaRules:
    """The choices that the paper compares; the defaults are what it recommends."""

    conflict: ConflictMode = ConflictMode.RESOURCE_FIT
    transaction: TransactionMode = TransactionMode.INCREMENTAL


OMEGA = OmegaRules()


class CellState:
    """Free resources and a sequence number for each node.

    Attributes:
        free: int64 array of shape (n_nodes, n_resources).
        sequence: int64 array of shape (n_nodes,); counts the claims made on each node.
    """

    __slots__ = ("free", "sequence")

    def __init__(self, free: NDArray[np.int64], sequence: NDArray[np.int64] | None = None) -> None:
        self.free = free
        self.sequence = np.zeros(len(free), dtype=np.int64) if sequence is None else sequence

    def copy(self) -> "CellState":
        """A private copy to decide on."""
        return CellState(self.free.copy(), self.sequence.copy())

    def claim(self, node: int, demand: NDArray[np.int64]) -> None:
        """Take the demand from a node."""
        self.free[node] -= demand
        self.sequence[node] += 1

    def release(self, node: int, demand: NDArray[np.int64]) -> None:
        """Give the demand back; the sequence number stays."""
        self.free[node] += demand


@dataclass(frozen=True, slots=True)
class Claim:
    """One task on one node, and the node's sequence number when it was decided."""

    node: int
    sequence: int


@dataclass(frozen=True, slots=True)
class Commit:
    """Outcome of a transaction.

    Attributes:
        accepted: Claims that hold.
        conflicts: How many claims failed by themselves; with all or nothing the search ends at the first.
    """

    accepted: tuple[Claim, ...]
    conflicts: int


def place(state: CellState, n_tasks: int, demand: NDArray[np.int64], rng: PolicyRandom) -> list[Claim]:
    """Place as many tasks as fit, each on a random node that still has room.

    Args:
        state: The private copy.
        n_tasks: Tasks of equal demand.
        demand: int64 array of shape (n_resources,), positive somewhere.
        rng: Where nodes are drawn from.
    """
    asked = demand > 0
    room = np.min(state.free[:, asked] // demand[asked], axis=1)
    open_nodes = np.flatnonzero(room > 0)
    # [node, tasks that still fit, sequence number after the claims so far]
    candidates = np.stack([open_nodes, room[open_nodes], state.sequence[open_nodes]], axis=1).tolist()
    claims: list[Claim] = []
    while candidates and len(claims) < n_tasks:
        index = rng.randrange(len(candidates))
        candidate = candidates[index]
        claims.append(Claim(candidate[0], candidate[2]))
        candidate[1] -= 1
        candidate[2] += 1
        if not candidate[1]:
            candidates[index] = candidates[-1]
            candidates.pop()
    return claims


def commit(cell: CellState, claims: list[Claim], demand: NDArray[np.int64], rules: OmegaRules) -> Commit:
    """Commit a transaction to the shared state."""
    accepted: list[Claim] = []
    conflicts = 0
    for claim in claims:
        if not _conflicts(cell, claim, demand, rules.conflict):
            cell.claim(claim.node, demand)
            accepted.append(claim)
            continue
        conflicts += 1
        if rules.transaction is TransactionMode.ALL_OR_NOTHING:
            for rolled_back in accepted:
                cell.release(rolled_back.node, demand)
            return Commit((), conflicts)
    return Commit(tuple(accepted), conflicts)


def _conflicts(cell: CellState, claim: Claim, demand: NDArray[np.int64], mode: ConflictMode) -> bool:
    if mode is ConflictMode.SEQUENCE_NUMBERS:
        return bool(cell.sequence[claim.node] != claim.sequence)
    return bool((cell.free[claim.node] < demand).any())
