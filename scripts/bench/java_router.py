"""Hadoop's Java Router over the clusters of a lab, with ZooKeeper of the same jars as its state store.

The ResourceManagers register themselves in the state store, so each is started again with federation switched on. Its
NodeManagers keep it off: they would need an AMRMProxy, which `scripts.bench.allocate` measures alone.

A Router keeps its list of active sub-clusters for five minutes (`yarn.federation.cache-ttl.secs`). One that asks its
store before the first heartbeat of a ResourceManager is in shows a part of the federation for as long, to all: by
default they beat 30 s after their start, and one that fails is not repeated for five minutes. The cache is left as
its users have it: instead ResourceManagers beat often here, and a Router that does not see all nodes is started again.
"""

import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from shim.lab import Lab
from shim.lab.hadoop_conf import to_xml
from shim.lab.java_options import JAVA_OPENS
from shim.lab.processes import wait_until
from shim.lab.readiness import ask

_ROUTER = "org.apache.hadoop.yarn.server.router"
_BOOT_S = 180.0
_STARTS = 5
_SETTLES_S = 20.0
"""A Router that has answered for so long and does not see all nodes has an old list in its cache."""
_HEARTBEATS = {
    "yarn.federation.state-store.heartbeat.initial-delay": "2s",
    "yarn.federation.state-store.heartbeat-interval-secs": "5",
}
_JAVA = (
    "java",
    *JAVA_OPENS,
    "--add-exports=java.base/sun.net.dns=ALL-UNNAMED",
    "--add-exports=java.base/sun.net.util=ALL-UNNAMED",
)
_LOG4J = """\
log4j.rootLogger=INFO,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{1}: %m%n
"""


