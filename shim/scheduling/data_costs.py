"""Costs of where a request's containers read their input, against those of waiting.

Source: Isard et al., "Quincy", SOSP 2009, section 4.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shim.scheduling.flow_graph import FlowTasks
from shim.scheduling.locality import places_of
from shim.scheduling.parameters import parameter
from shim.scheduling.plan import Plan
from shim.scheduling.snapshot import RequestColumn, RequestTime, Snapshot

__all__ = ["DataCosts"]

_UNITS = 1000


@dataclass(frozen=True, slots=True)
class DataCosts:
    """Costs."""

    rack_cost: float = parameter(
        10.0, unit="per GB", section="section 4.2 (psi)", meaning="Cost of data that comes over a switch of the rack."
    )
    far_cost: float = parameter(
        20.0, unit="per GB", section="section 4.2 (xi)", meaning="Cost of data that comes from another rack."
    )
    wait_cost: float = parameter(
        0.5, unit="per s", least=1e-6, section="section 4.2 (omega)", meaning="Cost of a second in which one waits."
    )
    input_gb: float = parameter(0.125, unit="GB", meaning="What one container reads: asks tell no sizes.")

    def group(self, snapshot: Snapshot, row: int) -> FlowTasks:
        """Costs of one request: a row of the flow's graph."""
        numbers = snapshot.requests.numbers
        places = places_of(snapshot, snapshot.requests.prefers(row))
        racks = snapshot.nodes.racks if len(snapshot.nodes.racks) else np.zeros(len(snapshot.nodes), dtype=np.int64)
        near = np.unique(racks[places.near]).tolist()
        is_free = places.is_empty
        unit = _UNITS * self.input_gb
        waited_s = max(0.0, snapshot.now_s - float(snapshot.requests.times[RequestTime.SINCE_S, row]))
        is_strict = bool(numbers[RequestColumn.STRICT, row])
        return FlowTasks(
            int(numbers[RequestColumn.JOB, row]),
            int(numbers[RequestColumn.COUNT, row]),
            {node: (0, count) for node, count in zip(places.nodes.tolist(), places.counts.tolist(), strict=True)},
            {rack: int(unit * self.rack_cost) for rack in near},
            None if is_strict and not is_free else 0 if is_free else int(unit * self.far_cost),
            int(_UNITS * self.wait_cost * waited_s) + 1,
        )

    def cost(self, snapshot: Snapshot, plan: Plan, rows: Sequence[int]) -> int:
        """Cost of a plan by what it grants, waiting included."""
        left = {row: int(snapshot.requests.numbers[RequestColumn.COUNT, row]) for row in rows}
        groups = {row: self.group(snapshot, row) for row in {*rows, *(grant.request for grant in plan.grants)}}
        total = 0
        for grant in plan.grants:
            group = groups[grant.request]
            rack = int(snapshot.nodes.racks[grant.place]) if len(snapshot.nodes.racks) else 0
            near = group.racks.get(rack, group.anywhere or 0)
            at_node = group.computers.get(grant.place, (near, 0))
            local = min(grant.count, at_node[1])
            total += local * at_node[0] + (grant.count - local) * near
            left[grant.request] = left.get(grant.request, 0) - grant.count
        return total + sum(count * groups[row].waiting for row, count in left.items())
