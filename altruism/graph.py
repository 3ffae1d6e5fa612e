"""The graph of a job's stages, and how far the job has come."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fairness.arrays import BoolArray, FloatArray, IntArray, amounts, expect_shape


class StageGraphError(ValueError):
    """Stages and edges that are no graph of a job, or a progress that does not belong to it."""


@dataclass(frozen=True, slots=True, eq=False)
class StageGraph:
    """Stages of alike tasks with barriers between them: a stage starts when all tasks of its parents have ended.

    Build with `StageGraph.of`, which checks.

    Attributes
    ----------
    needs : bool array of shape (n_stages, n_stages)
        ``needs[child, parent]``.
    tasks : int64 array of shape (n_stages,)
        Tasks of each stage.
    demand : float64 array of shape (n_stages, n_resources)
        Demand of one task, in parts of the capacity that is divided, so that resources compare.
    duration : float64 array of shape (n_stages,)
        Expected seconds of one task.
    order : tuple of int
        The stages with parents before children.
    """

    needs: BoolArray
    tasks: IntArray
    demand: FloatArray
    duration: FloatArray
    order: tuple[int, ...]

    @classmethod
    def of(cls, needs: ArrayLike, tasks: ArrayLike, demand: ArrayLike, duration: ArrayLike) -> "StageGraph":
        """Check and build a graph; the arguments are described in the class.

        Raises
        ------
        ShapeMismatchError
            If axes differ.
        StageGraphError
            If the stages form a cycle.
        ValueError
            If an amount is negative or not finite.
        """
        count, seconds, amount = (
            amounts("tasks", tasks, 1),
            amounts("duration", duration, 1),
            amounts("demand", demand, 2),
        )
        edges = np.asarray(needs, dtype=np.bool_)
        n_stages = count.shape[0]
        expect_shape("needs", edges, (n_stages, n_stages))
        expect_shape("duration", seconds, (n_stages,))
        expect_shape("demand", amount, (n_stages, amount.shape[1]))
        if not (np.isfinite(seconds).all() and np.isfinite(amount).all() and np.isfinite(count).all()):
            raise ValueError("tasks, demand and duration must be finite")
        return cls(edges, count.astype(np.int64), amount, seconds, _parents_first(edges))

    @property
    def n_stages(self) -> int:
        return len(self.tasks)

    def parents(self) -> list[list[int]]:
        return [np.flatnonzero(row).tolist() for row in self.needs]

    def children(self) -> list[list[int]]:
        return [np.flatnonzero(column).tolist() for column in self.needs.T]

    def reversed(self) -> "StageGraph":
        """Return the same stages with every edge turned around."""
        return StageGraph(self.needs.T, self.tasks, self.demand, self.duration, self.order[::-1])

    def mean_demand(self) -> FloatArray:
        """Mean demand of a task over all tasks of the job, of shape (n_resources,); zeros for a job without tasks.

        Source: the simulator of Carbyne's authors divides by it (`DRFSharePolicy`); it is kept for the job's life.
        """
        total = int(self.tasks.sum())
        return np.zeros(self.demand.shape[1]) if not total else self.tasks @ self.demand / total


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """Progress of a job. Alike running tasks that end together are one entry of the ``run_`` arrays.

    Attributes
    ----------
    waiting : int64 array of shape (n_stages,)
        Tasks that have not been launched.
    run_stage, run_count : int64 arrays of shape (n_running,)
        Stage and number of tasks that run.
    run_rest : float64 array of shape (n_running,)
        Seconds that they are expected to run on.
    """

    waiting: IntArray
    run_stage: IntArray
    run_count: IntArray
    run_rest: FloatArray

    @classmethod
    def of(
        cls, waiting: ArrayLike, run_stage: ArrayLike = (), run_count: ArrayLike = (), run_rest: ArrayLike = ()
    ) -> "Progress":
        """Check and build a progress.

        Raises
        ------
        ShapeMismatchError
            If axes differ.
        ValueError
            If an amount is negative.
        """
        rest = amounts("run_rest", run_rest, 1)
        stage, count = amounts("run_stage", run_stage, 1), amounts("run_count", run_count, 1)
        expect_shape("run_stage", stage, rest.shape)
        expect_shape("run_count", count, rest.shape)
        left = amounts("waiting", waiting, 1)
        return cls(left.astype(np.int64), stage.astype(np.int64), count.astype(np.int64), rest)

    @classmethod
    def at_start(cls, graph: StageGraph) -> "Progress":
        """Return the progress of a job of which nothing runs yet."""
        return cls.of(graph.tasks)

    def unfinished(self) -> IntArray:
        """Tasks of each stage that wait or run."""
        left = self.waiting.copy()
        np.add.at(left, self.run_stage, self.run_count)
        return left

    def held(self, graph: StageGraph) -> FloatArray:
        """Demand of all that runs, of shape (n_resources,)."""
        return self.run_count @ graph.demand[self.run_stage] if self.run_stage.size else np.zeros(graph.demand.shape[1])

    def remaining_work(self, graph: StageGraph) -> float:
        """Demand x seconds of all that waits or runs, summed over the resources."""
        size = graph.demand.sum(axis=1)
        waiting = float(self.waiting @ (size * graph.duration))
        return waiting + float((self.run_count * self.run_rest) @ size[self.run_stage])


def _parents_first(needs: BoolArray) -> tuple[int, ...]:
    """Order the stages topologically, the lower index first among equals.

    Raises
    ------
    StageGraphError
        If there is a cycle.
    """
    missing = needs.sum(axis=1)
    ready = [int(stage) for stage in np.flatnonzero(missing == 0)]
    order: list[int] = []
    while ready:
        stage = min(ready)
        ready.remove(stage)
        order.append(stage)
        for child in np.flatnonzero(needs[:, stage]).tolist():
            missing[child] -= 1
            if not missing[child]:
                ready.append(child)
    if len(order) < needs.shape[0]:
        stuck = sorted(set(range(needs.shape[0])) - set(order))
        raise StageGraphError(f"stages {stuck} wait for each other in a cycle")
    return tuple(order)
