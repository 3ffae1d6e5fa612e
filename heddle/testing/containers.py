"""Clusters in containers, with Heddle in front: by testcontainers, from images that are built here once."""

import contextlib
import hashlib
import io
import os
import shutil
import tarfile
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import docker.errors
import httpx
from docker.models.containers import Container
from docker.models.networks import Network as DockerNetwork
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer
from testcontainers.core.docker_client import DockerClient
from testcontainers.core.network import Network

import docker
from heddle.testing.federation import (
    HEDDLE,
    Cluster,
    Federation,
    FederationError,
    MissingProgramError,
    Program,
    Settings,
    patiently,
    set_properties,
)
from heddle.testing.images import hadoop_image, hdfs_jars, heddle_image

__all__ = [
    "FederationContainer",
    "HdfsContainer",
    "HeddleContainer",
    "NodeManagerContainer",
    "ResourceManagerContainer",
    "find_docker",
]

LABEL = "heddle.testing"
"""Each container and network of a federation has it; its value tells whose it is."""

_NAMES = ("east", "west", "north", "south", "up", "down", "left", "right", "near", "far")
_USER = "hadoop"
"""Who runs Hadoop, clients and containers in the images."""
_CLIENT = "client"
_LOGS = "/var/log/hadoop/containers"
_JARS = Path("/opt/hadoop/lib")
_WEB = 8088
_FILES = "hdfs://namenode:8020"
_FILES_WEB = 9870
_HDFS_VERSION = "3.4.2"
"""Whose servers speak with the clients of every other version."""
_LIVE_NODES = "/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"
_READY_S = 600.0
_LOOPBACK = {"com.docker.network.bridge.host_binding_ipv4": "127.0.0.1"}
_HEDDLE_TOML = """\
[server]
rest = "0.0.0.0:8088"
client_rpc = "0.0.0.0:8032"
scheduler_rpc = "0.0.0.0:8030"
admin_rpc = "0.0.0.0:8033"
allow_remote = true
host_names = ["heddle"]

[store]
url = "sqlite:////var/lib/heddle/heddle.db"

# a federation of tests, published on this machine alone: whoever reaches it may submit
[security]
allow_anonymous = true
"""

_LOG4J = """\
log4j.rootLogger=INFO,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{1}: %m%n
"""
"""Clients name the applications that they submit in what they log."""


def find_docker() -> docker.DockerClient:
    """The client of the Docker daemon.

    Raises:
        MissingProgramError: If none answers.
    """
    try:
        client: docker.DockerClient = DockerClient().client
        client.ping()
    except docker.errors.DockerException as exc:
        raise MissingProgramError(
            f"no Docker daemon answers: start it, or name one by DOCKER_HOST; yarn_federation needs none ({exc})"
        ) from exc
    return client


class _HadoopContainer(DockerContainer):
    """One daemon of a cluster: its role, and whom it takes for its ResourceManager.

    Args:
        role: First argument of the image: `rm` or `nm`.
        name: Its host name.
        cluster: Id of its cluster, whose ResourceManager is `CLUSTER-rm`.
        version: Of Hadoop.
        image: In the place of one that is built here.
        properties: Of `yarn-site.xml`, after those of the image.
        more: As `DockerContainer` takes it.
    """

    def __init__(
        self,
        role: str,
        name: str,
        cluster: str,
        *,
        version: str,
        image: str,
        properties: Mapping[str, str] | None,
        **more: Any,
    ) -> None:
        options: dict[str, Any] = {"init": True, "hostname": name, "command": role} | more
        super().__init__(image or hadoop_image(find_docker(), version), **options)
        manager = {"yarn.resourcemanager.hostname": f"{cluster}-rm", "yarn.resourcemanager.cluster-id": cluster}
        for key, value in (manager | dict(properties or {})).items():
            self.with_env(f"YARN-SITE.XML_{key}", value)


