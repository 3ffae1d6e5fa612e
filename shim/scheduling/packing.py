"""Packing by alignment: which request fits a node's room best, weighed against how much work its job has left.

The score of a request on a node is w a - e (A/P) p: a is the dot product of its demand and the node's room, both in
parts of a node; p is the work that its job has left, in the same parts times seconds; A and P are the means of both
over the candidates; e is how much short jobs matter; w is a weight that a plan gave, else 1. Of the jobs, only those
furthest below their fair share are candidates: all but the part f of them.

Source: Grandl et al., "Multi-resource Packing for Cluster Schedulers" (Tetris), SIGCOMM 2014, sections 3.2 to 3.5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from shim.scheduling.durations import FloatArray
from shim.scheduling.free_capacity import FreeCapacity
from shim.scheduling.parameters import parameter
from shim.scheduling.plan import Plan, Reason, ReasonCode
from shim.scheduling.policy import CellChoice, Fact, Ordering, Placement, Policy, first_come
from shim.scheduling.ranking import waiting_after
from shim.scheduling.snapshot import Column, IntArray, RequestColumn, RequestTime, Snapshot

_ROOM = Reason(ReasonCode.ROOM)
_SIZE = "node size"
_UNKNOWN_S = 1.0
_EQUAL = 1e-9
_MOST_CANDIDATES = 500
"""The first so many in their turn are looked at: each start scores all of them."""


@dataclass(frozen=True, slots=True)
class PackingRules:
    """Weights of packing."""

    short_jobs: float = parameter(
        1.0, section="sections 3.2 to 3.5", meaning="How much short jobs matter beside packing; 0 packs alone."
    )
    fairness: float = parameter(
        0.25,
        most=1.0,
        section="sections 3.2 to 3.5",
        meaning="0 looks at all jobs; near 1 at the one alone that is furthest below its share.",
    )


def node_size(snapshot: Snapshot, memory: dict[str, object]) -> FloatArray:
    """The most of each resource type that any node ever had free, at least 1: float64 array of shape (R,)."""
    most: FloatArray = np.maximum(snapshot.nodes.free.max(axis=0, initial=1), 1).astype(np.float64)
    known = memory.get(_SIZE)
    if isinstance(known, np.ndarray) and known.shape == most.shape:
        most = np.maximum(most, known)
    memory[_SIZE] = most
    return most


def remaining_work(snapshot: Snapshot, request: int, size: FloatArray) -> float:
    """Work that the job of a request has left, running tasks included: parts of a node times seconds.

    By the stages of the job's graph where it is known, else by the request's own demand and expected time.
    """
    job = int(snapshot.requests.numbers[RequestColumn.JOB, request])
    graph = snapshot.knowledge.graphs.get(job)
    if graph is not None:
        finished = snapshot.knowledge.finished.get(job, (0,) * len(graph))
        return sum(
            max(0, stage.n_tasks - done) * (stage.expected_s or _UNKNOWN_S) * float((stage.demand / size).sum())
            for stage, done in zip(graph, finished, strict=True)
        )
    left = max(1.0, float(snapshot.jobs[Column.TASKS, job] - snapshot.jobs[Column.FINISHED, job]))
    seconds = float(snapshot.requests.times[RequestTime.EXPECTED_S, request]) or _UNKNOWN_S
    return left * seconds * float((np.array(snapshot.requests.needs[request].demand) / size).sum())


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Requests that are scored, in their turn, and what their scores are made of.

    Attributes:
        rows: Of the requests; `priorities` and `jobs` are those of their jobs.
        demand: Float64 array of shape (n, R), in parts of a node.
        work: That their jobs have left.
        scale: Weights that a plan gave.
        shares: Of a node, that their jobs have in all.
    """

    rows: list[int]
    priorities: FloatArray
    jobs: IntArray
    demand: FloatArray
    work: FloatArray
    scale: FloatArray
    shares: FloatArray

    @classmethod
    def of(
        cls, snapshot: Snapshot, rows: list[int], size: FloatArray, weights: Mapping[int, float] | None
    ) -> "_Candidates":
        demand = np.array([snapshot.requests.needs[row].demand for row in rows], dtype=np.float64) / size
        jobs = snapshot.requests.numbers[RequestColumn.JOB][rows]
        return cls(
            rows,
            snapshot.jobs[Column.PRIORITY][jobs],
            jobs,
            demand,
            np.array([remaining_work(snapshot, row, size) for row in rows]),
            np.array([1.0 if weights is None else weights.get(row, 1.0) for row in rows]),
            snapshot.jobs[Column.RUNNING][jobs] * demand.max(axis=1),
        )

    def scores(self, among: IntArray, room: FloatArray, rules: PackingRules) -> FloatArray:
        """Score some of them on a node that has so much room, in parts of a node."""
        alignment = self.demand[among] @ room
        mean_work = float(self.work[among].mean())
        penalty = rules.short_jobs * float(alignment.mean()) / mean_work if mean_work else 0.0
        found: FloatArray = self.scale[among] * alignment - penalty * self.work[among]
        return found


