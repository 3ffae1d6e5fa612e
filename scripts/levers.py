"""What a front can do about nodes and order on a real ResourceManager: each lever, tried, as one table.

`python -m scripts.levers --folder F` starts one cluster of three nodes at a time (`CELLS`), and asks it as an
ApplicationMaster with no container of its own does. Containers are granted, never launched. A wanted node is free or
full; others have free capacity in both cases. What comes out of each cell is kept in F, so a run can be continued.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Self

import httpx

from scripts.bench.real_masters import unmanaged_tokens
from scripts.bench.relay_fleets import Login, log_in
from scripts.bench.report import figure_table
from shim.lab import Lab, LabSpec
from shim.lab.handles import Cluster
from shim.lab.spec import ClusterSpec, LabNode, SchedulerKind
from shim.ports.attempt_calls import ALLOCATE, FINISH, REGISTER
from shim.protocol.hrpc import HadoopRequest
from shim.protocol.proto import APPLICATION_MASTER
from shim.protocol.proto.messages import (
    AllocateRequestProto,
    AllocateResponseProto,
    ContainerProto,
    ExecutionTypeRequestProto,
    FinishApplicationMasterRequestProto,
    PlacementConstraintProto,
    PlacementConstraintTargetProto,
    PriorityProto,
    RegisterApplicationMasterRequestProto,
    ResourceBlacklistRequestProto,
    ResourceProto,
    ResourceRequestProto,
    ResourceSizingProto,
    SchedulingRequestProto,
    SimplePlacementConstraintProto,
    UpdateContainerRequestProto,
)

PAGE = Path(__file__).resolve().parent.parent / "docs" / "researchers" / "levers.md"
_BEGIN, _END = "<!-- levers: begin -->", "<!-- levers: end -->"
NODES = 3
SLOTS = 4
"""Containers of `SIZE` for which one node has capacity."""
SIZE = ResourceProto(memory=1024, virtual_cores=1)
NODE_HEARTBEAT_S = 0.5
HEARTBEAT_S = 0.1
PATIENCE_S = 5.0
"""Ten heartbeats of a node: what is not granted by then is a miss."""
BACKLOG = 8
ORDERS = {"fifo": "default", "fair": "prod"}
"""Queues of a cell by the order in which they serve applications."""

_ATTRIBUTE = "nm.yarn.io/where"
_QUEUE = "yarn.scheduler.capacity.root"
_FAIR = (
    '<?xml version="1.0"?>\n<allocations>\n'
    '  <queue name="default"><schedulingPolicy>fifo</schedulingPolicy></queue>\n'
    '  <queue name="prod"><schedulingPolicy>fair</schedulingPolicy></queue>\n</allocations>\n'
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cluster that is asked."""

    version: str
    scheduler: SchedulerKind

    @property
    def name(self) -> str:
        """As a column is headed."""
        return f"{self.version} {self.scheduler}"

    def spec(self) -> LabSpec:
        """A cluster with what the levers need; the delay for locality is Hadoop's default, not the lab's."""
        yarn = {"yarn.resourcemanager.opportunistic-container-allocation.enabled": "true"}
        if self.has_constraints:
            is_capacity = self.scheduler is SchedulerKind.CAPACITY
            yarn["yarn.resourcemanager.placement-constraints.handler"] = (
                "scheduler" if is_capacity else "placement-processor"
            )
        capacity = {"yarn.scheduler.capacity.node-locality-delay": "40", f"{_QUEUE}.prod.ordering-policy": "fair"}
        return LabSpec(
            (
                ClusterSpec(
                    "east",
                    version=self.version,
                    nodes=NODES,
                    scheduler=self.scheduler,
                    overrides={"yarn-site.xml": yarn, "capacity-scheduler.xml": capacity},
                    node_specs=tuple(LabNode(properties=_node(number)) for number in range(NODES)),
                    fair_allocations=_FAIR,
                ),
            )
        )

    @property
    def has_constraints(self) -> bool:
        """Placement constraints and node attributes came with Hadoop 3."""
        return not self.version.startswith("2.")


def _node(number: int) -> dict[str, str]:
    return {
        "yarn.nodemanager.node-attributes.provider": "config",
        "yarn.nodemanager.node-attributes.provider.configured-node-attributes": f"where,STRING,n{number}",
        "yarn.nodemanager.opportunistic-containers-max-queue-length": "10",
    }


CELLS = tuple(Cell(version, kind) for version in ("2.10.2", "3.4.2") for kind in SchedulerKind)


