"""Labs as real federations are: clusters that differ, and nodes that are not well.

What its nodes shall be is brought about once all of them run: a ResourceManager knows no other way to each state.
"""

from collections.abc import Callable

import httpx

from shim.errors import LabError
from shim.lab.handles import Cluster
from shim.lab.lifecycle import Lab
from shim.lab.processes import wait_until
from shim.lab.spec import ClusterSpec, HostKind, LabNode, LabSpec, NodeCondition, SchedulerKind

_WITHIN_S = 120.0
_FOR_EVER_S = "86400"
_EXPIRY_MS = "10000"
"""After which a silent node is LOST: longer than a start on a busy machine keeps one silent."""

_QUEUE = "yarn.scheduler.capacity.root"

_EAST = ClusterSpec(
    "east",
    version="3.1.1",
    nodes=3,
    node_specs=(
        LabNode(memory_mib=4096, vcores=4, condition=NodeCondition.DECOMMISSIONING),
        LabNode(memory_mib=2048, vcores=2),
        LabNode(memory_mib=1024, vcores=4, condition=NodeCondition.UNHEALTHY),
    ),
    overrides={
        "yarn-site.xml": {"yarn.scheduler.maximum-allocation-mb": "4096"},
        "capacity-scheduler.xml": {
            f"{_QUEUE}.prod.ordering-policy": "fair",
            f"{_QUEUE}.dev.maximum-allocation-mb": "512",
            f"{_QUEUE}.dev.maximum-capacity": "50",
        },
    },
)
_WEST = ClusterSpec(
    "west",
    version="3.4.2",
    nodes=3,
    node_specs=(
        LabNode(memory_mib=2048, vcores=2, label="ssd"),
        LabNode(memory_mib=3072, vcores=8, properties={"yarn.nodemanager.resource-type.gpu": "2"}),
        LabNode(memory_mib=2048, vcores=2, condition=NodeCondition.LOST),
    ),
    overrides={
        "resource-types.xml": {"yarn.resource-types": "gpu"},
        "yarn-site.xml": {
            "yarn.scheduler.maximum-allocation-mb": "2048",
            "yarn.scheduler.maximum-allocation-vcores": "2",
            "yarn.nm.liveness-monitor.expiry-interval-ms": _EXPIRY_MS,
        },
        "capacity-scheduler.xml": {
            f"{_QUEUE}.queues": "default,prod,dev,etl",
            f"{_QUEUE}.default.capacity": "30",
            f"{_QUEUE}.etl.capacity": "10",
            f"{_QUEUE}.etl.user-limit-factor": "100",
            f"{_QUEUE}.etl.ordering-policy": "fair",
            f"{_QUEUE}.accessible-node-labels.ssd.capacity": "100",
            f"{_QUEUE}.prod.accessible-node-labels": "ssd",
            f"{_QUEUE}.prod.accessible-node-labels.ssd.capacity": "100",
        },
    },
)
_NORTH = ClusterSpec(
    "north",
    version="3.2.4",
    nodes=2,
    scheduler=SchedulerKind.FAIR,
    node_specs=(LabNode(memory_mib=1536, vcores=2), LabNode(memory_mib=3072, vcores=3)),
    overrides={"yarn-site.xml": {"yarn.scheduler.maximum-allocation-mb": "3072"}},
    fair_allocations=(
        '<?xml version="1.0"?>\n<allocations>\n'
        '  <queue name="default"><weight>40</weight></queue>\n'
        '  <queue name="prod"><weight>40</weight><schedulingPolicy>fair</schedulingPolicy></queue>\n'
        '  <queue name="dev"><maxResources>1024 mb, 3 vcores</maxResources>'
        "<schedulingPolicy>fifo</schedulingPolicy></queue>\n"
        "</allocations>\n"
    ),
)

MIXED = (_EAST, _WEST, _NORTH)
"""Clusters that differ in version, scheduler, maximum, queues, labels, resource types, sizes and health of nodes."""


def mixed(*, hosts: HostKind = HostKind.AUTO, base_port: int | None = None) -> LabSpec:
    """A lab of these clusters; `bring_about` ends its start."""
    return LabSpec(MIXED, hosts=hosts, base_port=base_port)


def bring_about(lab: Lab, say: Callable[[str], None]) -> None:
    """Give nodes of a lab that has just started the labels and the states that its specification names.

    Raises:
        LabError: If one does not come about in time.
    """
    for cluster in lab.clusters.values():
        with httpx.Client(base_url=f"{cluster.url}/ws/v1/cluster", timeout=30, trust_env=False) as client:
            client.params = client.params.set("user.name", lab.administrator)
            _label(cluster, client)
            for number, node in enumerate(cluster.record.spec.node_specs):
                if node.condition is not None:
                    say(f"{cluster.id}: node {number + 1} becomes {node.condition}")
                    _bring_into(lab, cluster, client, number, node.condition)


def _label(cluster: Cluster, client: httpx.Client) -> None:
    nodes = cluster.record.layout.nodes
    labels = {nodes[n].rpc: node.label for n, node in enumerate(cluster.record.spec.node_specs) if node.label}
    if labels:
        names = [{"name": label, "exclusivity": True} for label in sorted(set(labels.values()))]
        client.post("/add-node-labels", json={"nodeLabelInfo": names}).raise_for_status()
        rows = [{"nodeId": node, "nodeLabelName": [label]} for node, label in labels.items()]
        client.post("/replace-node-to-labels", json={"nodeToLabels": rows}).raise_for_status()


def _bring_into(lab: Lab, cluster: Cluster, client: httpx.Client, number: int, condition: NodeCondition) -> None:
    node = cluster.record.layout.nodes[number]
    match condition:
        case NodeCondition.UNHEALTHY:
            (cluster.folder / node.name / "sick").touch()
        case NodeCondition.LOST:
            lab.kill(node.name)
        case NodeCondition.DECOMMISSIONING:
            _hold(cluster, client, number)
            (cluster.folder / "exclude").write_text(f"{node.host}\n", encoding="ascii")
            lab.administer(cluster, "-refreshNodes", "-g", _FOR_EVER_S, "-server")
    if not wait_until(lambda: _state_of(client, node.rpc) == condition, timeout_s=_WITHIN_S, poll_s=0.2):
        raise LabError(f"{node.name} is {_state_of(client, node.rpc)}, and not {condition}: see {cluster.folder}")


def _hold(cluster: Cluster, client: httpx.Client, number: int) -> None:
    """Run something on a node that no other has the room for: else it would leave at once."""
    sizes = sorted(each.memory_mib for each in cluster.record.spec.node_specs)
    application = str(client.post("/apps/new-application").raise_for_status().json()["application-id"])
    context = {
        "application-id": application,
        "application-name": f"holds node {number + 1}",
        "am-container-spec": {"commands": {"command": f"sleep {_FOR_EVER_S}"}},
        "resource": {"memory": sizes[-2] + 128, "vCores": 1},
        "max-app-attempts": 1,
    }
    client.post("/apps", json=context).raise_for_status()

    def runs() -> bool:
        attempts = client.get(f"/apps/{application}/appattempts").json()["appAttempts"] or {}
        return any(row.get("nodeId") for row in attempts.get("appAttempt", []))

    if not wait_until(runs, timeout_s=_WITHIN_S, poll_s=0.2):
        raise LabError(f"{application} does not start on {cluster.id}")


def _state_of(client: httpx.Client, node: str) -> str:
    """State of a node; empty while it cannot be told."""
    try:
        return str(client.get(f"/nodes/{node}").json()["node"]["state"])
    except (httpx.HTTPError, ValueError, KeyError):
        return ""
