"""Writing a lab's folder: configurations of its daemons, of its clients and of Heddle."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from shim.errors import LabError
from shim.lab.daemons import NODE_MANAGER, RESOURCE_MANAGER
from shim.lab.hadoop_conf import FrontAddresses, Surroundings, client_files, cluster_files, node_files
from shim.lab.layout import ClusterLayout
from shim.lab.spec import ClusterSpec
from shim.lab.state import DaemonRecord

__all__ = ["heddle_toml", "prepare_folder", "write_client", "write_cluster", "write_heddle_toml"]

_SIGN = ".heddle-lab"


def prepare_folder(folder: Path) -> None:
    """Make an empty folder for a lab; what an earlier lab left there is removed.

    Raises:
        LabError: If it holds something that no lab has put there.
    """
    sign = folder / _SIGN
    if folder.exists() and not sign.exists() and any(folder.iterdir()):
        raise LabError(f"{folder} is not empty and not a lab's: name an empty --dir")
    folder.mkdir(parents=True, exist_ok=True)
    sign.touch()
    for child in folder.iterdir():
        if child.is_dir():
            shutil.rmtree(child, ignore_errors=True)
        elif child != sign:
            child.unlink(missing_ok=True)


def write_cluster(spec: ClusterSpec, layout: ClusterLayout, around: Surroundings) -> list[DaemonRecord]:
    """Write the configuration of a cluster and of each of its daemons; the daemons."""
    paired = len(layout.resource_managers) > 1
    _write_files(around.folder / "conf", cluster_files(spec, layout, around))
    daemons = []
    for number, rm in enumerate(layout.resource_managers, start=1):
        files = cluster_files(spec, layout, around, ha_id=f"rm{number}" if paired else None)
        daemons.append(_daemon(rm.name, spec.id, RESOURCE_MANAGER, around.folder, files))
    for node in layout.nodes:
        files = node_files(spec, layout, node, around)
        daemons.append(_daemon(node.name, spec.id, NODE_MANAGER, around.folder, files))
    return daemons


def _daemon(name: str, cluster: str, main_class: str, folder: Path, files: Mapping[str, str]) -> DaemonRecord:
    daemon = DaemonRecord(name=name, cluster=cluster, main_class=main_class, folder=str(folder / name))
    _write_files(daemon.conf_dir, files)
    return daemon


def write_client(folder: Path, front: FrontAddresses, jars: Path, users: tuple[str, ...]) -> None:
    """Write the configuration folder of clients that know only Heddle."""
    _write_files(folder, client_files(front, Surroundings(folder, jars, users)))


def write_heddle_toml(path: Path, front: FrontAddresses, clusters: Sequence[str]) -> None:
    """Write a configuration for `heddle serve` in front of `clusters`, whose folders lie beside `path`."""
    path.write_text(heddle_toml(path.parent, front, clusters), encoding="utf-8")


def heddle_toml(folder: Path, front: FrontAddresses, clusters: Sequence[str]) -> str:
    """The text of that configuration."""
    parts = [
        "# Heddle in front of the clusters of a lab.\n"
        f'[server]\nrest = "{front.rest}"\nclient_rpc = "{front.client_rpc}"\nscheduler_rpc = "{front.scheduler_rpc}"\n',
        f'[store]\nurl = "sqlite:///{folder}/heddle.db"\n',
        # a lab is for one person on one machine: whoever reaches it may submit
        "[security]\nallow_anonymous = true\n",
        *(f'[[subcluster]]\nid = "{id_}"\nconf = "{folder / id_ / "conf"}"\n' for id_ in clusters),
    ]
    return "\n".join(parts)


def _write_files(folder: Path, files: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