@dataclass(slots=True)
class Master:
    """A registered ApplicationMaster, and what it was granted."""

    login: Login
    hosts: Sequence[str]
    response_id: int = 0
    granted: list[ContainerProto] = field(default_factory=list)
    last: AllocateResponseProto = field(default_factory=AllocateResponseProto)

    @classmethod
    async def begin(cls, cluster: Cluster, queue: str, hosts: Sequence[str]) -> Self:
        """Submit and register one; `hosts` begins with the node that is wanted."""
        server = cluster.record.layout.primary
        (token,) = await unmanaged_tokens(server.client_rpc, 1, queue)
        made = cls(await log_in(server.scheduler_rpc, token), hosts)
        registration = RegisterApplicationMasterRequestProto(host="nowhere", rpc_port=0)
        await made.login.call(HadoopRequest(APPLICATION_MASTER.name, REGISTER, registration.SerializeToString()))
        return made

    async def beat(self, request: AllocateRequestProto | None = None) -> list[ContainerProto]:
        """Call once, after one interval; return what is new."""
        await asyncio.sleep(HEARTBEAT_S)
        sent = request or AllocateRequestProto()
        sent.response_id = self.response_id
        sent.progress = 0.5
        await self.login.call(HadoopRequest(APPLICATION_MASTER.name, ALLOCATE, sent.SerializeToString()))
        self.last = AllocateResponseProto.FromString(self.login.payload)
        self.response_id = self.last.response_id
        fresh = list(self.last.allocated_containers)
        self.granted += fresh
        return fresh

    async def wait(self, count: int, request: AllocateRequestProto, within_s: float = PATIENCE_S) -> float | None:
        """Ask for so many; the seconds until they are granted, None if they are not in time."""
        began_s, before = time.monotonic(), len(self.granted)
        await self.beat(request)
        while len(self.granted) - before < count:
            if self.last.rejected_scheduling_requests:
                raise RuntimeError("the request is rejected")
            if time.monotonic() - began_s > within_s:
                return None
            await self.beat()
        return time.monotonic() - began_s

    async def fill(self, host: str, count: int = SLOTS) -> None:
        """Take all of one node."""
        if await self.wait(count, pinned(host, count), 30.0) is None:
            raise RuntimeError(f"{host} is not filled: {len(self.granted)} of {count} containers")

    async def end(self) -> None:
        """Unregister; all that it holds comes free."""
        request = FinishApplicationMasterRequestProto(final_application_status=1).SerializeToString()
        for _ in range(3):
            try:
                await self.login.call(HadoopRequest(APPLICATION_MASTER.name, FINISH, request))
            except ConnectionError:
                return


def ask(resource: str, count: int = 1, *, relax: bool = True, opportunistic: bool = False) -> ResourceRequestProto:
    """One line of an ask."""
    kind = ExecutionTypeRequestProto(execution_type=2 if opportunistic else 1, enforce_execution_type=opportunistic)
    return ResourceRequestProto(
        priority=PriorityProto(priority=20),
        resource_name=resource,
        capability=SIZE,
        num_containers=count,
        relax_locality=relax,
        execution_type_request=kind,
        allocation_request_id=0,
    )


def anywhere(count: int = 1) -> AllocateRequestProto:
    """No node is named."""
    return AllocateRequestProto(ask=[ask("*", count)])


def pinned(host: str, count: int = 1, *, relax: bool = False, opportunistic: bool = False) -> AllocateRequestProto:
    """One node is named; other nodes do, too, if `relax`."""
    further = [ask(name, count, relax=relax, opportunistic=opportunistic) for name in ("/default-rack", "*")]
    return AllocateRequestProto(ask=[ask(host, count, opportunistic=opportunistic), *further])


def constrained(target: PlacementConstraintTargetProto, tag: str = "", **bounds: int) -> AllocateRequestProto:
    """One container where a constraint holds."""
    simple = SimplePlacementConstraintProto(scope="node", targetExpressions=[target], **bounds)
    return AllocateRequestProto(
        scheduling_requests=[
            SchedulingRequestProto(
                allocationRequestId=1,
                priority=PriorityProto(priority=20),
                executionType=ExecutionTypeRequestProto(execution_type=1),
                allocationTags=[tag] if tag else [],
                resourceSizing=ResourceSizingProto(numAllocations=1, resources=SIZE),
                placementConstraint=PlacementConstraintProto(simpleConstraint=simple),
            )
        ]
    )


def by_attribute(number: int, tag: str = "") -> AllocateRequestProto:
    """One container on the node that has an attribute."""
    target = PlacementConstraintTargetProto(targetType=1, targetKey=_ATTRIBUTE, targetValues=[f"n{number}"])
    return constrained(target, tag, attributeOpCode=2)


