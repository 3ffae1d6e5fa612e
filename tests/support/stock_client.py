"""Hadoop's own Java programs, unmodified, run with a configuration folder of their own."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from xml.sax.saxutils import escape

from shim.lab import DEFAULT_VERSION, Lab
from shim.lab.java_options import QUICK_START
from shim.lab.shared_classes import class_path as jars_and
from shim.lab.shared_classes import sharing

CLI = "org.apache.hadoop.yarn.client.cli"
"""Package of the classes behind the `yarn` command."""

_JVM = ["java", "-Xmx256m", *QUICK_START, "-Djava.net.preferIPv4Stack=true"]
_MOST_S = 600


class Server(Protocol):
    """What has a ResourceManager's addresses: a cluster of a lab, or Heddle, as a process or in a thread."""

    @property
    def url(self) -> str:
        """Of its web services."""
        ...

    @property
    def client_rpc(self) -> str | None:
        """`host:port` for clients."""
        ...

    @property
    def scheduler_rpc(self) -> str | None:
        """`host:port` for ApplicationMasters."""
        ...


@dataclass(frozen=True, slots=True)
class Login:
    """What a Java program logs in with, where names are not believed.

    Attributes:
        options: Of the JVM.
        environment: Variables.
    """

    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


NO_LOGIN = Login()


class StockClient:
    """A client of Heddle, or of a ResourceManager.

    Args:
        lab: Whose jars and client configuration are taken.
        folder: For the configuration; also the working folder, where jobs without HDFS leave theirs.
        server: What it shall know instead of the lab's clusters, with all addresses but the one for operators.
        addresses: The same one by one: `address`, `scheduler_address`, `admin_address`, `webapp_address`.
        more: Further properties of `yarn-site.xml`.
        jars: In the place of Hadoop's: of the usual version, else of the first cluster's.
        options: Further ones of the JVM.
        environment: Further variables.

    Attributes:
        jars: Folder of the jars on its class path.
    """

    def __init__(
        self,
        lab: Lab,
        folder: Path,
        server: Server | None = None,
        *,
        more: Mapping[str, str] | None = None,
        jars: Path | None = None,
        options: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        **addresses: str | None,
    ) -> None:
        clusters = list(lab.clusters.values())
        usual = (each.jars for each in clusters if each.version == DEFAULT_VERSION)
        self.jars = jars or next(usual, clusters[0].jars)
        self._options = options
        self._environment = dict(environment or {})
        self._folder = folder
        shutil.copytree(lab.client_conf, folder, dirs_exist_ok=True)
        site = (folder / "yarn-site.xml").read_text()
        for name, address in (_addresses_of(server) | addresses).items():
            pattern = rf"(<name>yarn\.resourcemanager\.{name}</name><value>)[^<]*"
            site = re.sub(pattern.replace("_", r"\."), rf"\g<1>{address}", site)
        (folder / "yarn-site.xml").write_text(site)
        # a client refuses a user's staging folder that is another's, and on these file systems all are the tests' own:
        # a second client of a user would find the first one's
        if lab.file_system == "file:///":
            self.set("mapred-site.xml", {"yarn.app.mapreduce.am.staging-dir": f"{folder}/staging"})
        if more:
            self.set("yarn-site.xml", more)

    @property
    def folder(self) -> Path:
        """Its configuration, and where it works."""
        return self._folder

    def set(self, file: str, properties: Mapping[str, str]) -> None:
        """Put properties into a file of the configuration, after those that it has."""
        path = self._folder / file
        rows = "".join(
            f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
            for name, value in properties.items()
        )
        path.write_text(path.read_text().replace("</configuration>", f"{rows}</configuration>"))

    def command(self, *arguments: str, class_path: str = "") -> list[str]:
        """The command line of a program; `class_path` comes after Hadoop's jars."""
        path = jars_and(self.jars, self._folder, *filter(None, [class_path]))
        return [*_JVM, *self._options, *sharing(self.jars), "-cp", path, *arguments]

    def run(self, *arguments: str, user: str = "ada", class_path: str = "") -> str:
        """What a program printed on both streams; it must end well."""
        done = self.try_run(*arguments, user=user, class_path=class_path)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def try_run(self, *arguments: str, user: str = "ada", class_path: str = "") -> "subprocess.CompletedProcess[str]":
        """The same, however it ends."""
        return subprocess.run(
            self.command(*arguments, class_path=class_path),
            cwd=self._folder,
            env=os.environ | {"HADOOP_USER_NAME": user} | self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_MOST_S,
            check=False,
        )

    @contextmanager
    def running(self, *arguments: str, user: str = "ada", class_path: str = "") -> "Iterator[subprocess.Popen[str]]":
        """A program while it runs; it is ended afterwards if it has not."""
        process = subprocess.Popen(
            self.command(*arguments, class_path=class_path),
            cwd=self._folder,
            env=os.environ | {"HADOOP_USER_NAME": user} | self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        with process:
            try:
                yield process
            finally:
                process.kill()

    def yarn(self, command: str, *arguments: str, user: str = "ada") -> str:
        """What the `yarn` command prints; it must end well."""
        return self.run(*_of(command), *arguments, user=user)

    def try_yarn(self, command: str, *arguments: str, user: str = "ada") -> "subprocess.CompletedProcess[str]":
        """The same, however it ends."""
        return self.try_run(*_of(command), *arguments, user=user)

    def jar(self, name: str) -> str:
        """The path of a jar by the beginning of its name."""
        return str(next(self.jars.glob(f"{name}-[0-9]*.jar")))


def _of(command: str) -> list[str]:
    """The class that the `yarn` script runs for a command, with the words that it puts in."""
    if command in {"application", "applicationattempt", "container"}:
        return [f"{CLI}.ApplicationCLI", command]
    return [_CLASSES[command]]


_CLASSES = {
    "cluster": f"{CLI}.ClusterCLI",
    "logs": f"{CLI}.LogsCLI",
    "node": f"{CLI}.NodeCLI",
    "nodeattributes": f"{CLI}.NodeAttributesCLI",
    "queue": f"{CLI}.QueueCLI",
    "rmadmin": f"{CLI}.RMAdminCLI",
    "routeradmin": f"{CLI}.RouterCLI",
    "schedulerconf": f"{CLI}.SchedConfCLI",
    "top": f"{CLI}.TopCLI",
}


def _addresses_of(server: Server | None) -> dict[str, str | None]:
    if server is None:
        return {}
    return {
        "address": server.client_rpc,
        "scheduler_address": server.scheduler_rpc,
        "webapp_address": server.url.removeprefix("http://"),
    }
