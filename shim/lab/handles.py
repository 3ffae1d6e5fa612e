"""Handles of a lab's clusters and daemons."""

from dataclasses import dataclass
from pathlib import Path

from shim.lab.processes import ProcessState, resident_mib, state_of
from shim.lab.secured_conf import MANAGER, principal_of
from shim.lab.state import ClusterRecord, DaemonRecord


@dataclass(frozen=True, slots=True)
class DaemonStatus:
    """State of one daemon.

    Attributes:
        name: Unique in the lab.
        state: `running`, `paused` or `dead`.
        web: `host:port` of its web server.
        log: What it printed and logged.
    """

    name: str
    cluster: str
    state: str
    pid: int | None
    web: str
    resident_mib: int
    log: Path

    @classmethod
    def of(cls, daemon: DaemonRecord) -> "DaemonStatus":
        process = daemon.process
        letter = None if process is None else state_of(process)
        if process is None or letter is None:
            state, pid, memory = "dead", None, 0
        else:
            state = "paused" if letter == ProcessState.STOPPED else "running"
            pid, memory = process.pid, resident_mib(process)
        return cls(
            name=daemon.name,
            cluster=daemon.cluster,
            state=state,
            pid=pid,
            web=daemon.web,
            resident_mib=memory,
            log=daemon.log,
        )


@dataclass(frozen=True, slots=True)
class Cluster:
    """One running cluster: addresses and folders.

    Attributes:
        folder: Everything of it lies here.
    """

    id: str
    record: ClusterRecord
    folder: Path

    @property
    def web_address(self) -> str:
        """`host:port` of its (first) ResourceManager's web services."""
        return self.record.layout.primary.web

    @property
    def url(self) -> str:
        """The same as a URL, without a slash at its end."""
        return f"http://{self.web_address}"

    @property
    def client_rpc(self) -> str:
        """`host:port` for clients."""
        return self.record.layout.primary.client_rpc

    @property
    def scheduler_rpc(self) -> str:
        """`host:port` for ApplicationMasters."""
        return self.record.layout.primary.scheduler_rpc

    @property
    def conf_dir(self) -> Path:
        """Hadoop configuration folder of the cluster, for Heddle and for clients of this cluster alone."""
        return self.folder / "conf"

    @property
    def realm(self) -> str:
        """Kerberos realm of its daemons; empty if it is not secured."""
        return self.record.spec.realm

    @property
    def principal(self) -> str:
        """Principal of its ResourceManagers; empty if it is not secured."""
        return principal_of(MANAGER, self.id, self.realm) if self.realm else ""

    @property
    def jars(self) -> Path:
        return Path(self.record.jars)

    @property
    def version(self) -> str:
        return self.record.spec.version
