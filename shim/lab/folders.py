"""Writing a lab's folder: configurations of its daemons, of its clients and of Heddle."""

import getpass
import secrets
import shutil
import socket
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from shim.errors import LabError
from shim.lab.daemons import DATA_NODE, NAME_NODE, NODE_MANAGER, RESOURCE_MANAGER, hosts_of
from shim.lab.hadoop_conf import LOG4J, FrontAddresses, Surroundings, client_files, cluster_files, node_files, to_xml
from shim.lab.hdfs import HDFS, file_properties, server_properties
from shim.lab.layout import (
    ClusterLayout,
    FileServerLayout,
    NodeLayout,
    ResourceManagerLayout,
    front_host,
    has_hosts,
    hosts_file,
)
from shim.lab.secured import heddle_login, kdc_daemon, kerberos_folder, secured_cluster
from shim.lab.secured_conf import HEDDLE, HeddleLogin, client_properties, secured_properties
from shim.lab.shared_classes import in_containers
from shim.lab.spec import DEFAULT_VERSION, PROTECTIONS, ClusterSpec, LabSpec
from shim.lab.state import ClusterRecord, DaemonRecord, LabState, write_state

CLIENT = "client"
"""Folder with the configuration of clients that know only Heddle."""

HEDDLE_TOML = "heddle.toml"

_SIGN = ".heddle-lab"


def lock_of(folder: Path) -> Path:
    """The file that marks a folder as a lab's, and is locked while the lab is started or ended."""
    return folder / _SIGN


def claim_folder(folder: Path) -> None:
    """Make `folder` a lab's.

    Raises:
        LabError: If it holds something that no lab has put there, or cannot be made.
    """
    try:
        if folder.exists() and not lock_of(folder).exists() and any(folder.iterdir()):
            raise LabError(f"{folder} is not empty and not a lab's: name an empty --dir")
        folder.mkdir(parents=True, exist_ok=True)
        lock_of(folder).touch()
    except OSError as exc:
        raise LabError(f"{folder} cannot be a lab's folder: {exc.strerror}") from exc


def clear_folder(folder: Path) -> None:
    """Remove what an earlier lab left."""
    for child in folder.iterdir():
        if child.is_dir():
            shutil.rmtree(child, ignore_errors=True)
        elif child != lock_of(folder):
            child.unlink(missing_ok=True)


def write_lab(
    folder: Path,
    front: FrontAddresses,
    spec: LabSpec,
    layouts: Sequence[ClusterLayout],
    jars: Mapping[str, Path],
) -> None:
    """Write everything that a lab's daemons and clients read, and its state.

    Args:
        front: Where Heddle will listen.
        layouts: Of its clusters, in order.
        jars: Folder of Hadoop's jars, by version.
    """
    # Heddle acts for its users: whoever runs it here, and its own account in a container or a secured lab
    proxies = tuple(dict.fromkeys((getpass.getuser(), HEDDLE)))
    proxy_hosts = front_host(layouts) if has_hosts(layouts) else "*"
    servers = layouts[0].file_servers
    files = file_properties(servers, spec.realms)

    def around_in(home: Path, of_it: Path, secured: Mapping[str, Mapping[str, str]]) -> Surroundings:
        more = {name: {**secured.get(name, {}), **files.get(name, {})} for name in dict.fromkeys((*secured, *files))}
        return Surroundings(home, of_it, proxies, proxy_hosts, more, in_containers(of_it), spec.tuning)

    records: list[ClusterRecord] = []
    daemons = [kdc_daemon(folder, layouts[0].kdc)] if spec.realms else []
    for cluster, layout in zip(spec.clusters, layouts, strict=True):
        secured = secured_cluster(folder, cluster, spec)
        properties = secured_properties(secured) if secured is not None else {}
        around = around_in(folder / cluster.id, jars[cluster.version], properties)
        records.append(ClusterRecord(cluster, layout, str(around.jars)))
        daemons += write_cluster(cluster, layout, around)
    if servers:
        daemons += _write_file_servers(folder, spec, servers)
    login = heddle_login(folder, spec)
    properties = client_properties(spec.realms, login.principal) if login is not None else {}
    version = DEFAULT_VERSION if DEFAULT_VERSION in jars else spec.clusters[0].version
    write_client(front, around_in(folder / CLIENT, jars[version], properties))
    write_heddle_toml(folder / HEDDLE_TOML, front, [cluster.id for cluster in spec.clusters], login)
    hosts_of(folder).write_text(hosts_file(layouts, socket.gethostname()), encoding="utf-8")
    write_state(folder, LabState(tuple(records), tuple(daemons), spec.tuning))


