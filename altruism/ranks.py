"""An order of a job's stages by how hard they are to pack, for use in `pack_forward`.

After Grandl et al., Graphene: Packing and Dependency-Aware Scheduling for Data-Parallel Clusters (OSDI 2016), as far as
its idea is known to work on stages of alike tasks: troublesome stages first, with what they need before them. Different
from there: whole stages instead of tasks, and list packing instead of placing into an empty space.
"""

import numpy as np

from altruism.graph import Progress, StageGraph
from altruism.packing import pack_forward
from fairness.arrays import BoolArray, FloatArray

__all__ = ["stage_ranks"]

_STEPS = tuple(step / 10 for step in range(11))


def stage_ranks(graph: StageGraph, share: FloatArray) -> list[float] | None:
    """Find the order of stages whose packing into a share is shortest.

    Tried are: the packer's own choice, the longest path first, and for each set of troublesome stages those with what
    they need first, then what is unordered with them, then what needs them; in each the longest path first.

    Parameters
    ----------
    graph : StageGraph
        The job.
    share : float64 array of shape (n_resources,)
        What it may use at each moment.

    Returns
    -------
    list of float, one for each stage, or None
        The smaller first; None where the packer's own choice is as good as any.
    """
    start = Progress.at_start(graph)
    own = pack_forward(graph, start, share)
    if own is None:
        return None
    longest, reach = _longest_paths(graph), _reaches(graph)
    by_path = [-each for each in longest]
    best, ranks = own.makespan, None
    for candidate in [by_path, *(_ranked(reach, chosen, longest) for chosen in _troublesome(graph, share, reach))]:
        found = pack_forward(graph, start, share, rank=candidate)
        if found is not None and found.makespan < best:
            best, ranks = found.makespan, candidate
    return ranks


def _longest_paths(graph: StageGraph) -> list[float]:
    """Seconds from the start of each stage to the end of the job along its longest path."""
    path, children = graph.duration.tolist(), graph.children()
    for stage in reversed(graph.order):
        path[stage] += max((path[child] for child in children[stage]), default=0.0)
    return list(path)


def _reaches(graph: StageGraph) -> BoolArray:
    """``reach[descendant, ancestor]``, each stage its own."""
    reach: BoolArray = np.eye(graph.n_stages, dtype=np.bool_)
    for stage in graph.order:
        reach[stage] |= reach[graph.needs[stage]].any(axis=0)
    return reach


def _troublesome(graph: StageGraph, share: FloatArray, reach: BoolArray) -> list[BoolArray]:
    """Sets of stages that are long, or hard to pack, by each threshold; with all that is between two of them."""
    long = graph.duration / max(float(graph.duration.max(initial=0.0)), 1e-12)
    wide = np.maximum(np.floor((share / np.maximum(graph.demand, 1e-12)).min(axis=1)), 1.0)
    work = graph.tasks * graph.duration * (graph.demand / np.maximum(share, 1e-12)).max(axis=1)
    easy = work / np.maximum(np.ceil(graph.tasks / wide) * graph.duration, 1e-12)
    found: dict[bytes, BoolArray] = {}
    for least in _STEPS:
        for most in _STEPS:
            chosen = (long >= least) | (easy <= most)
            closed = np.asarray(reach[:, chosen].any(axis=1) & reach[chosen].any(axis=0), dtype=np.bool_)
            found.setdefault(closed.tobytes(), closed)
    return list(found.values())


def _ranked(reach: BoolArray, chosen: BoolArray, longest: list[float]) -> list[float]:
    before = np.asarray(reach[chosen].any(axis=0), dtype=np.bool_)
    after = np.asarray(reach[:, chosen].any(axis=1), dtype=np.bool_) & ~chosen
    scale = 2 * max([*longest, 1.0])
    return [
        (0.0 if before[stage] else 2.0 if after[stage] else 1.0) * scale - path for stage, path in enumerate(longest)
    ]
