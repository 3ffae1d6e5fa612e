"""Hadoop's own programs, run as their users run them."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from shim.lab import Lab

__all__ = ["JVM", "StockClient"]

JVM = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true"]
_MOST_S = 240


class StockClient:
    """Runs Java programs of Hadoop with a configuration folder of their own."""

    def __init__(self, lab: Lab, folder: Path, **addresses: str) -> None:
        self.jars = next(iter(lab.clusters.values())).jars
        self._folder = folder
        shutil.copytree(lab.client_conf, folder, dirs_exist_ok=True)
        site = (folder / "yarn-site.xml").read_text()
        for name, address in addresses.items():
            pattern = rf"(<name>yarn\.resourcemanager\.{name}</name><value>)[^<]*"
            site = re.sub(pattern.replace("_", r"\."), rf"\g<1>{address}", site)
        (folder / "yarn-site.xml").write_text(site)

    def run(self, *arguments: str, user: str = "ada") -> str:
        """What a program printed on both streams; it must end well."""
        done = self.try_run(*arguments, user=user)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def try_run(self, *arguments: str, user: str = "ada") -> "subprocess.CompletedProcess[str]":
        """The same, however it ends."""
        command = [*JVM, "-cp", f"{self._folder}:{self.jars}/*", *arguments]
        environment = os.environ | {"HADOOP_USER_NAME": user}
        return subprocess.run(
            command,
            cwd=self._folder,  # jobs without HDFS leave their folders where they are started
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_MOST_S,
            check=False,
        )

    def jar(self, name: str) -> str:
        """The path of a jar by the beginning of its name."""
        return str(next(self.jars.glob(f"{name}-[0-9]*.jar")))
