"""State of a lab between commands: its clusters, addresses and processes, in one JSON file."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import msgspec

from shim.errors import LabError
from shim.lab.layout import ClusterLayout
from shim.lab.processes import ProcessIdentity
from shim.lab.spec import STATE_FILE, ClusterSpec, LabSpec, Tuning
from shim.protocol.wire_values import UNREADABLE

__all__ = ["STATE_FILE", "ClusterRecord", "DaemonRecord", "LabState", "read_state", "write_state"]

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class DaemonRecord:
    """One daemon: how it is started, and the process that it is now (or was, if it has ended).

    Attributes:
        name: Unique in the lab, such as `east-rm` or `west-nm2`.
        main_class: The Java class that it runs.
        folder: Its own folder, with `conf/` and `daemon.log`.
        web: `host:port` of its web server.
    """

    name: str
    cluster: str
    main_class: str
    folder: str
    web: str
    process: ProcessIdentity | None = None

    @property
    def conf_dir(self) -> Path:
        """Configuration folder of the daemon."""
        return Path(self.folder) / "conf"

    @property
    def log(self) -> Path:
        return Path(self.folder) / "daemon.log"


@dataclass(frozen=True, slots=True)
class ClusterRecord:
    """One cluster of the lab."""

    spec: ClusterSpec
    layout: ClusterLayout
    jars: str


@dataclass(frozen=True, slots=True)
class LabState:
    """The whole lab."""

    clusters: tuple[ClusterRecord, ...]
    daemons: tuple[DaemonRecord, ...]
    tuning: Tuning
    format: int = _FORMAT

    @property
    def spec(self) -> LabSpec:
        has_files = bool(self.clusters[0].layout.file_servers)
        return LabSpec(tuple(record.spec for record in self.clusters), tuning=self.tuning, hdfs=has_files)


def write_state(folder: Path, state: LabState) -> None:
    data = msgspec.json.format(msgspec.json.encode(state), indent=2)
    descriptor, scratch = tempfile.mkstemp(dir=folder, prefix=f".{STATE_FILE}-")
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    Path(scratch).replace(folder / STATE_FILE)


def read_state(folder: Path) -> LabState | None:
    """The state of the lab in `folder`, `None` if there is no lab.

    Raises:
        LabError: If the file cannot be read as one of ours.
    """
    path = folder / STATE_FILE
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise LabError(f"{path}: {exc.strerror}") from exc
    try:
        state = msgspec.json.decode(data, type=LabState)
    except UNREADABLE as exc:
        raise LabError(f"{path} is not a lab's state ({exc}): end its processes and remove the folder") from exc
    if state.format != _FORMAT:
        raise LabError(f"{path} has format {state.format}, this Heddle writes {_FORMAT}: use the Heddle that made it")
    return state
