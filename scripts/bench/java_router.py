"""Hadoop's Java Router over the clusters of a lab, with ZooKeeper of the same jars as its state store.

The ResourceManagers register themselves in the state store, so each is started again with federation switched on. Its
NodeManagers keep it off: they would need an AMRMProxy that is not part of this comparison.
"""

import itertools
import os
import signal
import socket
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from shim.lab import Lab
from shim.lab.hadoop_conf import JAVA_OPENS, to_xml
from shim.lab.processes import wait_until
from shim.lab.readiness import ask

__all__ = ["JavaRouter"]

_ROUTER = "org.apache.hadoop.yarn.server.router"
_BOOT_S = 180.0
_JAVA = (
    "java",
    "-XX:+UseSerialGC",
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
        self._probes = itertools.count()

    @property
    def url(self) -> str:
        """Base address of its web services."""
        return f"http://{self._web}"

    @property
    def pid(self) -> int:
        """The Router's process."""
        return self._processes["router"].pid

    def __enter__(self) -> Self:
        try:
            self._start_zookeeper()
            self._federate_resource_managers()
            self._start_router()
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
        self._start("zookeeper", main_class, str(file), heap="128m", options=("-XX:TieredStopAtLevel=1",))
        # a ResourceManager that does not find it while starting ends
        if not wait_until(lambda: _listens(int(port)), timeout_s=_BOOT_S, poll_s=0.2):
            raise TimeoutError(f"ZooKeeper does not listen: {self._folder / 'zookeeper.log'}")

    def _federate_resource_managers(self) -> None:
        for cluster in self._lab.clusters.values():
            site = cluster.folder / f"{cluster.id}-rm" / "conf" / "yarn-site.xml"
            inner = to_xml(self._federation() | {"yarn.federation.state-store.heartbeat.initial-delay": "2s"})
            added = inner.partition("<configuration>")[2]
            site.write_text(site.read_text("utf-8").replace("</configuration>\n", "") + added, "utf-8")
            self._lab.kill(f"{cluster.id}-rm")
            self._lab.start(f"{cluster.id}-rm")
            # one after the other: two that make the store's first folders at the same time fail each other
            self._lab.wait_ready()

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
        self._start("router", f"{_ROUTER}.Router", heap="384m")
        nodes = sum(ask(cluster.web_address).usable_nodes for cluster in self._lab.clusters.values())
        if not wait_until(lambda: self._sees(nodes), timeout_s=_BOOT_S, poll_s=0.5):
            raise TimeoutError(f"the Router does not see {nodes} nodes: {self._folder / 'router.log'}")

    def _sees(self, nodes: int) -> bool:
        # a user who asks while it starts is told of a part of the sub-clusters for as long as it runs: ask as a new one
        user = f"probe{next(self._probes)}"
        try:
            answer = httpx.get(f"{self.url}/ws/v1/cluster/metrics?user.name={user}", timeout=5, trust_env=False)
        except httpx.HTTPError:
            return False
        return f'"activeNodes":{nodes}' in answer.text

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
        for process in reversed(self._processes.values()):
            process.send_signal(signal.SIGKILL)
            process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
