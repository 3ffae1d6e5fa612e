"""Snapshots made by hand, for policies that place by kernels of their own."""

import numpy as np

from shim.domain.resources import Need
from shim.scheduling.cycle import CycleState, run_cycle
from shim.scheduling.knowledge import NOTHING_KNOWN
from shim.scheduling.node_index import Cell, index_nodes
from shim.scheduling.snapshot import Column, JobTable, Preferred, RequestTable, Scope, Snapshot
from shim.simulation.engine import seeded


class CycleScene:
    """Nodes in racks, jobs with one request each or several, and cycles one after another.

    Attributes:
        free: int64 array of shape (n_nodes, n_resources); tests write to it between cycles.
    """

    def __init__(self, free, racks=None, properties=None):
        self.free = np.array(free, dtype=np.int64)
        self.racks = np.zeros(len(free), dtype=np.int64) if racks is None else np.array(racks, dtype=np.int64)
        self.properties = properties or [frozenset()] * len(free)
        self.jobs, self.requests = JobTable(), RequestTable()
        self.state = CycleState(seeded(1, "scene"))
        self.knowledge = NOTHING_KNOWN
        self.running = None

    def job(self, *, arrived_s=0.0, queue=-1, **columns):
        job = self.jobs.add()
        self.jobs.put(Column.ARRIVED_S, job, arrived_s)
        self.jobs.put(Column.QUEUE, job, queue)
        for name, value in columns.items():
            self.jobs.put(Column[name.upper()], job, value)
        return job

    def ask(
        self,
        count,
        demand=(1,),
        *,
        job=None,
        nodes=(),
        racks=(),
        strict=False,
        arrived_s=0.0,
        requires=(),
        avoids=(),
        **request,
    ):
        """A request; `nodes` and `racks` are pairs of a place and a count, `requires` and `avoids` properties."""
        need = Need(tuple(demand), frozenset(requires), frozenset(avoids))
        job = self.job(arrived_s=arrived_s) if job is None else job
        self.jobs.shift(Column.TASKS, job, count)
        self.jobs.shift(Column.WAITING, job, count)
        row = self.requests.add(job, need, count, **request)
        places = [Preferred(Scope.NODE, node, wanted) for node, wanted in nodes]
        places += [Preferred(Scope.RACK, rack, wanted) for rack, wanted in racks]
        self.requests.prefer(row, places, is_strict=strict)
        return row

    def snapshot(self, now_s=0.0, **parts):
        nodes = index_nodes(self.free.copy(), [Cell(0, 0, len(self.free))], self.properties)
        nodes.racks = self.racks
        if self.running is not None:
            parts.setdefault("running", self.running)
        parts.setdefault("knowledge", self.knowledge)
        return Snapshot(now_s, nodes, self.jobs.all_columns, self.requests.requests(), **parts)

    def decide(self, policy, now_s=0.0, **parts):
        """One cycle; nothing of it is carried out."""
        return run_cycle(self.snapshot(now_s, **parts), policy, self.state)

    def carry_out(self, policy, now_s=0.0, **parts):
        """One cycle, and what it grants starts; gives [(request, node, count)]."""
        plan = self.decide(policy, now_s, **parts)
        for grant in plan.grants:
            demand = np.array(self.requests.needs[grant.request].demand)
            self.free[grant.place] -= demand * grant.count
            assert (self.free[grant.place] >= 0).all(), f"more than there is: {grant}"
            self.requests.set_count(grant.request, self.requests.count(grant.request) - grant.count)
        return [(grant.request, grant.place, grant.count) for grant in plan.grants]
