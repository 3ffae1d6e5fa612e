"""A ResourceManager in Kerberos mode, without nodes.

Its web services are as open as Hadoop leaves them by default, or ask for tickets, too.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self
from xml.sax.saxutils import escape

import httpx

from shim.lab import Lab
from shim.lab.daemons import RESOURCE_MANAGER
from shim.lab.java_options import JAVA_OPENS, QUICK_START, find_java
from shim.lab.shared_classes import class_path, sharing
from tests.doubles.postgresql import free_addresses
from tests.support.kdc import LocalKDC

_START_S = 240.0
_OPTIONS = ("-Xmx384m", *QUICK_START, "-Djava.net.preferIPv4Stack=true")
_SERVERS = ("address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address")


class SecureResourceManager:
    """Runs while its context is open.

    Args:
        lab: Whose jars and settings are taken; it is left alone.
        folder: For its configuration, state and log.
        kdc: Of its realm.
        principal: Its own.
        keytab: With its key.
        front: The user that may act for others: Heddle's.
        web: Principal and keytab of its web services; None where these believe names.

    Attributes:
        conf_dir: What clients and Heddle read.
        log: What it printed.
    """

    def __init__(
        self,
        lab: Lab,
        folder: Path,
        kdc: LocalKDC,
        principal: str,
        keytab: Path,
        front: str,
        *,
        web: tuple[str, Path] | None = None,
    ) -> None:
        like = next(iter(lab.clusters.values()))
        self.conf_dir = folder / "conf"
        self.log = folder / "rm.log"
        self._jars = like.jars
        self._krb5_conf = kdc.krb5_conf
        self._process: subprocess.Popen[bytes] | None = None
        addresses = dict(zip(_SERVERS, free_addresses(len(_SERVERS)), strict=True))
        self._web = addresses["webapp.address"]
        shutil.copytree(like.conf_dir, self.conf_dir)
        proxy = f"hadoop.proxyuser.{front}"
        self._add(
            "core-site.xml",
            {
                "hadoop.security.authentication": "kerberos",
                "hadoop.tmp.dir": str(folder / "tmp"),
                **{f"{proxy}.{what}": "*" for what in ("hosts", "groups", "users")},
            },
        )
        self._add(
            "yarn-site.xml",
            {
                **{f"yarn.resourcemanager.{server}": address for server, address in addresses.items()},
                "yarn.resourcemanager.principal": principal,
                "yarn.resourcemanager.keytab": str(keytab),
                "yarn.resourcemanager.recovery.enabled": "false",
                "yarn.node-labels.enabled": "false",
                "yarn.node-attribute.fs-store.root-dir": f"file://{folder}/attributes",
            },
        )

        if web is not None:
            self._ask_for_tickets(folder, *web)

    def _ask_for_tickets(self, folder: Path, principal: str, keytab: Path) -> None:
        secret = folder / "http-secret"
        secret.write_text("not a secret of anybody's")
        http = "hadoop.http.authentication"
        self._add(
            "core-site.xml",
            {
                "hadoop.http.filter.initializers": "org.apache.hadoop.security.AuthenticationFilterInitializer",
                f"{http}.type": "kerberos",
                f"{http}.kerberos.principal": principal,
                f"{http}.kerberos.keytab": str(keytab),
                f"{http}.signature.secret.file": str(secret),
            },
        )
        self._add(
            "yarn-site.xml",
            {
                "yarn.resourcemanager.webapp.spnego-principal": principal,
                "yarn.resourcemanager.webapp.spnego-keytab-file": str(keytab),
            },
        )

    @property
    def url(self) -> str:
        """Its web services."""
        return f"http://{self._web}"

    def __enter__(self) -> Self:
        command = [
            str(find_java()),
            *_OPTIONS,
            *JAVA_OPENS,
            f"-Djava.security.krb5.conf={self._krb5_conf}",
            f"-Dlog4j.configuration=file:{self.conf_dir}/log4j.properties",
            *sharing(self._jars),
            "-classpath",
            class_path(self._jars, self.conf_dir),
            RESOURCE_MANAGER,
        ]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.conf_dir.parent, env=os.environ)
        try:
            self._await_answer()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def _add(self, file: str, properties: Mapping[str, str]) -> None:
        """Of a property that is there twice Hadoop takes the last."""
        path = self.conf_dir / file
        rows = "".join(
            f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
            for name, value in properties.items()
        )
        path.write_text(path.read_text().replace("</configuration>", f"{rows}</configuration>"))

    def _await_answer(self) -> None:
        until_s = time.monotonic() + _START_S
        while not self._answers():
            assert self._process is not None
            assert self._process.poll() is None, self.log.read_text()[-5000:]
            assert time.monotonic() < until_s, self.log.read_text()[-5000:]
            time.sleep(0.2)

    def _answers(self) -> bool:
        try:
            told = httpx.get(f"http://{self._web}/ws/v1/cluster/info", trust_env=False, timeout=5)
        except httpx.HTTPError:
            return False
        if told.status_code == 401:
            return True  # the filter stands before what would tell its state
        return told.status_code == 200 and told.json()["clusterInfo"]["haState"] == "ACTIVE"

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
