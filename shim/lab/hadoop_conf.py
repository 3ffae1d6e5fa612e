"""The configuration folders of a lab's clusters: tables of Hadoop properties, rendered as Hadoop's XML. Pure.

Every property that is not listed keeps Hadoop's default.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from xml.sax.saxutils import escape

from shim.lab.java_options import JAVA_OPENS, QUICK_START
from shim.lab.layout import ClusterLayout, NodeLayout, ResourceManagerLayout
from shim.lab.processes import MARKER
from shim.lab.secured_conf import CONTAINER_VARIABLE
from shim.lab.spec import (
    NODE_MEMORY_MIB,
    NODE_VCORES,
    ClusterSpec,
    LabNode,
    NodeCondition,
    SchedulerKind,
    Tuning,
)

QUEUES = {"default": 40, "prod": 40, "dev": 20}
"""Leaf queues under root, with their share in percent."""

_PASSED_TO_CONTAINERS = (
    "JAVA_HOME",
    "HADOOP_COMMON_HOME",
    "HADOOP_HDFS_HOME",
    "HADOOP_CONF_DIR",
    "CLASSPATH_PREPEND_DISTCACHE",
    "HADOOP_YARN_HOME",
    "HADOOP_HOME",
    "PATH",
    "LANG",
    "TZ",
)
_WHERE_NAMED = frozenset({"resource-types.xml", "hdfs-site.xml"})
"""Files that a cluster has only if something names them."""

_RM = "org.apache.hadoop.yarn.server.resourcemanager"
_SCHEDULER_CLASS = {
    SchedulerKind.CAPACITY: f"{_RM}.scheduler.capacity.CapacityScheduler",
    SchedulerKind.FAIR: f"{_RM}.scheduler.fair.FairScheduler",
}

# an idle handler of Hadoop's RPC wakes once a second, and by default a ResourceManager has 150: half of what one costs
# that has nothing to do
_FEW_HANDLERS = {
    f"yarn.{server}.thread-count": "8"
    for server in (
        "resourcemanager.client",
        "resourcemanager.scheduler.client",
        "resourcemanager.resource-tracker.client",
        "nodemanager.container-manager",
    )
}
_TUNED = {Tuning.BOOT: _FEW_HANDLERS, Tuning.THROUGHPUT: dict[str, str]()}

Properties = dict[str, str]
Files = dict[str, str]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Facts of the machine for a cluster's configuration.

    Attributes:
        folder: The cluster's own folder; state, logs and local directories lie below it.
        jars: Folder of its Hadoop jars.
        proxy_users: Users that may act for others, such as the one that runs Heddle.
        proxy_hosts: Where they may; `*` for anywhere.
        more: Properties of Kerberos and of HDFS by file name; they go before the rest.
        sharing: Options by which the JVMs of containers share an archive of the jars' classes.
    """

    folder: Path
    jars: Path
    proxy_users: tuple[str, ...]
    proxy_hosts: str = "*"
    more: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    sharing: tuple[str, ...] = ()
    tuning: Tuning = Tuning.BOOT


@dataclass(frozen=True, slots=True)
class FrontAddresses:
    """Addresses of Heddle for clients: a ResourceManager's usual ports unless said otherwise.

    One that begins with `:` is at the address of this machine for the lab's daemons.
    """

    rest: str = ":8088"
    client_rpc: str = ":8032"
    scheduler_rpc: str = ":8030"
    admin_rpc: str = ":8033"
    proxy: str = ":8089"

    def at(self, host: str) -> "FrontAddresses":
        named = {each.name: getattr(self, each.name) for each in fields(self)}
        return FrontAddresses(**{key: f"{host}{value}" if value[:1] == ":" else value for key, value in named.items()})


