"""Writing a lab's folder: configurations of its daemons, of its clients and of Heddle."""

import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from shim.errors import LabError
from shim.lab.daemons import NODE_MANAGER, RESOURCE_MANAGER
from shim.lab.hadoop_conf import FrontAddresses, Surroundings, client_files, cluster_files, node_files
from shim.lab.layout import ClusterLayout, NodeLayout, ResourceManagerLayout
from shim.lab.spec import ClusterSpec
from shim.lab.state import DaemonRecord

__all__ = [
    "SPANNING_QUEUE",
    "claim_folder",
    "clear_folder",
    "heddle_toml",
    "lock_of",
    "write_client",
    "write_cluster",
    "write_heddle_toml",
]

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


def write_cluster(spec: ClusterSpec, layout: ClusterLayout, around: Surroundings) -> list[DaemonRecord]:
    """Write the configuration of a cluster and of each of its daemons; the daemons."""
    paired = len(layout.resource_managers) > 1
    _write_files(around.folder / "conf", cluster_files(spec, layout, around))
    daemons = []
    for number, rm in enumerate(layout.resource_managers, start=1):
        files = cluster_files(spec, layout, around, ha_id=f"rm{number}" if paired else None)
        daemons.append(_daemon(rm, spec.id, RESOURCE_MANAGER, around.folder, files))
    for node in layout.nodes:
        files = node_files(spec, layout, node, around)
        daemons.append(_daemon(node, spec.id, NODE_MANAGER, around.folder, files))
    return daemons


def _daemon(
    layout: ResourceManagerLayout | NodeLayout, cluster: str, main_class: str, folder: Path, files: Mapping[str, str]
) -> DaemonRecord:
    name = layout.name
    daemon = DaemonRecord(name, cluster, main_class, folder=str(folder / name), web=layout.web)
    _write_files(daemon.conf_dir, files)
    return daemon


def write_client(folder: Path, front: FrontAddresses, jars: Path, users: tuple[str, ...]) -> None:
    """Write the configuration folder of clients that know only Heddle."""
    _write_files(folder, client_files(front, Surroundings(folder, jars, users)))


SPANNING_QUEUE = "prod"
"""Leaf queue of a lab in whose applications Heddle lets containers be in several clusters."""

_SECRET = "heddle.secret"  # noqa: S105 - a file's name
_SECRET_BYTES = 32


def write_heddle_toml(path: Path, front: FrontAddresses, clusters: Sequence[str]) -> None:
    """Write a configuration of Heddle in front of `clusters`, whose folders lie beside `path`, and its secret."""
    secret = path.parent / _SECRET
    secret.touch(mode=0o600)
    secret.write_text(secrets.token_hex(_SECRET_BYTES), encoding="ascii")
    path.write_text(heddle_toml(path.parent, front, clusters), encoding="utf-8")


def heddle_toml(folder: Path, front: FrontAddresses, clusters: Sequence[str]) -> str:
    """The text of that configuration."""
    head = _HEDDLE_TOML.format(front=front, folder=folder, secret=_SECRET, spanning=SPANNING_QUEUE)
    return head + "".join(f'\n[[subcluster]]\nid = "{id_}"\nconf = "{folder / id_ / "conf"}"\n' for id_ in clusters)


_HEDDLE_TOML = """\
# Heddle in front of the clusters of a lab.
[server]
rest = "{front.rest}"
client_rpc = "{front.client_rpc}"
scheduler_rpc = "{front.scheduler_rpc}"
admin_rpc = "{front.admin_rpc}"

[store]
url = "sqlite:///{folder}/heddle.db"

# a lab is for one person on one machine: whoever reaches it may submit
[security]
allow_anonymous = true
secret_file = "{folder}/{secret}"

# one application of this queue may hold containers of several clusters
[[queue]]
name = "root.{spanning}"
span = true
"""


def _write_files(folder: Path, files: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
