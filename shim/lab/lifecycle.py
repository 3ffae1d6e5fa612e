"""A lab from `up` to `down`: the object that the command line, the tests and the benchmarks use."""

import getpass
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from shim.errors import LabError
from shim.lab.allocation import claim_slot, exclusive, release_slot
from shim.lab.daemons import RM_ADMIN, find_java, java_command, java_environment
from shim.lab.folders import prepare_folder, write_client, write_cluster, write_heddle_toml
from shim.lab.hadoop_conf import FrontAddresses, Surroundings
from shim.lab.jars import ensure_jars
from shim.lab.layout import ClusterLayout
from shim.lab.processes import ProcessState, resident_mib, send, spawn, state_of, tail, terminate_all, wait_until
from shim.lab.readiness import ResourceManagerReport, ask
from shim.lab.spec import LabSpec
from shim.lab.state import STATE_FILE, ClusterRecord, DaemonRecord, LabState, read_state, write_state

__all__ = ["BootStep", "Cluster", "DaemonStatus", "Lab", "default_folder"]

_BOOT_TIMEOUT_S = 180.0
_STOP_TIMEOUT_S = 30.0
_ADMIN_TIMEOUT_S = 60.0
_LOG_LINES = 15
_READY_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class BootStep:
    """One step of starting a lab, for whoever shows progress.

    Attributes:
        message: What has just happened, or begins.
        ready: Daemons that are ready by now.
        total: Daemons of the lab.
        elapsed_s: Since the start.
    """

    message: str
    ready: int
    total: int
    elapsed_s: float


Watcher = Callable[[BootStep], None]


@dataclass(frozen=True, slots=True)
class DaemonStatus:
    """How one daemon is: `running`, `paused` or `dead`."""

    name: str
    cluster: str
    state: str
    pid: int | None
    address: str
    resident_mib: int
    log: Path


@dataclass(frozen=True, slots=True)
class Cluster:
    """One running cluster: addresses and folders.

    Attributes:
        id: Its sub-cluster id.
        record: How it was made.
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
        """Its Hadoop configuration folder, for Heddle and for clients of this cluster alone."""
        return self.folder / "conf"

    @property
    def jars(self) -> Path:
        """The jars that it runs."""
        return Path(self.record.jars)

    @property
    def version(self) -> str:
        """Its Hadoop version."""
        return self.record.spec.version


def default_folder() -> Path:
    """Where a lab lives when no folder is named: below `$XDG_STATE_HOME`, else `~/.local/state`."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "heddle" / "lab"