def pack(
    snapshot: Snapshot,
    memory: dict[str, object],
    turns: Sequence[int],
    rules: PackingRules,
    weights: Mapping[int, float] | None = None,
) -> Plan:
    """Fill one node after another, each time with the candidate of the best score; equal ones in their turn's order.

    Jobs of a higher priority go first.

    Args:
        snapshot: What the cycle starts from.
        turns: Rows of the requests in their order.
    """
    room, size = FreeCapacity(snapshot), node_size(snapshot, memory)
    served = list(islice((row for row in turns if room.has_room(row)), _MOST_CANDIDATES))
    if not served:
        return room.plan()
    among = _Candidates.of(snapshot, served, size, weights)
    rows, priorities, jobs, shares = among.rows, among.priorities, among.jobs, among.shares
    slots = np.array([room.slots(row) for row in rows])
    is_open = np.ones(len(rows), dtype=np.bool_)
    for node in np.flatnonzero(slots.any(axis=0)).tolist():
        while True:
            fits = is_open & np.array([room.slots(row)[node] > 0 and room.left(row) > 0 for row in rows])
            first = fits & (priorities == priorities.max(where=fits, initial=-np.inf))
            candidates = _neediest(np.flatnonzero(first), jobs, shares, rules.fairness)
            if not candidates.size:
                break
            score = among.scores(candidates, room.free[node] / size, rules)
            best = int(candidates[int(np.argmax(score >= score.max() - _EQUAL))])
            if not room.grant(rows[best], node, 1, _ROOM):
                is_open[best] = False  # its queue may have no more in this cluster
                continue
            shares[jobs == jobs[best]] += among.demand[best].max()
        is_open[:] = True
    return room.plan()


def rank(
    snapshot: Snapshot,
    memory: dict[str, object],
    turns: Sequence[int],
    plan: Plan,
    rules: PackingRules,
    weights: Mapping[int, float] | None = None,
) -> Sequence[tuple[int, int]]:
    """Rank what a plan left waiting by its score on an empty node, as nobody knows which node comes free.

    The jobs that are furthest below their share go before the others, and those of a higher priority before both.

    Args:
        snapshot: What the cycle started from.
        turns: Rows of the requests in their order.
    """
    waiting = list(islice(waiting_after(snapshot, turns, plan), _MOST_CANDIDATES))
    if not waiting:
        return ()
    size, everybody = node_size(snapshot, memory), np.arange(len(waiting))
    among = _Candidates.of(snapshot, [row for row, _ in waiting], size, weights)
    for row, count in plan.granted().items():
        of_job = among.jobs == snapshot.requests.numbers[RequestColumn.JOB, row]
        demand = np.array(snapshot.requests.needs[row].demand) / size
        among.shares[of_job] += count * demand.max()
    score = among.scores(everybody, np.ones(len(size)), rules)
    is_needy = np.isin(everybody, _neediest(everybody, among.jobs, among.shares, rules.fairness))
    best_first = np.lexsort((-score, ~is_needy, -among.priorities))
    return [waiting[at] for at in best_first.tolist()]


def _neediest(candidates: IntArray, jobs: IntArray, shares: FloatArray, fairness: float) -> IntArray:
    if not candidates.size or fairness <= 0.0:
        return candidates
    of_jobs = {int(jobs[each]): float(shares[each]) for each in candidates.tolist()}
    kept = max(1, int(np.ceil((1.0 - fairness) * len(of_jobs) - 1e-9)))
    chosen = sorted(of_jobs, key=lambda job: (of_jobs[job], job))[:kept]
    return candidates[np.isin(jobs[candidates], chosen)]


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
