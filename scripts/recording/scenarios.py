"""The clusters that are recorded, and what is done on each, step by step. Tables only."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from shim.lab import DEFAULT_VERSION, ClusterSpec


@dataclass(frozen=True, slots=True)
class Send:
    """Send the rows of a group, in their order.

    Attributes:
        group: File of `tests/recordings/requests`.
        after: Begin behind this row; at the first if empty.
        through: End with this row; with the last if empty.
    """

    group: str
    after: str = ""
    through: str = ""


@dataclass(frozen=True, slots=True)
class Submit:
    """Submit an application that no row of the table describes, and wait for its state.

    Attributes:
        sequence: Of its id.
        user: Who submits.
        state: What to wait for.
        containers: Of a distributed shell; 0 for a master that sleeps and never registers.
        command: What each container runs.
        context: Members of the submission that differ.
    """

    sequence: int
    user: str
    state: str
    containers: int = 0
    command: str = "true"
    context: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Settle:
    """Wait until applications do not change any more: their states, and how many containers they have."""


@dataclass(frozen=True, slots=True)
class StopNode:
    """End a NodeManager so that it says goodbye."""

    number: int


@dataclass(frozen=True, slots=True)
class KillNode:
    """Kill a NodeManager."""

    number: int


@dataclass(frozen=True, slots=True)
class AwaitNode:
    """Wait until so many nodes are in a state."""

    state: str
    count: int = 1


Step = Send | Submit | Settle | StopNode | KillNode | AwaitNode


@dataclass(frozen=True, slots=True)
class Scenario:
    """One cluster and its steps."""

    spec: ClusterSpec
    steps: tuple[Step, ...]


_COMMON = {
    "yarn.scheduler.maximum-allocation-mb": "8192",
    # ids of containers without an epoch, and no state of an earlier start
    "yarn.resourcemanager.epoch": "0",
    "yarn.resourcemanager.recovery.enabled": "false",
}
_QUEUES = "yarn.scheduler.capacity.root"


def _queues(capacities: dict[str, dict[str, int]]) -> dict[str, str]:
    """Properties of a capacity scheduler's tree: `{"root": {"a": 60, "b": 40}, "root.b": {"c": 100}}`."""
    found = {}
    for parent, children in capacities.items():
        prefix = f"yarn.scheduler.capacity.{parent}"
        found[f"{prefix}.queues"] = ",".join(children)
        for name, percent in children.items():
            found |= {f"{prefix}.{name}.capacity": str(percent), f"{prefix}.{name}.maximum-capacity": "100"}
            found |= {f"{prefix}.{name}.user-limit-factor": "100"}
    return found


_TWO_QUEUES = _queues({"root": {"default": 50, "prod": 50}})
_FULL_QUEUES = _queues(
    {"root": {"default": 30, "prod": 30, "eng": 20, "plan": 20}, "root.eng": {"dev": 50, "test": 50}}
) | {
    f"{_QUEUES}.accessible-node-labels.gpu.capacity": "100",
    f"{_QUEUES}.default.accessible-node-labels": "gpu",
    f"{_QUEUES}.default.accessible-node-labels.gpu.capacity": "100",
    f"{_QUEUES}.prod.accessible-node-labels": " ",
}

FAIR_ALLOCATIONS = """<?xml version="1.0"?>
<allocations>
  <queue name="default"><maxRunningApps>5</maxRunningApps></queue>
  <queue name="eng" type="parent">
    <queue name="dev"><weight>2</weight></queue>
    <queue name="test"/>
  </queue>
  <queuePlacementPolicy><rule name="specified" create="true"/><rule name="default"/></queuePlacementPolicy>
</allocations>
"""
_SCHEDULERS = "org.apache.hadoop.yarn.server.resourcemanager.scheduler"


def _cluster(
    id_: str,
    version: str,
    *,
    nodes: int = 2,
    standby: bool = False,
    queues: Mapping[str, str] = _TWO_QUEUES,
    site: Mapping[str, str] | None = None,
) -> ClusterSpec:
    overrides = {"yarn-site.xml": _COMMON | dict(site or {}), "capacity-scheduler.xml": queues}
    return ClusterSpec(id_, version=version, nodes=nodes, standby=standby, overrides=overrides)


_PLAIN: tuple[Step, ...] = (
    Send("get_empty"),
    Send("negotiation"),
    Send("nodes"),
    Send("users"),
    Send("http"),
    Send("new_application"),
    Send("submit", through="minimal_ok"),
    Send("apps_one"),
    Send("app_errors"),
    Send("submit", after="minimal_ok", through="gzip_request"),
    Settle(),
    Send("submit_outcome"),
    Send("submit", after="gzip_request"),
)
_FULL: tuple[Step, ...] = (
    Send("lifecycle", through="killed_container.xml"),
    Submit(2, "carol", "FINISHED", containers=1, context={"application-type": "MAPREDUCE"}),
    Send("lifecycle", after="killed_container.xml", through="submit_keep"),
    Submit(8, "dana", "ACCEPTED", context={"application-name": "idle", "application-tags": {"tag": ["TagA", "tagB"]}}),
    Send("lifecycle", after="submit_keep"),
    Send("apps_query"),
    Send("appstatistics"),
    Submit(10, "root", "RUNNING", containers=40, command="sleep 3600", context={
        "application-name": "dshell", "application-tags": {"tag": ["TagA", "tagB"]},
    }),
    Settle(),
    Send("running"),
    Send("activities"),
    Send("delegation_token"),
    Send("finished_app"),
    Send("labels"),
)  # fmt: skip
_NODES: tuple[Step, ...] = (
    Send("node_states", through="attempts_after_am_expiry"),
    StopNode(2),
    AwaitNode("SHUTDOWN"),
    Send("node_states", after="attempts_after_am_expiry", through="shutdown.new_application"),
    KillNode(1),
    AwaitNode("LOST"),
    Send("node_states", after="shutdown.new_application"),
)
_OTHER_VERSION: tuple[Step, ...] = (
    Send("get_empty"),
    Send("nodes"),
    Send("new_application"),
    Send("submit", through="minimal_ok"),
    Send("apps_one"),
    Send("app_errors"),
)


def scenarios(version: str, allocations: str) -> tuple[Scenario, ...]:
    """What is recorded of a version: everything of the default one, a part of the others.

    Args:
        version: Of Hadoop.
        allocations: A file with `FAIR_ALLOCATIONS`.
    """
    if version != DEFAULT_VERSION:
        return (Scenario(_cluster("plain", version), _OTHER_VERSION),)
    fair = {
        "yarn.resourcemanager.scheduler.class": f"{_SCHEDULERS}.fair.FairScheduler",
        "yarn.scheduler.fair.allocation.file": allocations,
        "yarn.scheduler.maximum-allocation-mb": "4096",
    }
    fifo = {"yarn.resourcemanager.scheduler.class": f"{_SCHEDULERS}.fifo.FifoScheduler"}
    expiry = {
        "yarn.nm.liveness-monitor.expiry-interval-ms": "20000",
        "yarn.am.liveness-monitor.expiry-interval-ms": "20000",
    }
    return (
        Scenario(_cluster("plain", version), _PLAIN),
        Scenario(_cluster("full", version, queues=_FULL_QUEUES), _FULL),
        Scenario(_cluster("fair", version, nodes=1, site=fair), (Send("fair"),)),
        Scenario(_cluster("fifo", version, nodes=1, site=fifo), (Send("fifo"),)),
        Scenario(_cluster("nodes", version, site=expiry), _NODES),
        Scenario(_cluster("ha", version, nodes=1, standby=True), (Send("ha_standby"),)),
    )