def cluster_files(spec: ClusterSpec, layout: ClusterLayout, around: Surroundings, *, ha_id: str | None = None) -> Files:
    """The configuration of a cluster by file name: its ResourceManager's, and what Heddle and clients read.

    Args:
        around: Its place on the machine.
        ha_id: Which of a pair of ResourceManagers this folder is for.
    """
    yarn = _yarn_site(spec, layout, around)
    if ha_id is not None:
        yarn["yarn.resourcemanager.ha.id"] = ha_id
    tables = {
        "core-site.xml": _core_site(around),
        "yarn-site.xml": yarn,
        "mapred-site.xml": _mapred_site(around),
        "capacity-scheduler.xml": _capacity_scheduler(),
    }
    return _render(tables, spec, around) | {
        "fair-scheduler.xml": spec.fair_allocations or _FAIR_ALLOCATIONS,
        "log4j.properties": LOG4J,
    }


def node_files(spec: ClusterSpec, layout: ClusterLayout, node: NodeLayout, around: Surroundings) -> Files:
    """The configuration of one NodeManager by file name."""
    described = dict(zip(layout.nodes, spec.node_specs, strict=False))
    node_spec = described.get(node, LabNode())
    tables = {
        "core-site.xml": _core_site(around),
        "yarn-site.xml": _yarn_site(spec, layout, around) | _node_manager(node, node_spec, around),
        "mapred-site.xml": _mapred_site(around) | {"mapreduce.shuffle.port": str(node.shuffle_port)},
    }
    files = _render(tables, spec, around) | {"log4j.properties": LOG4J}
    return files | ({"health.sh": _HEALTH} if node_spec.condition is NodeCondition.UNHEALTHY else {})


def client_files(front: FrontAddresses, around: Surroundings) -> Files:
    """The configuration of a client that knows one address: Heddle's."""
    yarn = {
        "yarn.resourcemanager.hostname": front.rest.rpartition(":")[0],
        "yarn.resourcemanager.address": front.client_rpc,
        "yarn.resourcemanager.scheduler.address": front.scheduler_rpc,
        "yarn.resourcemanager.admin.address": front.admin_rpc,
        "yarn.resourcemanager.webapp.address": front.rest,
        "yarn.resourcemanager.connect.retry-interval.ms": "500",
        "yarn.application.classpath": _class_path(around),
    }
    tables = {"core-site.xml": _core_site(around), "yarn-site.xml": yarn, "mapred-site.xml": _mapred_site(around)}
    return _layered(tables, (around.more,)) | {"log4j.properties": LOG4J}