@dataclass(frozen=True, slots=True)
class Tried:
    """One trial: where it was granted (empty: nowhere in time), and after how long."""

    host: str = ""
    seconds: float = 0.0


async def _granted(master: Master, request: AllocateRequestProto) -> Tried:
    took_s = await master.wait(1, request)
    return Tried() if took_s is None else Tried(master.granted[-1].nodeId.host, took_s)


async def _plain(master: Master) -> Tried:
    return await _granted(master, anywhere())


async def _relaxed(master: Master) -> Tried:
    return await _granted(master, pinned(master.hosts[0], relax=True))


async def _strict(master: Master) -> Tried:
    return await _granted(master, pinned(master.hosts[0]))


async def _others_blacklisted(master: Master) -> Tried:
    request = anywhere()
    request.blacklist_request.CopyFrom(ResourceBlacklistRequestProto(blacklist_additions=list(master.hosts[1:])))
    return await _granted(master, request)


async def _attribute(master: Master) -> Tried:
    return await _granted(master, by_attribute(0))


async def _opportunistic(master: Master) -> Tried:
    return await _granted(master, pinned(master.hosts[0], opportunistic=True))


async def _updated(master: Master, first: AllocateRequestProto, kind: int) -> Tried:
    """Hold a container of the wanted node, then change it: more memory (0), or its kind (2)."""
    if await master.wait(1, first) is None:
        return Tried()
    held = master.granted[-1]
    changed = UpdateContainerRequestProto(container_version=0, container_id=held.id, update_type=kind)
    if kind == 0:
        changed.capability.CopyFrom(ResourceProto(memory=2048, virtual_cores=1))
    else:
        changed.execution_type = 1
    began_s = time.monotonic()
    await master.beat(AllocateRequestProto(update_requests=[changed]))
    while time.monotonic() - began_s < PATIENCE_S:
        if master.last.updated_containers:
            return Tried(master.last.updated_containers[0].container.nodeId.host, time.monotonic() - began_s)
        if master.last.update_errors:
            raise RuntimeError(f"the update is refused: {master.last.update_errors[0].reason}")
        await master.beat()
    return Tried()


async def _grown(master: Master) -> Tried:
    return await _updated(master, pinned(master.hosts[0]), 0)


async def _promoted(master: Master) -> Tried:
    return await _updated(master, pinned(master.hosts[0], opportunistic=True), 2)


@dataclass(frozen=True, slots=True)
class Lever:
    """One way to have a container on a wanted node."""

    name: str
    pull: Callable[[Master], Awaitable[Tried]]
    needs_constraints: bool = False
    keeps: int = 0
    """Containers of the wanted node that the filler leaves free where the node is full, for what is changed later."""


LEVERS = (
    Lever("no node named", _plain),
    Lever("node named, locality relaxed", _relaxed),
    Lever("node named, `relaxLocality=false`", _strict),
    Lever("other nodes blacklisted", _others_blacklisted),
    Lever("node attribute in a constraint", _attribute, needs_constraints=True),
    Lever("opportunistic, `relaxLocality=false`", _opportunistic),
    Lever("opportunistic one promoted", _promoted),
    Lever("container there grown to twice its size", _grown, keeps=1),
)


async def tried(cluster: Cluster, queue: str, lever: Lever, hosts: Sequence[str], *, is_full: bool) -> Tried:
    """One trial with an ApplicationMaster of its own, on a cluster that is empty but for who fills the wanted node."""
    filler = await Master.begin(cluster, queue, hosts) if is_full else None
    if filler is not None:
        await filler.fill(hosts[0], SLOTS - lever.keeps)
    master = await Master.begin(cluster, queue, hosts)
    try:
        return await lever.pull(master)
    finally:
        await master.end()
        if filler is not None:
            await filler.end()
        await _emptied(cluster)


async def overtakes(cluster: Cluster, queue: str, hosts: Sequence[str], outstanding: int) -> Tried:
    """Grants to an earlier application, of which so many asks stay outstanding, before a later one has its first.

    All is full, and one container comes free a second. With 0 the earlier one withdraws its asks when the later comes.
    """
    filler = await Master.begin(cluster, queue, hosts)
    for host in hosts:
        await filler.fill(host)
    earlier = await Master.begin(cluster, queue, hosts)
    await earlier.beat(anywhere(outstanding or BACKLOG))
    later = await Master.begin(cluster, queue, hosts)
    await later.beat(anywhere(1))
    if not outstanding:
        await earlier.beat(AllocateRequestProto(ask=[ask("*", 0)]))
    began_s = time.monotonic()
    try:
        while filler.granted:
            freed = filler.granted.pop()
            await filler.beat(AllocateRequestProto(release=[freed.id]))
            next_s = time.monotonic() + 2 * NODE_HEARTBEAT_S
            while time.monotonic() < next_s:
                fresh = await earlier.beat()
                if fresh and outstanding == 1:
                    await earlier.beat(anywhere(1))
                if await later.beat():
                    return Tried(str(len(earlier.granted)), time.monotonic() - began_s)
        return Tried(str(len(earlier.granted)))
    finally:
        for master in (later, earlier, filler):
            await master.end()
        await _emptied(cluster)


