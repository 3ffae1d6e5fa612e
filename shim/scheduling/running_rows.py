"""Running containers of a queue's attempts, as rows of a snapshot."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from shim.domain.ids import NodeId
from shim.domain.resources import ResourceVector
from shim.scheduling.capacity import need_of
from shim.scheduling.job_table import FloatArray
from shim.scheduling.snapshot import Running

__all__ = ["HeldContainer", "running_of"]


class HeldContainer(NamedTuple):
    """A container that an attempt has.

    Attributes:
        job: The attempt's row in the table of jobs.
        since_s: Since when it has it.
        node: Where; None where no scheduler has told.
    """

    job: int
    since_s: float
    resource: ResourceVector
    node: NodeId | None = None


def running_of(
    containers: Iterable[HeldContainer],
    container_s: FloatArray,
    types: Sequence[str],
    nodes: Mapping[NodeId, int] = MappingProxyType({}),
) -> Running:
    """Containers of the queue's attempts.

    Args:
        containers: They.
        container_s: How long those of each job run. One of which it tells nothing does not end.
        types: Of resources.
        nodes: Rows of nodes; a container on another, or on one that is not known, is on -1.
    """
    of_job, since_s, resources, places = [list(each) for each in zip(*containers, strict=True)] or ([], [], [], [])
    rows = np.array(of_job, dtype=np.int64)
    expected_s = container_s[rows]
    demands = [need_of(each, "", (), types).demand for each in resources]
    nowhere = np.full(len(rows), -1, dtype=np.int64)
    return Running(
        job=rows,
        cluster=nowhere,
        node=np.array([nodes.get(place, -1) for place in places], dtype=np.int64),
        demand=np.array(demands, dtype=np.int64).reshape(len(rows), len(types)),
        since_s=np.array(since_s, dtype=np.float64),
        expected_s=np.where(expected_s > 0.0, expected_s, np.inf),
        may_be_taken=np.zeros(len(rows), dtype=np.bool_),
    )