def to_xml(properties: Mapping[str, str]) -> str:
    """`properties` as a Hadoop configuration file."""
    rows = "".join(
        f"  <property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
        for name, value in properties.items()
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<configuration>\n{rows}</configuration>\n'


def _render(tables: Mapping[str, Properties], spec: ClusterSpec, around: Surroundings) -> Files:
    return _layered(tables, (around.more, spec.overrides))


def _layered(tables: Mapping[str, Properties], layers: Sequence[Mapping[str, Mapping[str, str]]]) -> Files:
    empty: dict[str, Properties] = {name: {} for layer in layers for name in layer if name in _WHERE_NAMED}
    return {
        name: to_xml(properties | {key: value for layer in layers for key, value in layer.get(name, {}).items()})
        for name, properties in {**tables, **empty}.items()
    }


def _class_path(around: Surroundings) -> str:
    return f"$HADOOP_CONF_DIR,{around.jars}/*"


def _core_site(around: Surroundings) -> Properties:
    allowed = {"hosts": around.proxy_hosts, "groups": "*", "users": "*"}
    proxy = {f"hadoop.proxyuser.{user}.{what}": value for user in around.proxy_users for what, value in allowed.items()}
    return {"fs.defaultFS": "file:///", "hadoop.tmp.dir": str(around.folder / "tmp")} | proxy


def _mapred_site(around: Surroundings) -> Properties:
    java = " ".join((*QUICK_START, *JAVA_OPENS, *around.sharing))
    return {
        "mapreduce.framework.name": "yarn",
        "mapreduce.application.classpath": f"{around.jars}/*",
        "yarn.app.mapreduce.am.staging-dir": str(around.folder.parent / "staging"),
        "yarn.app.mapreduce.am.resource.mb": "512",
        # a word that nodes before Hadoop 3.4 do not replace; `java` has what it stands for
        "mapreduce.jvm.add-opens-as-default": "false",
        "yarn.app.mapreduce.am.command-opts": f"-Xmx256m {java}",
        "mapreduce.map.memory.mb": "256",
        "mapreduce.map.java.opts": f"-Xmx160m {java}",
        "mapreduce.reduce.memory.mb": "256",
        "mapreduce.reduce.java.opts": f"-Xmx160m {java}",
        "mapreduce.task.io.sort.mb": "16",
    }


def _yarn_site(spec: ClusterSpec, layout: ClusterLayout, around: Surroundings) -> Properties:
    return {
        "yarn.resourcemanager.hostname": layout.primary.host,
        **_addresses(layout.resource_managers),
        "yarn.resourcemanager.cluster-id": layout.id,
        "yarn.resourcemanager.epoch": str(layout.epoch),
        "yarn.resourcemanager.scheduler.class": _SCHEDULER_CLASS[spec.scheduler],
        "yarn.scheduler.fair.allocation.file": str(around.folder / "conf" / "fair-scheduler.xml"),
        # what names no queue goes to root.default under both schedulers, not to a queue of its user
        "yarn.scheduler.fair.user-as-default-queue": "false",
        "yarn.scheduler.minimum-allocation-mb": "128",
        "yarn.scheduler.maximum-allocation-mb": str(NODE_MEMORY_MIB),
        "yarn.scheduler.maximum-allocation-vcores": str(NODE_VCORES),
        "yarn.resourcemanager.recovery.enabled": "true",
        "yarn.resourcemanager.work-preserving-recovery.enabled": "true",
        "yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms": "500",
        "yarn.resourcemanager.store.class": f"{_RM}.recovery.FileSystemRMStateStore",
        "yarn.resourcemanager.fs.state-store.uri": f"file://{around.folder}/state",
        "yarn.node-labels.enabled": "true",
        "yarn.node-labels.fs-store.root-dir": f"file://{around.folder}/labels",
        # by default one folder for all ResourceManagers of a user: two that start at one time can end each other
        "yarn.node-attribute.fs-store.root-dir": f"file://{around.folder}/attributes",
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "500",
        # nodes and ApplicationMasters that meet a dead ResourceManager try again soon: 10 s to recover instead of 30 s
        "yarn.resourcemanager.connect.retry-interval.ms": "500",
        # a ResourceManager that was paused for a while shall not find all its nodes expired
        "yarn.nm.liveness-monitor.expiry-interval-ms": "60000",
        "yarn.application.classpath": _class_path(around),
        **_exclusion(spec, around),
        # its classes are in a jar that the class path does not have
        "yarn.webapp.api-service.enable": "false",
        **_TUNED[around.tuning],
    }


def _exclusion(spec: ClusterSpec, around: Surroundings) -> Properties:
    if not any(node.condition is NodeCondition.DECOMMISSIONING for node in spec.node_specs):
        return {}
    return {
        "yarn.resourcemanager.nodes.exclude-path": str(around.folder / "exclude"),
        # what holds a node never registers
        "yarn.am.liveness-monitor.expiry-interval-ms": "86400000",
        "yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs": "604800",  # must be thrice as long
    }


def _addresses(resource_managers: Sequence[ResourceManagerLayout]) -> Properties:
    if len(resource_managers) == 1:
        return _addresses_of(resource_managers[0], suffix="")
    ids = [f"rm{number}" for number in range(1, len(resource_managers) + 1)]
    properties = {
        "yarn.resourcemanager.ha.enabled": "true",
        "yarn.resourcemanager.ha.automatic-failover.enabled": "false",
        "yarn.resourcemanager.ha.rm-ids": ",".join(ids),
    }
    for id_, layout in zip(ids, resource_managers, strict=True):
        properties |= {f"yarn.resourcemanager.hostname.{id_}": layout.host} | _addresses_of(layout, suffix=f".{id_}")
    return properties


def _addresses_of(layout: ResourceManagerLayout, *, suffix: str) -> Properties:
    return {
        f"yarn.resourcemanager.address{suffix}": layout.client_rpc,
        f"yarn.resourcemanager.scheduler.address{suffix}": layout.scheduler_rpc,
        f"yarn.resourcemanager.resource-tracker.address{suffix}": layout.tracker_rpc,
        f"yarn.resourcemanager.admin.address{suffix}": layout.admin_rpc,
        f"yarn.resourcemanager.webapp.address{suffix}": layout.web,
    }


def _node_manager(node: NodeLayout, spec: LabNode, around: Surroundings) -> Properties:
    home = around.folder / node.name
    watched = {
        "yarn.nodemanager.health-checker.script.path": str(home / "conf" / "health.sh"),
        "yarn.nodemanager.health-checker.interval-ms": "1000",
    }
    return {
        "yarn.nodemanager.hostname": node.host,
        "yarn.nodemanager.address": node.rpc,
        "yarn.nodemanager.localizer.address": node.localizer,
        "yarn.nodemanager.webapp.address": node.web,
        "yarn.nodemanager.collector-service.address": node.collector,
        "yarn.nodemanager.local-dirs": str(home / "local"),
        # must be absolute, else containers die with exit code -1
        "yarn.nodemanager.log-dirs": str(home / "containers"),
        "yarn.nodemanager.resource.memory-mb": str(spec.memory_mib),
        "yarn.nodemanager.resource.cpu-vcores": str(spec.vcores),
        "yarn.nodemanager.pmem-check-enabled": "false",
        "yarn.nodemanager.vmem-check-enabled": "false",
        # a disk that is nearly full shall not make a node of a lab unhealthy
        "yarn.nodemanager.disk-health-checker.enable": "false",
        # Hadoop's default, the marker by which `lab down` finds what a node has started, and what secure mode needs
        "yarn.nodemanager.env-whitelist": ",".join((*_PASSED_TO_CONTAINERS, MARKER, CONTAINER_VARIABLE)),
        "yarn.nodemanager.aux-services": "mapreduce_shuffle",
        "yarn.nodemanager.aux-services.mapreduce_shuffle.class": "org.apache.hadoop.mapred.ShuffleHandler",
        **(watched if spec.condition is NodeCondition.UNHEALTHY else {}),
        **spec.properties,
    }


def _capacity_scheduler() -> Properties:
    root = "yarn.scheduler.capacity.root"
    properties = {
        f"{root}.queues": ",".join(QUEUES),
        "yarn.scheduler.capacity.maximum-am-resource-percent": "0.8",
        "yarn.scheduler.capacity.node-locality-delay": "-1",
        "yarn.scheduler.capacity.resource-calculator": (
            "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
        ),
    }
    for queue, percent in QUEUES.items():
        properties[f"{root}.{queue}.capacity"] = str(percent)
        properties[f"{root}.{queue}.maximum-capacity"] = "100"
        # one user may have a whole small cluster, not only the queue's share of it
        properties[f"{root}.{queue}.user-limit-factor"] = "100"
    return properties


_FAIR_ALLOCATIONS = (
    '<?xml version="1.0"?>\n<allocations>\n'
    + "".join(f'  <queue name="{queue}"><weight>{percent}</weight></queue>\n' for queue, percent in QUEUES.items())
    + "</allocations>\n"
)

_HEALTH = """\
#!/bin/sh
[ ! -e "$(dirname "$0")/../sick" ] || echo "ERROR this node is sick, as was asked for"
"""

LOG4J = """\
log4j.rootLogger=INFO,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{1}: %m%n
"""
"""How daemons and clients log."""