def write_cluster(spec: ClusterSpec, layout: ClusterLayout, around: Surroundings) -> list[DaemonRecord]:
    """Write the configuration of a cluster and of each of its daemons; the daemons."""
    paired = len(layout.resource_managers) > 1
    _write_files(around.folder / "conf", cluster_files(spec, layout, around))
    (around.folder / "exclude").touch()
    daemons = []
    for number, rm in enumerate(layout.resource_managers, start=1):
        files = cluster_files(spec, layout, around, ha_id=f"rm{number}" if paired else None)
        daemons.append(_daemon(rm, spec.id, RESOURCE_MANAGER, around.folder, files))
    for node in layout.nodes:
        files = node_files(spec, layout, node, around)
        daemons.append(_daemon(node, spec.id, NODE_MANAGER, around.folder, files))
    return daemons


def _write_file_servers(folder: Path, spec: LabSpec, servers: Sequence[FileServerLayout]) -> list[DaemonRecord]:
    home = folder / HDFS
    keytab = kerberos_folder(folder) / f"{HDFS}.keytab"
    tables = server_properties(servers, spec.realms, home, keytab)
    files = {name: to_xml(properties) for name, properties in tables.items()} | {"log4j.properties": LOG4J}
    daemons = []
    for server, main_class in zip(servers, (NAME_NODE, DATA_NODE), strict=True):
        daemons.append(_daemon(server, spec.clusters[0].id, main_class, home, files))
        for pages in ("hdfs", "datanode", "static"):  # Hadoop's archive has them beside its jars, and they must be
            (daemons[-1].conf_dir / "webapps" / pages).mkdir(parents=True)
    return daemons


def _daemon(
    layout: ResourceManagerLayout | NodeLayout | FileServerLayout,
    cluster: str,
    main_class: str,
    folder: Path,
    files: Mapping[str, str],
) -> DaemonRecord:
    name = layout.name
    daemon = DaemonRecord(name, cluster, main_class, folder=str(folder / name), web=layout.web)
    _write_files(daemon.conf_dir, files)
    return daemon


def write_client(front: FrontAddresses, around: Surroundings) -> None:
    """Write the configuration folder of clients that know only Heddle."""
    _write_files(around.folder, client_files(front, around))


SPANNING_QUEUE = "prod"
"""Leaf queue of a lab in whose applications Heddle lets containers be in several clusters."""

_SECRET = "heddle.secret"  # noqa: S105 - a file's name
_SECRET_BYTES = 32


def write_heddle_toml(
    path: Path, front: FrontAddresses, clusters: Sequence[str], login: HeddleLogin | None = None
) -> None:
    """Write a configuration of Heddle in front of `clusters`, whose folders lie beside `path`, and its secret.

    Args:
        login: Heddle's own, where some of them are secured.
    """
    secret = path.parent / _SECRET
    secret.touch(mode=0o600)
    secret.write_text(secrets.token_hex(_SECRET_BYTES), encoding="ascii")
    path.write_text(heddle_toml(path.parent, front, clusters, login), encoding="utf-8")


def heddle_toml(folder: Path, front: FrontAddresses, clusters: Sequence[str], login: HeddleLogin | None = None) -> str:
    addresses = [getattr(front, each.name) for each in fields(front)]
    remote = "" if all(address.startswith("127.") for address in addresses if address) else _REMOTE
    operators = _OPERATORS.format(users=[getpass.getuser()]) if remote else ""
    front_part = _HEDDLE_TOML.format(
        front=front, folder=folder, secret=_SECRET, spanning=SPANNING_QUEUE, remote=remote, operators=operators
    )
    parts = [front_part]
    if login is not None:
        parts.append(_KERBEROS_TOML.format(login=login, realms=list(login.realms[1:]), protections=list(PROTECTIONS)))
    for id_ in clusters:
        parts.append(f'\n[[subcluster]]\nid = "{id_}"\nconf = "{folder / id_ / "conf"}"\n')
        if login is not None and id_ in login.managers:
            parts.append(f'principal = "{login.managers[id_]}"\n')
    return "".join(parts)


_KERBEROS_TOML = """
[security.kerberos]
principal = "{login.principal}"
keytab = "{login.keytab}"
realms = {realms}
protection = {protections}
"""

_REMOTE = """\
# an address of a network that this machine shares with the lab's hosts alone
allow_remote = true
# this machine finds it where a ResourceManager would be, too
rest_loopback = true
"""

_OPERATORS = """\
# over loopback they are by themselves
admins = {users}
"""

_HEDDLE_TOML = """\
# Heddle in front of the clusters of a lab.
[server]
rest = "{front.rest}"
client_rpc = "{front.client_rpc}"
scheduler_rpc = "{front.scheduler_rpc}"
admin_rpc = "{front.admin_rpc}"
proxy = "{front.proxy}"
{remote}
[store]
url = "sqlite:///{folder}/heddle.db"

# a lab is for one person on one machine: whoever reaches it may submit
[security]
allow_anonymous = true
{operators}secret_file = "{folder}/{secret}"

# one application of this queue may hold containers of several clusters
[[queue]]
name = "root.{spanning}"
span = true
"""


def _write_files(folder: Path, files: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
        if text.startswith("#!"):
            (folder / name).chmod(0o755)