class JavaRouter:
    """A running Router; as a context manager it ends with the block.

    Args:
        lab: Running clusters of Hadoop 3.4, whose ResourceManagers are started again.
        folder: For configuration and logs.
        base_port: ZooKeeper takes it, the Router the next three.
    """

    def __init__(self, lab: Lab, folder: Path, *, base_port: int) -> None:
        self._lab, self._folder = lab, folder
        self._zookeeper = f"127.0.0.1:{base_port}"
        self._web, self._client_rpc, self._admin = (f"127.0.0.1:{base_port + offset}" for offset in (1, 2, 3))
        self._jars = next(iter(lab.clusters.values())).jars
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def url(self) -> str:
        """Base address of its web services."""
        return f"http://{self._web}"

    @property
    def client_rpc(self) -> str:
        """`host:port` for clients."""
        return self._client_rpc

    @property
    def pid(self) -> int:
        """The Router's process."""
        return self._processes["router"].pid

    def client_conf(self) -> Path:
        """The configuration folder of a stock client; made anew.

        Without an AMRMProxy an ApplicationMaster must speak to the ResourceManager of the cluster on which it runs,
        which its client does not know, and what the client says of the scheduler's address goes before the node's own
        file. So each node gets a second file where that address is final, and only this client's jobs read it first.
        """
        for cluster in self._lab.clusters.values():
            for node in cluster.record.layout.nodes:
                conf = cluster.folder / node.name / "conf"
                site = (conf / "yarn-site.xml").read_text("utf-8")
                final = f"<value>{cluster.scheduler_rpc}</value>"
                (conf / "home").mkdir(exist_ok=True)
                (conf / "home" / "yarn-site.xml").write_text(
                    site.replace(final, f"{final}<final>true</final>"), "utf-8"
                )
        folder = self._folder / "client"
        shutil.copytree(self._lab.client_conf, folder)
        site = (
            (folder / "yarn-site.xml")
            .read_text("utf-8")
            .replace("$HADOOP_CONF_DIR,", "$HADOOP_CONF_DIR/home,$HADOOP_CONF_DIR,")
        )
        front = self._lab.front
        for theirs, ours in ((front.client_rpc, self._client_rpc), (front.rest, self._web)):
            site = site.replace(f"<value>{theirs}</value>", f"<value>{ours}</value>")
        (folder / "yarn-site.xml").write_text(site, "utf-8")
        return folder

    def __enter__(self) -> Self:
        try:
            self._start_zookeeper()
            self._federate_resource_managers()
            self._start_until_whole()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _start_zookeeper(self) -> None:
        conf = self._configure("zookeeper", {})
        port = self._zookeeper.rpartition(":")[2]
        settings = {
            "tickTime": "2000",
            "dataDir": str(conf / "data"),
            "clientPort": port,
            "clientPortAddress": "127.0.0.1",
            "admin.enableServer": "false",
            "maxClientCnxns": "0",
        }
        file = conf / "zoo.cfg"
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), "utf-8")
        main_class = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        self._start(
            "zookeeper", main_class, str(file), heap="128m", options=("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
        )
        # a ResourceManager that does not find it while starting ends
        if not wait_until(lambda: _listens(int(port)), timeout_s=_BOOT_S, poll_s=0.2):
            raise TimeoutError(f"ZooKeeper does not listen: {self._folder / 'zookeeper.log'}")

    def _federate_resource_managers(self) -> None:
        for cluster in self._lab.clusters.values():
            site = cluster.folder / f"{cluster.id}-rm" / "conf" / "yarn-site.xml"
            inner = to_xml(self._federation() | _HEARTBEATS)
            added = inner.partition("<configuration>")[2]
            site.write_text(site.read_text("utf-8").replace("</configuration>\n", "") + added, "utf-8")
            self._lab.kill(f"{cluster.id}-rm")
            self._lab.start(f"{cluster.id}-rm")
            # one after the other: two that make the store's first folders at the same time fail each other
            self._lab.wait_ready()

    def _start_until_whole(self) -> None:
        nodes = sum(ask(cluster.web_address).usable_nodes for cluster in self._lab.clusters.values())
        for _ in range(_STARTS):
            self._start_router()
            if not wait_until(lambda: self._nodes() is not None, timeout_s=_BOOT_S, poll_s=0.5):
                break
            if wait_until(lambda: self._nodes() == nodes, timeout_s=_SETTLES_S, poll_s=0.5):
                return
            self._end("router")
        raise TimeoutError(f"the Router does not see {nodes} nodes: {self._folder / 'router.log'}")

    def _start_router(self) -> None:
        pipelines = {
            "clientrm": f"{_ROUTER}.clientrm.FederationClientInterceptor",
            "rmadmin": f"{_ROUTER}.rmadmin.FederationRMAdminInterceptor",
            "webapp": f"{_ROUTER}.webapp.FederationInterceptorREST",
        }
        yarn = self._federation() | {
            "yarn.router.webapp.address": self._web,
            "yarn.router.clientrm.address": self._client_rpc,
            "yarn.router.rmadmin.address": self._admin,
            **{f"yarn.router.{part}.interceptor-class.pipeline": class_ for part, class_ in pipelines.items()},
        }
        self._configure("router", yarn)
        # as the ResourceManagers of a lab that is tuned for throughput
        self._start("router", f"{_ROUTER}.Router", heap="1g", options=("-XX:+UseParallelGC",))

    def _nodes(self) -> int | None:
        """How many nodes it tells of, none if it knows no active cluster; None while it does not answer."""
        try:
            answer = httpx.get(f"{self.url}/ws/v1/cluster/metrics?user.name=bench", timeout=10, trust_env=False)
        except httpx.HTTPError:
            return None
        return int(answer.json()["clusterMetrics"]["activeNodes"]) if answer.is_success else 0

    def _federation(self) -> dict[str, str]:
        store = "org.apache.hadoop.yarn.server.federation.store.impl.ZookeeperFederationStateStore"
        return {
            "yarn.federation.enabled": "true",
            "yarn.federation.state-store.class": store,
            "hadoop.zk.address": self._zookeeper,
        }

    def _configure(self, name: str, yarn: dict[str, str]) -> Path:
        conf = self._folder / name
        conf.mkdir(parents=True, exist_ok=True)
        core = {"fs.defaultFS": "file:///", "hadoop.tmp.dir": str(conf / "tmp")}
        (conf / "core-site.xml").write_text(to_xml(core), "utf-8")
        (conf / "yarn-site.xml").write_text(to_xml(yarn), "utf-8")
        (conf / "log4j.properties").write_text(_LOG4J, "utf-8")
        return conf

    def _start(self, name: str, main_class: str, *arguments: str, heap: str, options: tuple[str, ...] = ()) -> None:
        conf = self._folder / name
        command = (*_JAVA, f"-Xmx{heap}", *options, "-cp", f"{conf}:{self._jars}/*", main_class, *arguments)
        environment = {**os.environ, "HADOOP_CONF_DIR": str(conf), "HADOOP_HOME": str(self._folder)}
        with (self._folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, cwd=conf
            )

    def _stop(self) -> None:
        for name in reversed(self._processes.copy()):
            self._end(name)

    def _end(self, name: str) -> None:
        process = self._processes.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
