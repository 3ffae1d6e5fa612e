"""HDFS in a lab: a NameNode and a DataNode that all its clusters share, with Kerberos where these have it.

A DataNode that asks for tickets wants privileged ports, or else SASL for its data and TLS for its pages: a lab takes
the second way, with a certificate of its own making.
"""

import socket
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from shim.errors import LabError
from shim.lab.jars import JarSet, build_folder, cache_folder, ensure
from shim.lab.layout import FileServerLayout
from shim.lab.secured_conf import core_site_of_files, principal_of
from shim.lab.spec import DEFAULT_VERSION

HDFS = "hdfs"
"""User of the NameNode, who may do everything; name of the folder and of the keytab."""

_CERTIFICATE_TIMEOUT_S = 60
_PASSWORD = "heddle-lab"  # noqa: S105 - of a file that nobody but who runs the lab can read, and that holds for it alone

_EVERY_HTTP = "*"
"""Every principal of a keytab whose service is `HTTP`: callers know a host by several names."""

Tables = dict[str, dict[str, str]]


def ensure_servers(say: Callable[[str], None]) -> Path:
    """The folder with the jar of its servers; raises as `ensure`."""
    sources, version = build_folder() / HDFS, DEFAULT_VERSION
    return ensure(JarSet(f"HDFS {version}", sources / "pom.xml", sources / f"{version}.sha256", servers_folder()), say)


def servers_folder() -> Path:
    """The same, which `ensure_servers` has filled."""
    return cache_folder().parent / HDFS / DEFAULT_VERSION


def uri(servers: Sequence[FileServerLayout]) -> str:
    """Of the file system; that of this machine where there are no servers."""
    return f"hdfs://{servers[0].rpc}" if servers else "file:///"


def principals(realm: str, servers: Sequence[FileServerLayout] = ()) -> tuple[str, ...]:
    """Of the NameNode, of the DataNode, and of the pages of each server, by the names that callers know it by."""
    pages = dict.fromkeys(socket.getfqdn(each.host).lower() for each in servers)
    return (
        principal_of(HDFS, "namenode", realm),
        principal_of("dn", "datanode", realm),
        *(f"HTTP/{host}@{realm}" for host in pages),
    )


def file_properties(servers: Sequence[FileServerLayout], realms: Sequence[str]) -> Tables:
    """Properties by file name of whoever uses it; none where there are no servers."""
    if not servers:
        return {}
    return {
        "core-site.xml": {"fs.defaultFS": uri(servers)},
        "hdfs-site.xml": _hdfs_site(servers, realms),
        "mapred-site.xml": {"yarn.app.mapreduce.am.staging-dir": "/user"},
    }


def server_properties(servers: Sequence[FileServerLayout], realms: Sequence[str], folder: Path, keytab: Path) -> Tables:
    """Properties of both servers, by file name.

    Args:
        realms: Of the lab; the first is theirs. Empty where names are believed.
    """
    name_node, data_node = servers
    hdfs = {
        "dfs.namenode.name.dir": f"file://{folder}/names",
        "dfs.datanode.data.dir": f"file://{folder}/blocks",
        "dfs.datanode.address": data_node.data,
        "dfs.datanode.hostname": data_node.host,  # where its NameNode sends readers of WebHDFS
        "dfs.datanode.ipc.address": data_node.rpc,
        "dfs.datanode.http.address": data_node.web,
        "dfs.datanode.https.address": data_node.web,
        "dfs.namenode.http-address": name_node.web,
        "dfs.namenode.https-address": name_node.web,
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        # who may write finds somewhere to write: the NameNode opens when its DataNode is there
        "dfs.namenode.safemode.min.datanodes": "1",
        "dfs.namenode.safemode.extension": "0",
        "dfs.namenode.handler.count": "4",
        "dfs.datanode.handler.count": "2",
        "dfs.datanode.du.reserved": "0",
    }
    if not realms:
        return {"core-site.xml": {"fs.defaultFS": uri(servers)}, "hdfs-site.xml": _hdfs_site(servers, realms) | hdfs}
    of_data_node = principals(realms[0])[1]
    keys = {
        "dfs.namenode.keytab.file": str(keytab),
        "dfs.datanode.kerberos.principal": of_data_node,
        "dfs.datanode.keytab.file": str(keytab),
        "dfs.web.authentication.kerberos.principal": _EVERY_HTTP,
        "dfs.web.authentication.kerberos.keytab": str(keytab),
        "dfs.http.policy": "HTTPS_ONLY",
    }
    web = {  # without it they believe names over the web, whatever their RPC asks for
        "hadoop.http.authentication.type": "kerberos",
        "hadoop.http.authentication.kerberos.principal": _EVERY_HTTP,
        "hadoop.http.authentication.kerberos.keytab": str(keytab),
    }
    return {
        "core-site.xml": {"fs.defaultFS": uri(servers)} | core_site_of_files(realms) | web,
        "hdfs-site.xml": _hdfs_site(servers, realms) | hdfs | keys,
        "ssl-server.xml": {
            "ssl.server.keystore.location": str(_keystore(folder)),
            "ssl.server.keystore.password": _PASSWORD,
            "ssl.server.keystore.keypassword": _PASSWORD,
        },
    }


def _hdfs_site(servers: Sequence[FileServerLayout], realms: Sequence[str]) -> dict[str, str]:
    site = {"dfs.replication": "1", "dfs.namenode.rpc-address": servers[0].rpc}
    if not realms:
        return site
    return site | {
        "dfs.namenode.kerberos.principal": principals(realms[0])[0],
        "dfs.block.access.token.enable": "true",
        "dfs.data.transfer.protection": "privacy",
    }


def _keystore(folder: Path) -> Path:
    return folder / "pages.p12"


def certificate(folder: Path) -> Path:
    """The certificate of the servers' pages, in PEM form, which is its own CA; `folder` is theirs."""
    return folder / "pages.pem"


def write_certificate(folder: Path, java: Path, servers: Sequence[FileServerLayout]) -> None:
    """Make the key and the certificate of the servers' pages.

    Args:
        java: The `java` beside which `keytool` lies.
        servers: Both; the certificate is good for their hosts.

    Raises:
        LabError: If there is none, or it fails.
    """
    store = ["-alias", "pages", "-keystore", str(_keystore(folder)), "-storepass", _PASSWORD]
    hosts = ",".join(("dns:localhost", *dict.fromkeys(f"ip:{each.host}" for each in servers)))
    names = ["-dname", "CN=localhost", "-ext", f"san={hosts}", "-ext", "bc:c"]
    key = ["-keyalg", "RSA", "-keysize", "2048", "-validity", "30", "-storetype", "PKCS12"]
    folder.mkdir(parents=True, exist_ok=True)
    keytool = str(java.parent / "keytool")
    for words in (["-genkeypair", *store, *key, *names], ["-exportcert", *store, "-rfc", "-file", certificate(folder)]):
        try:
            done = subprocess.run(  # noqa: S603 - a fixed program
                [keytool, *words], capture_output=True, text=True, timeout=_CERTIFICATE_TIMEOUT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as exc:
            raise LabError(f"{keytool} makes no certificate for HDFS: {exc}") from exc
        if done.returncode != 0:
            raise LabError(f"{keytool} makes no certificate for HDFS: {(done.stdout + done.stderr).strip()}")