async def _emptied(cluster: Cluster) -> None:
    """Wait until no container is left."""
    async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
        for _ in range(300):
            metrics = (await client.get(f"{cluster.url}/ws/v1/cluster/metrics")).json()["clusterMetrics"]
            if not metrics["allocatedMB"]:
                return
            await asyncio.sleep(0.1)
    raise RuntimeError("the cluster does not become empty")


OUTSTANDING = {f"all {BACKLOG}": BACKLOG, "one at a time": 1, "withdrawn": 0}


async def measure(cell: Cell, cluster: Cluster, trials: int) -> dict[str, dict[str, str]]:
    """The cell's values by column and row."""
    async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
        nodes = (await client.get(f"{cluster.url}/ws/v1/cluster/nodes")).json()["nodes"]["node"]
    known = {node["nodeHostName"] for node in nodes}
    hosts = [node.host for node in cluster.record.layout.nodes]
    if known != set(hosts):
        raise RuntimeError(f"nodes are {known}, and not {hosts}")
    values: dict[str, dict[str, str]] = {}
    for order, queue in ORDERS.items():
        column = values[f"{cell.name}, {order}"] = {}
        for lever in LEVERS:
            for what, is_full in (("free", False), ("full", True)):
                if lever.needs_constraints and not cell.has_constraints:
                    column[f"{lever.name}; {what}"] = "-"
                    continue
                column[f"{lever.name}; {what}"] = await _shown(cluster, queue, lever, hosts, trials, is_full=is_full)
                print(f"{cell.name}, {order}: {lever.name}; {what}: {column[f'{lever.name}; {what}']}", flush=True)
        for what, outstanding in OUTSTANDING.items():
            found = [await overtakes(cluster, queue, hosts, outstanding) for _ in range(max(1, trials // 2))]
            column[f"outstanding: {what}"] = ", ".join(each.host for each in found)
            print(f"{cell.name}, {order}: outstanding: {what}: {column[f'outstanding: {what}']}", flush=True)
    return values


async def _shown(
    cluster: Cluster, queue: str, lever: Lever, hosts: Sequence[str], trials: int, *, is_full: bool
) -> str:
    try:
        found = [await tried(cluster, queue, lever, hosts, is_full=is_full) for _ in range(trials)]
    except (RuntimeError, ConnectionError) as exc:
        return f"refused: {str(exc).splitlines()[0][:120]}"
    return shown(hosts[0], found)


def shown(wanted: str, found: Sequence[Tried]) -> str:
    """How many were granted where, and after how many heartbeats of a node in the mean."""
    parts = {
        "there": [each for each in found if each.host == wanted],
        "elsewhere": [each for each in found if each.host and each.host != wanted],
    }
    granted = [
        f"{len(some)} {where} ({mean(each.seconds for each in some) / NODE_HEARTBEAT_S:.1f})"
        for where, some in parts.items()
        if some
    ]
    none = sum(not each.host for each in found)
    return ", ".join((*granted, f"{none} none") if none else granted)


def main() -> int:
    """Measure the cells that are not measured yet, and print the table of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--only", default="", help="cells whose name has this in it")
    parser.add_argument("--write", action="store_true", help="write the table into the page, too")
    options = parser.parse_args()
    folder: Path = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    columns: dict[str, dict[str, str]] = {}
    for cell in (cell for cell in CELLS if options.only in cell.name):
        kept = folder / f"{cell.version}-{cell.scheduler}.json"
        if not kept.exists():
            with Lab(folder / f"lab-{cell.version}-{cell.scheduler}") as lab:
                lab.up(cell.spec())
                found = asyncio.run(measure(cell, lab.clusters["east"], options.trials))
            kept.write_text(json.dumps(found, indent=1))
        columns |= json.loads(kept.read_text())
    rows = {row: tuple(column[row] for column in columns.values()) for row in next(iter(columns.values()))}
    table = "\n".join(figure_table("lever; wanted node", tuple(columns), rows))
    print(table)
    if options.write:
        head, _, rest = PAGE.read_text("utf-8").partition(_BEGIN)
        PAGE.write_text(f"{head}{_BEGIN}\n\n{table}\n{_END}{rest.partition(_END)[2]}", "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
