"""Running containers of a queue's attempts, as rows of a snapshot."""

from collections.abc import Iterable, Sequence

import numpy as np

from shim.domain.resources import ResourceVector
from shim.scheduling.capacity import need_of
from shim.scheduling.job_table import FloatArray
from shim.scheduling.snapshot import Running

__all__ = ["running_of"]


def running_of(
    containers: Iterable[tuple[int, float, ResourceVector]], container_s: FloatArray, types: Sequence[str]
) -> Running:
    """Containers of the queue's attempts: the attempt's row in the table of jobs, since when it has it, its size.

    Which nodes they are on is not told here. One of which `container_s` tells nothing does not end.
    """
    of_job, since_s, resources = [list(each) for each in zip(*containers, strict=True)] or ([], [], [])
    rows = np.array(of_job, dtype=np.int64)
    expected_s = container_s[rows]
    demands = [need_of(each, "", (), types).demand for each in resources]
    nowhere = np.full(len(rows), -1, dtype=np.int64)
    return Running(
        job=rows,
        cluster=nowhere,
        node=nowhere,
        demand=np.array(demands, dtype=np.int64).reshape(len(rows), len(types)),
        since_s=np.array(since_s, dtype=np.float64),
        expected_s=np.where(expected_s > 0.0, expected_s, np.inf),
        may_be_taken=np.zeros(len(rows), dtype=np.bool_),
    )