class ResourceManagerContainer(_HadoopContainer):
    """A ResourceManager, known to its network as `CLUSTER-rm`.

    Args:
        cluster: Id of the cluster.
        number: Of the cluster among those of one Heddle, from 1: ids of containers differ by it.
        version: Of Hadoop.
        image: In the place of one that is built here.
        properties: Of `yarn-site.xml`, after those of the image.
        more: As `DockerContainer` takes it.
    """

    def __init__(
        self,
        cluster: str = "east",
        *,
        number: int = 1,
        version: str = "3.4.2",
        image: str = "",
        properties: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        epoch = {"yarn.resourcemanager.epoch": str(1000 * number)}
        super().__init__(
            "rm",
            f"{cluster}-rm",
            cluster,
            version=version,
            image=image,
            properties=epoch | dict(properties or {}),
            **more,
        )
        self.with_exposed_ports(_WEB)

    @property
    def url(self) -> str:
        """Its web services, from this machine."""
        return f"http://{self.get_container_host_ip()}:{self.get_exposed_port(_WEB)}"


class NodeManagerContainer(_HadoopContainer):
    """A NodeManager, known to its network as `CLUSTER-nmNUMBER`.

    Args:
        cluster: Id of the cluster, whose ResourceManager is `CLUSTER-rm`.
        number: Of the node in its cluster, from 1.
        version: Of Hadoop.
        image: In the place of one that is built here.
        properties: Of `yarn-site.xml`, after those of the image.
        more: As `DockerContainer` takes it.
    """

    def __init__(
        self,
        cluster: str = "east",
        *,
        number: int = 1,
        version: str = "3.4.2",
        image: str = "",
        properties: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        name = f"{cluster}-nm{number}"
        super().__init__("nm", name, cluster, version=version, image=image, properties=properties, **more)


class HeddleContainer(DockerContainer):
    """Heddle, known to its network as `heddle`.

    Args:
        config: Its `heddle.toml`, on this machine; empty for the one of the image.
        image: In the place of one that is built here.
        more: As `DockerContainer` takes it.
    """

    PORTS = (_WEB, 8032, 8030, 8033)
    """REST, clients, ApplicationMasters, operators."""

    def __init__(self, config: str | Path = "", *, image: str = "", **more: Any) -> None:
        locked = {"read_only": True, "cap_drop": ["ALL"], "security_opt": ["no-new-privileges:true"]}
        options: dict[str, Any] = {"hostname": HEDDLE} | locked | more
        super().__init__(image or heddle_image(find_docker()), **options)
        self.with_exposed_ports(*self.PORTS)
        if config:
            self.with_volume_mapping(str(config), "/etc/heddle/heddle.toml", "ro")

    @property
    def url(self) -> str:
        """Its web services, from this machine."""
        return f"http://{self.get_container_host_ip()}:{self.get_exposed_port(_WEB)}"


class HdfsContainer(DockerContainer):
    """The NameNode of an HDFS, known to its network as `namenode`, or its DataNode, as `datanode`.

    Args:
        name: Which of both.
        image: In the place of one that is built here.
        more: As `DockerContainer` takes it.
    """

    NAMES = ("namenode", "datanode")

    def __init__(self, name: str, *, image: str = "", **more: Any) -> None:
        options: dict[str, Any] = {
            "init": True,
            "hostname": name,
            "command": {"namenode": "nn", "datanode": "dn"}[name],
        }
        super().__init__(image or hadoop_image(find_docker(), _HDFS_VERSION), **(options | more))
        self.with_volume_mapping(str(hdfs_jars()), "/opt/hadoop/hdfs", "ro")
        self.with_env("CORE-SITE.XML_fs.defaultFS", _FILES)
        for key, value in (
            ("dfs.replication", "1"),
            ("dfs.namenode.name.dir", "file:///var/lib/hadoop/names"),
            ("dfs.datanode.data.dir", "file:///var/lib/hadoop/blocks"),
            ("dfs.namenode.rpc-bind-host", "0.0.0.0"),  # noqa: S104 - of its container
            ("dfs.namenode.datanode.registration.ip-hostname-check", "false"),
            # who may write finds somewhere to write: the NameNode opens when its DataNode is there
            ("dfs.namenode.safemode.min.datanodes", "1"),
            ("dfs.namenode.safemode.extension", "0"),
        ):
            self.with_env(f"HDFS-SITE.XML_{key}", value)
        if name == "namenode":
            self.with_exposed_ports(_FILES_WEB)


class FederationContainer(Federation):
    """Clusters and Heddle in containers on a network of their own, and one more for clients.

    Clients' programs run in that container, as `hadoop`, since only there the nodes' names are known; `shared` and
    `Settings.folders` have the same path there, on the nodes and on this machine.

    Args:
        settings: What it consists of; else it is said by the next three.
        clusters: How many.
        nodes: Of each.
        version: Of Hadoop, or `CLUSTER=VERSION,...`.
        hdfs: Whether all clusters share an HDFS, of Hadoop 3.4.2.
        images: In the place of those that are built here: of `heddle`, and of versions of Hadoop.
        reuse: Keep it running at the end, and take it when the next one of the same settings is wanted.
        name: Tells it from others of the same settings, such as that of another worker of xdist.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        clusters: int = 2,
        nodes: int = 1,
        version: str = "3.4.2",
        hdfs: bool = False,
        images: Mapping[str, str] | None = None,
        reuse: bool = False,
        name: str = "",
    ) -> None:
        super().__init__(settings or Settings(clusters, nodes, version, hdfs=hdfs), user=_USER)
        self.file_servers = HdfsContainer.NAMES if self.settings.hdfs else ()
        self.files = _FILES if self.settings.hdfs else "file:///"
        if self.settings.clusters > len(_NAMES):
            raise FederationError(f"there are names for {len(_NAMES)} clusters: {', '.join(_NAMES)}")
        self._images = dict(images or {})
        self.reuse = reuse
        what = hashlib.sha256(repr((self.settings, sorted(self._images.items()), name)).encode()).hexdigest()[:10]
        self._key = what if reuse else f"once-{uuid.uuid4().hex[:10]}"
        self._docker: docker.DockerClient | None = None
        self._network: DockerNetwork | None = None
        self._running: dict[str, Container] = {}

    @property
    def _client(self) -> docker.DockerClient:
        if self._docker is None:
            raise FederationError("the federation has not been started: use it as a context manager")
        return self._docker

    @property
    def _joined(self) -> DockerNetwork:
        if self._network is None:
            raise FederationError("the federation has not been started: use it as a context manager")
        return self._network

    @property
    def _versions(self) -> dict[str, str]:
        """Of Hadoop, by cluster.

        Raises:
            FederationError: If a cluster is named that there is not, or none for one that there is.
        """
        names, given = _NAMES[: self.settings.clusters], self.settings.version
        if "=" not in given:
            return dict.fromkeys(names, given)
        found = dict(part.split("=", 1) for part in given.split(","))
        if set(found) != set(names):
            raise FederationError(f"version {given} shall name each of the clusters {', '.join(names)}")
        return {name: found[name] for name in names}

    def start_up(self) -> None:
        """See `Federation.start_up`."""
        self._docker = find_docker()
        if self.reuse and not testcontainers_config.ryuk_disabled:
            raise FederationError(
                "containers that shall stay would be removed at the end by testcontainers' Ryuk: set"
                " TESTCONTAINERS_RYUK_DISABLED=true before the tests"
            )
        self.shared = Path(tempfile.gettempdir()) / f"heddle-testing-{self._key}"
        self.jars = _JARS
        self.client_conf = self.shared / "conf" / HEDDLE
        try:
            if not self._find_running():
                self._remove_all()
                self._write_shared()
                self._start_containers()
            self._look_up()
            self.wait_ready(timeout_s=_READY_S)
        except docker.errors.APIError as exc:
            self._remove_all()
            raise FederationError(f"Docker refuses: {exc}") from exc
        except BaseException:
            self._remove_all()
            raise

    def containers(self) -> list[Container]:
        """Every container of it, running or not."""
        found: list[Container] = self._client.containers.list(all=True, filters={"label": f"{LABEL}={self._key}"})
        return found

    def _find_running(self) -> bool:
        """Whether all of it runs, as an earlier run has left it."""
        wanted = {HEDDLE, _CLIENT, *(name for id_ in self._versions for name in self._daemons_of(id_))}
        wanted.update(self.file_servers)
        self._running = {
            each.attrs["Config"]["Hostname"]: each for each in self.containers() if each.status == "running"
        }
        networks = self._client.networks.list(filters={"label": f"{LABEL}={self._key}"})
        self._network = networks[0] if networks else None
        is_ours = self.shared.is_dir() and self.shared.lstat().st_uid == os.getuid()
        return is_ours and self._network is not None and self._running.keys() == wanted

    def _daemons_of(self, cluster: str) -> tuple[str, ...]:
        return (f"{cluster}-rm", *(f"{cluster}-nm{number + 1}" for number in range(self.settings.nodes)))

    def _write_shared(self) -> None:
        """Write configurations into a folder that was not there: its place is one where others may write."""
        try:
            self.shared.mkdir()
        except OSError as exc:
            raise FederationError(f"{self.shared} cannot be made; remove what is there: {exc.strerror}") from exc
        for folder in (self.shared, self.shared / "clients", self.shared / "staging"):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o1777)  # containers have users of their own
        toml = _HEDDLE_TOML + "".join(
            f'\n[[subcluster]]\nid = "{id_}"\nweb = "http://{id_}-rm:8088"\nclient_rpc = "{id_}-rm:8032"\n'
            f'scheduler_rpc = "{id_}-rm:8030"\nadmin_rpc = "{id_}-rm:8033"\n'
            for id_ in self._versions
        )
        (self.shared / "heddle.toml").write_text(f"{toml}\n{self.settings.toml}\n", "utf-8")
        for manager in (HEDDLE, *self._versions):
            conf = self.shared / "conf" / manager
            conf.mkdir(parents=True, exist_ok=True)
            host = manager if manager == HEDDLE else f"{manager}-rm"
            ports = {"address": 8032, "scheduler.address": 8030, "webapp.address": 8088, "admin.address": 8033}
            addresses = {f"yarn.resourcemanager.{each}": f"{host}:{port}" for each, port in ports.items()}
            (conf / "log4j.properties").write_text(_LOG4J, "utf-8")
            set_properties(conf / "core-site.xml", {"fs.defaultFS": self.files})
            classes = {"yarn.application.classpath": f"$HADOOP_CONF_DIR,{_JARS}/*"}
            set_properties(conf / "yarn-site.xml", {"yarn.resourcemanager.hostname": host, **addresses, **classes})
            set_properties(
                conf / "mapred-site.xml",
                {
                    "mapreduce.framework.name": "yarn",
                    "mapreduce.application.classpath": f"{_JARS}/*",
                    "yarn.app.mapreduce.am.staging-dir": "/user" if self.file_servers else f"{self.shared}/staging",
                    "yarn.app.mapreduce.am.resource.mb": "512",
                    "yarn.app.mapreduce.am.command-opts": "-Xmx320m",
                    "mapreduce.map.memory.mb": "256",
                    "mapreduce.reduce.memory.mb": "256",
                    "mapreduce.map.java.opts": "-Xmx180m",
                    "mapreduce.reduce.java.opts": "-Xmx180m",
                    "mapreduce.task.io.sort.mb": "16",
                },
            )

    def _start_containers(self) -> None:
        hadoop = {
            version: self._images.get(version) or hadoop_image(self._client, version)
            for version in set(self._versions.values())
        }
        network = Network(docker_network_kw={"labels": {LABEL: self._key}, "options": _LOOPBACK}).create()
        self._network = self._client.networks.get(str(network.id))
        for number, (id_, version) in enumerate(self._versions.items(), start=1):
            image = hadoop[version]
            manager, *nodes = self._daemons_of(id_)
            self._add(network, manager, ResourceManagerContainer(id_, number=number, image=image, **self._options))
            for place, node in enumerate(nodes, start=1):
                self._add(network, node, NodeManagerContainer(id_, number=place, image=image, **self._options))
        for name in self.file_servers:
            self._add(network, name, HdfsContainer(name, image=self._images.get(_HDFS_VERSION, ""), **self._options))
        config = self.shared / "heddle.toml"
        self._add(network, HEDDLE, HeddleContainer(config, image=self._images.get(HEDDLE, ""), **self._options))
        client = hadoop[next(iter(self._versions.values()))]
        idle: dict[str, Any] = {"entrypoint": ["sleep", "infinity"], "healthcheck": {"test": ["NONE"]}}
        self._add(network, _CLIENT, DockerContainer(client, hostname=_CLIENT, init=True, **idle, **self._options))

    @property
    def _options(self) -> dict[str, Any]:
        return {"labels": {LABEL: self._key}}

    def _add(self, network: Network, name: str, container: DockerContainer) -> None:
        """Start a container in the federation's network, under its name."""
        if self.file_servers:  # an ApplicationMaster of MapReduce mixes its job's file system with its node's
            container.with_env("CORE-SITE.XML_fs.defaultFS", self.files)
        container.with_network(network).with_network_aliases(name)
        container.with_volume_mapping(str(self.shared), str(self.shared), "rw")
        for folder in self.settings.folders:
            if folder.is_relative_to("/root"):
                raise FederationError(f"{folder}: containers have a /root of their own; have the folder elsewhere")
            container.with_volume_mapping(str(folder), str(folder), "ro")
        self._running[name] = container.start().get_wrapped_container()

    def _look_up(self) -> None:
        """Take the published addresses, which change whenever a container is started or connected."""
        self.url = self._published(HEDDLE)
        self.clusters = {
            id_: Cluster(id_, version, self._published(f"{id_}-rm"), self._daemons_of(id_), self.shared / "conf" / id_)
            for id_, version in self._versions.items()
        }

    def wait_ready(self, *, timeout_s: float = 300.0) -> None:
        """See `Federation.wait_ready`; of HDFS, wait until it can be written, too."""
        super().wait_ready(timeout_s=timeout_s)
        self.wait_files(timeout_s=timeout_s)

    def wait_files(self, *, timeout_s: float = 300.0) -> None:
        """Wait until HDFS, if there is one, can be written.

        Raises:
            FederationError: If that takes longer.
        """
        if self.file_servers and patiently(self._live_nodes, bool, timeout_s, calm=FederationError) != 1:
            raise FederationError(f"HDFS is not ready after {timeout_s:.0f} s\n{self.account()}")

    def _live_nodes(self) -> int:
        """How many DataNodes the NameNode counts, once it takes files; 0 before.

        Raises:
            FederationError: If it does not answer.
        """
        try:
            answer = httpx.get(self._published("namenode", _FILES_WEB) + _LIVE_NODES, timeout=10.0, trust_env=False)
            (told,) = answer.raise_for_status().json()["beans"]
        except (httpx.HTTPError, httpx.InvalidURL, KeyError, ValueError) as exc:
            raise FederationError(f"namenode does not answer: {exc!r}") from exc
        return int(told["NumLiveDataNodes"]) if told["FSState"] == "Operational" else 0

    def _published(self, daemon: str, port: int = _WEB) -> str:
        """The web services of a daemon from this machine; empty while it is down."""
        container = self._running[daemon]

        def look() -> list[dict[str, str]]:
            container.reload()
            return container.attrs["NetworkSettings"]["Ports"].get(f"{port}/tcp") or []

        wait_s = 30.0 if container.status == "running" else 0.0
        found = patiently(look, bool, wait_s, calm=docker.errors.APIError)
        return f"http://{DockerClient().host()}:{found[0]['HostPort']}" if found else ""

    def _end(self) -> None:
        if self._docker is None or self.reuse:
            return
        self._remove_all()

    def _remove_all(self) -> None:
        """Take away containers, network and folder."""
        client = self._running.get(_CLIENT)
        if client is not None:  # its user's files are not ours to remove
            with contextlib.suppress(docker.errors.APIError):
                client.exec_run(["sh", "-c", 'rm -rf "$0"/* 2>/dev/null', str(self.shared)])
        for container in self.containers():
            with contextlib.suppress(docker.errors.APIError):
                container.remove(force=True, v=True)
        self._client.networks.prune(filters={"label": f"{LABEL}={self._key}"})
        self._running.clear()
        shutil.rmtree(self.shared, ignore_errors=True)

    # ---- programs

    def _launch(self, command: Sequence[str], environment: Mapping[str, str], printed: Path) -> Program:
        return _ProgramInside(self._running[_CLIENT], command, environment, printed)

    # ---- faults

    def _kill(self, daemon: str) -> None:
        self._running[daemon].kill()

    def _start(self, daemon: str) -> None:
        self._running[daemon].start()
        self._look_up()

    def _pause(self, daemon: str) -> None:
        try:
            self._running[daemon].pause()
        except docker.errors.APIError:  # a busy JVM may not freeze at the first try
            self._running[daemon].pause()

    def _resume(self, daemon: str) -> None:
        self._running[daemon].unpause()

    def _cut(self, daemon: str) -> None:
        self._joined.disconnect(self._running[daemon])

    def _join(self, daemon: str) -> None:
        self._joined.connect(self._running[daemon], aliases=[daemon])
        self._look_up()

    # ---- what was said

    def daemon_log(self, daemon: str) -> str:
        """See `Federation.daemon_log`."""
        if daemon not in self._running:
            return ""
        said: bytes = self._running[daemon].logs(tail=2000)
        return said.decode("utf-8", "replace")

    def _container_logs(self, application: str) -> Iterator[tuple[str, str]]:
        for name in self.daemons:
            if "-nm" not in name:
                continue
            try:
                stream, _ = self._running[name].get_archive(f"{_LOGS}/{application}")
            except docker.errors.NotFound:
                continue
            with tarfile.open(fileobj=io.BytesIO(b"".join(stream))) as packed:
                for member in packed.getmembers():
                    if member.isfile() and (file := packed.extractfile(member)) is not None:
                        where = Path(member.name)
                        yield f"{name} {where.parent.name} {where.name}", file.read().decode("utf-8", "replace")


class _ProgramInside(Program):
    """A program that runs in the clients' container."""

    def __init__(
        self, container: Container, command: Sequence[str], environment: Mapping[str, str], printed: Path
    ) -> None:
        super().__init__(printed)
        self._container = container
        self._api = find_docker().api
        words = ["sh", "-c", 'echo $$ >"$0.pid"; exec "$@" >"$0" 2>&1', str(printed), *command]
        made = self._api.exec_create(container.id, words, user=_USER, environment=dict(environment))
        self._id = made["Id"]
        self._api.exec_start(self._id, detach=True)

    def exit_code(self) -> int | None:
        told = self._api.exec_inspect(self._id)
        return None if told["Running"] else int(told["ExitCode"])

    def kill(self) -> None:
        with contextlib.suppress(docker.errors.APIError):
            if self.exit_code() is None:
                self._container.exec_run(["sh", "-c", 'kill -KILL "$(cat "$0.pid")"', str(self._printed)], user=_USER)