def _registry() -> Path:
    """Where labs note which slot they use; one place for all labs of a user."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "heddle" / "lab-slots"


def _ignore(_: BootStep) -> None:
    """Watch nothing."""


class Lab:
    """Real YARN clusters as processes of this machine, kept in one folder.

    A `Lab` is a handle: any number may look at the same folder, from any process. Use it as a context manager to have
    the clusters ended with the block.

    Args:
        folder: Where the lab keeps configuration, logs, state and data; made if missing.
        front: Where Heddle will listen, for the client configuration and `heddle.toml`.
    """

    def __init__(self, folder: Path, *, front: FrontAddresses | None = None) -> None:
        self.folder = folder.absolute()
        self.front = front or FrontAddresses()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()

    # what it is

    @property
    def clusters(self) -> dict[str, Cluster]:
        """The clusters by id.

        Raises:
            LabError: If there is no lab in the folder.
        """
        return {
            record.spec.id: Cluster(record.spec.id, record, self.folder / record.spec.id)
            for record in self._state().clusters
        }

    def cluster(self, id_: str) -> Cluster:
        """One cluster.

        Raises:
            LabError: If there is no such cluster.
        """
        clusters = self.clusters
        if id_ not in clusters:
            raise LabError(f"no cluster {id_!r} in the lab {self.folder}; it has {', '.join(clusters)}")
        return clusters[id_]

    @property
    def heddle_toml(self) -> Path:
        """A configuration for `heddle serve` in front of these clusters."""
        return self.folder / "heddle.toml"

    @property
    def client_conf(self) -> Path:
        """A Hadoop configuration folder for clients that know only Heddle."""
        return self.folder / "client"

    def status(self) -> list[DaemonStatus]:
        """How each daemon is."""
        state = self._state()
        addresses = {
            daemon.name: address
            for record in state.clusters
            for daemon, address in (
                *((rm, rm.web) for rm in record.layout.resource_managers),
                *((node, node.web) for node in record.layout.nodes),
            )
        }
        return [_status(daemon, addresses[daemon.name]) for daemon in state.daemons]

    def report(self, cluster: str) -> list[ResourceManagerReport]:
        """What each ResourceManager of a cluster says of itself."""
        return [ask(layout.web) for layout in self.cluster(cluster).record.layout.resource_managers]

    def log(self, daemon: str) -> Path:
        """Log of one daemon."""
        return self._daemon(daemon).log

    # up and down

    def up(self, spec: LabSpec, *, watch: Watcher = _ignore, timeout_s: float = _BOOT_TIMEOUT_S) -> None:
        """Start the clusters of `spec` and wait until every node is usable.

        What an earlier lab left in the folder is removed. A failed start leaves no process, and keeps the logs.

        Args:
            spec: The clusters.
            watch: Told of each step.
            timeout_s: How long all of it may take once the jars are there.

        Raises:
            LabError: If a lab is running in the folder, a port is taken, Java or Maven is missing, a daemon ends while
                starting (with the last lines of its log), or time runs out.
        """
        with exclusive(self.folder.parent / f".{self.folder.name}.lock"):
            self._refuse_if_running()
            self._end_processes()
            prepare_folder(self.folder)
            java = find_java()
            progress = _Progress(watch, total=sum(c.nodes + (2 if c.standby else 1) for c in spec.clusters))
            jars = {version: ensure_jars(version, progress.say) for version in _versions(spec)}
            layouts = claim_slot(spec, self.folder, _registry())
            try:
                self._write_everything(spec, layouts, jars)
                progress.say(f"starting {progress.total} daemons of {len(layouts)} clusters")
                for daemon in self._state().daemons:
                    self._start_process(daemon, java)
                self._wait_ready(progress, timeout_s=timeout_s)
            except BaseException:
                self._end_processes()
                raise

    def wait_ready(self, *, timeout_s: float = _BOOT_TIMEOUT_S) -> None:
        """Wait until every cluster has an active ResourceManager and all its nodes.

        Raises:
            LabError: If a daemon has ended, or time runs out.
        """
        self._wait_ready(_Progress(_ignore, total=len(self._state().daemons)), timeout_s=timeout_s)

    def down(self) -> int:
        """End every process of the lab, containers included; how many there were. Logs stay.

        Raises:
            LabError: If a process does not end.
        """
        with exclusive(self.folder.parent / f".{self.folder.name}.lock"):
            return self._end_processes()

    # faults

    def pause(self, daemon: str) -> None:
        """Freeze a daemon (SIGSTOP): it keeps its connections and answers nothing."""
        record = self._daemon(daemon)
        self._signal(record, signal.SIGSTOP, until=lambda state: state == ProcessState.STOPPED)

    def resume(self, daemon: str) -> None:
        """Let a paused daemon go on."""
        record = self._daemon(daemon)
        self._signal(record, signal.SIGCONT, until=lambda state: state != ProcessState.STOPPED)

    def kill(self, daemon: str) -> None:
        """Kill a daemon (SIGKILL), as a machine that loses power would."""
        record = self._daemon(daemon)
        self._signal(record, signal.SIGKILL, until=lambda state: state is None)

    def start(self, daemon: str) -> None:
        """Start a daemon again that was killed, with its old state; does not wait until it is ready.

        Raises:
            LabError: If it is running.
        """
        record = self._daemon(daemon)
        if record.process is not None and state_of(record.process) is not None:
            raise LabError(f"{daemon} is running (pid {record.process.pid})")
        self._start_process(record, find_java())

    def make_active(self, resource_manager: str) -> None:
        """Manual failover: make this ResourceManager of a pair the active one, the other the standby.

        Raises:
            LabError: If it is not one of a pair, or Hadoop refuses.
        """
        record = self._daemon(resource_manager)
        cluster = self.cluster(record.cluster)
        names = [layout.name for layout in cluster.record.layout.resource_managers]
        if resource_manager not in names or len(names) == 1:
            raise LabError(f"{resource_manager} has no standby: start the lab with --ha")
        for name in names:
            other = self._daemon(name)
            alive = other.process is not None and state_of(other.process) not in {None, ProcessState.STOPPED}
            if name != resource_manager and alive:
                self._rm_admin(cluster, "-transitionToStandby", f"rm{names.index(name) + 1}")
        self._rm_admin(cluster, "-transitionToActive", f"rm{names.index(resource_manager) + 1}")

    # how it is done

    def _state(self) -> LabState:
        state = read_state(self.folder)
        if state is None:
            raise LabError(f"no lab in {self.folder}: start one with `heddle lab up`")
        return state

    def _daemon(self, name: str) -> DaemonRecord:
        daemons = {daemon.name: daemon for daemon in self._state().daemons}
        if name not in daemons:
            raise LabError(f"no daemon {name!r} in this lab; it has {', '.join(daemons)}")
        return daemons[name]

    def _refuse_if_running(self) -> None:
        state = read_state(self.folder)
        alive = [] if state is None else [d.name for d in state.daemons if d.process and state_of(d.process)]
        if alive:
            raise LabError(f"a lab is running in {self.folder} ({', '.join(alive)}): end it, or name another --dir")

    def _write_everything(self, spec: LabSpec, layouts: Iterable[ClusterLayout], jars: dict[str, Path]) -> None:
        users = tuple(dict.fromkeys((getpass.getuser(), "heddle")))
        records: list[ClusterRecord] = []
        daemons: list[DaemonRecord] = []
        for cluster, layout in zip(spec.clusters, layouts, strict=True):
            around = Surroundings(self.folder / cluster.id, jars[cluster.version], users)
            records.append(ClusterRecord(cluster, layout, str(around.jars)))
            daemons += write_cluster(cluster, layout, around)
        write_client(self.client_conf, self.front, jars[spec.clusters[0].version], users)
        write_heddle_toml(self.heddle_toml, self.front, [cluster.id for cluster in spec.clusters])
        write_state(self.folder, LabState(tuple(records), tuple(daemons), spec.tuning))

    def _start_process(self, daemon: DaemonRecord, java: Path) -> None:
        state = self._state()
        jars = next(Path(record.jars) for record in state.clusters if record.spec.id == daemon.cluster)
        process = spawn(
            java_command(java, daemon.main_class, conf_dir=daemon.conf_dir, jars=jars, tuning=state.tuning),
            environment=java_environment(java, conf_dir=daemon.conf_dir, lab=self.folder),
            log=daemon.log,
        )
        daemons = tuple(replace(d, process=process) if d.name == daemon.name else d for d in state.daemons)
        write_state(self.folder, replace(state, daemons=daemons))

    def _signal(self, daemon: DaemonRecord, signal_: signal.Signals, *, until: Callable[[str | None], bool]) -> None:
        process = daemon.process
        if process is None or not send(process, signal_):
            raise LabError(f"{daemon.name} is not running: start it with `heddle lab start {daemon.name}`")
        if not wait_until(lambda: until(state_of(process)), timeout_s=_STOP_TIMEOUT_S):
            raise LabError(f"{daemon.name} (pid {process.pid}) does not react to {signal_.name}")

    def _end_processes(self) -> int:
        ended = terminate_all(self.folder, timeout_s=_STOP_TIMEOUT_S)
        (self.folder / STATE_FILE).unlink(missing_ok=True)
        release_slot(self.folder, _registry())
        return ended

    def _wait_ready(self, progress: "_Progress", *, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        clusters = self.clusters
        known: dict[str, int] = dict.fromkeys(clusters, -1)
        while any(known[id_] < cluster.record.spec.nodes for id_, cluster in clusters.items()):
            self._refuse_if_dead()
            if time.monotonic() > deadline:
                raise LabError(f"the lab is not ready after {timeout_s:.0f} s: {self._complaint(known)}")
            for id_, cluster in clusters.items():
                if known[id_] < cluster.record.spec.nodes:
                    known[id_] = self._look_at(cluster, known[id_], progress)
            time.sleep(_READY_POLL_S)

    def _look_at(self, cluster: Cluster, known: int, progress: "_Progress") -> int:
        """Usable nodes of a cluster, -1 while it has no active ResourceManager."""
        layouts = cluster.record.layout.resource_managers
        reports = [ask(layout.web) for layout in layouts]
        if len(layouts) > 1 and all(report.ha_state == "STANDBY" for report in reports):
            self._rm_admin(cluster, "-transitionToActive", "rm1")
        active = next((report for report in reports if report.ha_state == "ACTIVE"), None)
        if active is None:
            return -1
        if known < 0:
            progress.step(f"{cluster.id}: ResourceManager {active.version} is active", len(layouts))
        for number in range(max(known, 0), active.usable_nodes):
            progress.step(f"{cluster.id}: {number + 1} of {cluster.record.spec.nodes} nodes", 1)
        return active.usable_nodes

    def _refuse_if_dead(self) -> None:
        for daemon in self._state().daemons:
            if daemon.process is None or state_of(daemon.process) is None:
                raise LabError(f"{daemon.name} ended. Last lines of {daemon.log}:\n{tail(daemon.log, _LOG_LINES)}")

    def _complaint(self, known: dict[str, int]) -> str:
        late = [id_ for id_, nodes in known.items() if nodes < self.cluster(id_).record.spec.nodes]
        phrases = [f"{id_} has {known[id_]} nodes" if known[id_] >= 0 else f"{id_} has no active RM" for id_ in late]
        log = self._daemon(self.cluster(late[0]).record.layout.primary.name).log
        return f"{', '.join(phrases)}. Last lines of {log}:\n{tail(log, _LOG_LINES)}"

    def _rm_admin(self, cluster: Cluster, *arguments: str) -> None:
        java, state = find_java(), self._state()
        command = java_command(java, RM_ADMIN, conf_dir=cluster.conf_dir, jars=cluster.jars, tuning=state.tuning)
        environment = java_environment(java, conf_dir=cluster.conf_dir, lab=self.folder)
        result = subprocess.run(  # noqa: S603 - our own java command
            [*command, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=_ADMIN_TIMEOUT_S,
            check=False,
        )
        if result.returncode != 0:
            lines = (result.stdout + result.stderr).splitlines()[-_LOG_LINES:]
            raise LabError(f"rmadmin {' '.join(arguments)} of {cluster.id} failed:\n" + "\n".join(lines))


def _versions(spec: LabSpec) -> list[str]:
    return list(dict.fromkeys(cluster.version for cluster in spec.clusters))


def _status(daemon: DaemonRecord, address: str) -> DaemonStatus:
    process = daemon.process
    letter = None if process is None else state_of(process)
    state = "dead" if letter is None else "paused" if letter == ProcessState.STOPPED else "running"
    alive = process is not None and letter is not None
    return DaemonStatus(
        name=daemon.name,
        cluster=daemon.cluster,
        state=state,
        pid=process.pid if process is not None and alive else None,
        address=address,
        resident_mib=resident_mib(process) if process is not None and alive else 0,
        log=daemon.log,
    )


class _Progress:
    """Counts what is ready and tells the watcher, with the time that has passed."""

    def __init__(self, watch: Watcher, *, total: int) -> None:
        self.total = total
        self._watch = watch
        self._ready = 0
        self._began = time.monotonic()

    def say(self, message: str) -> None:
        self.step(message, 0)

    def step(self, message: str, ready: int) -> None:
        self._ready += ready
        self._watch(BootStep(message, self._ready, self.total, time.monotonic() - self._began))
