"""A lab from `up` to `down`: the object that the command line, the tests and the benchmarks use."""

import getpass
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from shim.errors import LabError, NotInLabError
from shim.lab.allocation import claim_slot, exclusive, release_slot
from shim.lab.boot import LOG_LINES, BootProgress, BootStep, BootWatch, Meanwhile, Watcher, await_daemon
from shim.lab.daemons import DATA_NODE, FS_SHELL, KEY_CENTRE, NAME_NODE, RM_ADMIN, JavaRuntime, hosts_of
from shim.lab.folders import (
    CLIENT,
    HEDDLE_TOML,
    claim_folder,
    clear_folder,
    lock_of,
    write_lab,
)
from shim.lab.hadoop_conf import FrontAddresses
from shim.lab.handles import Cluster, DaemonStatus
from shim.lab.hdfs import HDFS, ensure_servers, servers_folder, uri, write_certificate
from shim.lab.host_networks import HostNetworks, HostsMissingError, on_host
from shim.lab.jars import cache_folder, ensure_jars
from shim.lab.java_options import find_java
from shim.lab.kdc import KDC
from shim.lab.layout import ClusterLayout, front_host, has_hosts
from shim.lab.processes import (
    MARKER,
    ProcessIdentity,
    ProcessState,
    send,
    spawn,
    state_of,
    tail,
    terminate_all,
    wait_until,
)
from shim.lab.readiness import ResourceManagerReport, ask, listens
from shim.lab.secured import (
    administrator_ticket,
    files_ticket,
    heddle_login,
    java_options,
    kdc_of,
    write_keys,
)
from shim.lab.secured_conf import HeddleLogin
from shim.lab.spec import DEFAULT_VERSION, HostKind, LabSpec
from shim.lab.state import STATE_FILE, DaemonRecord, LabState, read_state, write_state

_BOOT_TIMEOUT_S = 240.0
_STOP_TIMEOUT_S = 30.0
_ADMIN_TIMEOUT_S = 60.0
_FILES_TIMEOUT_S = 120.0
_OPEN = ("-D", "fs.permissions.umask-mode=000", "-mkdir", "-p", "/user", "/tmp")  # noqa: S108 - a folder of HDFS
"""Folders in which everybody may have their own."""


def _state_home() -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "heddle"


def default_folder() -> Path:
    """Return the folder of a lab that names none: below `$XDG_STATE_HOME`, else `~/.local/state`."""
    return _state_home() / "lab"


def _slots() -> Path:
    """Return the folder in which labs note their slots; one place for all labs of a user."""
    return _state_home() / "lab-slots"


def _ignore(_: BootStep) -> None:
    """Watch nothing."""


def _do_nothing(_: Callable[[str], None]) -> None:
    """What most do while daemons start."""


def _run(command: Sequence[str], environment: Mapping[str, str], what: str) -> None:
    """Run one of Hadoop's programs to its end.

    Raises:
        LabError: If it fails.
    """
    result = subprocess.run(  # noqa: S603 - our own java command
        command, env=environment, capture_output=True, text=True, timeout=_ADMIN_TIMEOUT_S, check=False
    )
    if result.returncode != 0:
        lines = (result.stdout + result.stderr).splitlines()[-LOG_LINES:]
        raise LabError(f"{what} failed:\n" + "\n".join(lines))


class Lab:
    """Real YARN clusters as processes of this machine, kept in one folder.

    A `Lab` is a handle: any number may look at the same folder, from any process. Use it as a context manager to have
    the clusters ended with the block.

    Args:
        folder: Where the lab keeps configuration, logs, state and data; made if missing, and the lab's alone.
        front: Where Heddle will listen, for the client configuration and `heddle.toml`.
    """

    def __init__(self, folder: Path, *, front: FrontAddresses | None = None) -> None:
        self.folder = folder.resolve()
        self._front = front or FrontAddresses()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()

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
        return self.folder / HEDDLE_TOML

    @property
    def client_conf(self) -> Path:
        """A Hadoop configuration folder for clients that know only Heddle."""
        return self.folder / CLIENT

    @property
    def host(self) -> str:
        """The address of this machine for the lab's daemons: where Heddle listens, if they shall reach it."""
        return front_host([record.layout for record in self._state().clusters])

    @property
    def has_hosts(self) -> bool:
        """True if its daemons have hosts of their own; else all are one, on the loopback interface."""
        return has_hosts([record.layout for record in self._state().clusters])

    @property
    def front(self) -> FrontAddresses:
        """Where Heddle will listen."""
        return self._front.at(self.host)

    @property
    def kdc(self) -> KDC:
        """The KDC of its secured clusters.

        Raises:
            LabError: If there is none.
        """
        return kdc_of(self.folder, self._state())

    @property
    def heddle_login(self) -> HeddleLogin | None:
        """Principal and keytab of Heddle in front of these clusters; None if none is secured."""
        return heddle_login(self.folder, self._state().spec)

    @property
    def administrator(self) -> str:
        """The user that may administer the clusters: who runs their daemons."""
        return getpass.getuser()

    def status(self) -> list[DaemonStatus]:
        return [DaemonStatus.of(daemon) for daemon in self._state().daemons]

    def reports(self, cluster: str) -> dict[str, ResourceManagerReport]:
        """Ask each ResourceManager of a cluster about itself; answers by the daemon's name."""
        return {layout.name: ask(layout.web) for layout in self.cluster(cluster).record.layout.resource_managers}

    def log(self, daemon: str) -> Path:
        return self._daemon(daemon).log

    def up(
        self,
        spec: LabSpec,
        *,
        watch: Watcher = _ignore,
        meanwhile: Meanwhile = _do_nothing,
        timeout_s: float = _BOOT_TIMEOUT_S,
    ) -> None:
        """Start the clusters of `spec` and wait until every node is usable.

        What an earlier lab left in the folder is removed. A failed start leaves no process, and keeps the logs.

        Args:
            meanwhile: What can be done as soon as all daemons have been started; processes of `attach` end with a
                start that fails.
            timeout_s: How long it may take once the jars are there.

        Raises:
            LabError: If a lab is running in the folder, a port is taken, Java or Maven is missing, a daemon ends while
                starting (with the last lines of its log), or time runs out.
        """
        claim_folder(self.folder)
        with exclusive(lock_of(self.folder)):
            self._refuse_if_running()
            self._end_processes()
            clear_folder(self.folder)
            java = JavaRuntime(find_java(), self.folder, spec.tuning)
            progress = BootProgress(watch, total=spec.daemons)
            jars = {version: ensure_jars(version, progress.say) for version in spec.versions}
            layouts = self._claim(spec, progress)
            try:
                if spec.realms:
                    write_keys(self.folder, layouts[0], spec, progress.say)
                write_lab(self.folder, self._front.at(front_host(layouts)), spec, layouts, jars)
                progress.say(f"starting {progress.total} daemons of {len(layouts)} clusters")
                for daemon in self._state().daemons:
                    if daemon.main_class == NAME_NODE:
                        self._format_files(daemon, java, progress)
                    self._start_process(daemon, java)
                self._wait_ready(progress, meanwhile, timeout_s=timeout_s)
                if spec.hdfs:
                    self._open_files(java, progress)
            except BaseException:
                self._end_processes()
                raise

    def is_running(self) -> bool:
        """Return whether there is a lab in the folder, all of whose daemons run."""
        state = read_state(self.folder)
        return state is not None and all(DaemonStatus.of(daemon).state == "running" for daemon in state.daemons)

    def attach(self, command: Sequence[str], *, log: Path) -> ProcessIdentity:
        """Start a process that ends with the lab, such as a Heddle in front of it.

        Raises:
            LabError: If it cannot be started.
        """
        return spawn(command, environment=os.environ | {MARKER: str(self.folder)}, log=log)

    def wait_ready(self, *, timeout_s: float = _BOOT_TIMEOUT_S) -> None:
        """Wait until every cluster has an active ResourceManager and all its nodes.

        Raises:
            LabError: If a daemon has ended, or time runs out.
        """
        self._wait_ready(BootProgress(_ignore, total=len(self._state().daemons)), _do_nothing, timeout_s=timeout_s)

    def down(self) -> int:
        """End every process of the lab, containers included; how many there were. Logs stay.

        Raises:
            LabError: If a process does not end.
        """
        if not lock_of(self.folder).exists():
            return 0
        with exclusive(lock_of(self.folder)):
            return self._end_processes()

    def pause(self, daemon: str) -> None:
        """Freeze a daemon (SIGSTOP): it keeps its connections and answers nothing."""
        self._signal(daemon, signal.SIGSTOP, until=lambda state: state == ProcessState.STOPPED)

    def resume(self, daemon: str) -> None:
        self._signal(daemon, signal.SIGCONT, until=lambda state: state != ProcessState.STOPPED)

    def kill(self, daemon: str) -> None:
        """Kill a daemon (SIGKILL), as a machine that loses power would."""
        self._signal(daemon, signal.SIGKILL, until=lambda state: state is None)

    def stop(self, daemon: str) -> None:
        """End a daemon as its administrator does (SIGTERM): a NodeManager unregisters itself."""
        self._signal(daemon, signal.SIGTERM, until=lambda state: state is None)

    def start(self, daemon: str) -> None:
        """Start a daemon again that was killed, with its old state; does not wait until it is ready.

        Raises:
            LabError: If it is running.
        """
        with exclusive(lock_of(self.folder)):
            record = self._daemon(daemon)
            if record.process is not None and state_of(record.process) is not None:
                raise LabError(f"{daemon} is running (pid {record.process.pid})")
            self._start_process(record, self._java())

    def wait_started(self, daemon: str, *, timeout_s: float = _BOOT_TIMEOUT_S) -> None:
        """Wait until a daemon that was started takes requests.

        Raises:
            LabError: If it has ended, or time runs out; with the last lines of its log.
        """
        await_daemon(self._daemon(daemon), timeout_s=timeout_s)

    def make_active(self, resource_manager: str) -> None:
        """Manual failover: make this ResourceManager of a pair the active one, the other the standby.

        Raises:
            LabError: If it is not one of a pair, or Hadoop refuses.
        """
        cluster = self.cluster(self._daemon(resource_manager).cluster)
        names = [layout.name for layout in cluster.record.layout.resource_managers]
        if resource_manager not in names or len(names) == 1:
            raise LabError(f"{resource_manager} has no standby: start the lab with --ha")
        for id_, name in enumerate(names, start=1):
            if name != resource_manager and DaemonStatus.of(self._daemon(name)).state == "running":
                self.administer(cluster, "-transitionToStandby", f"rm{id_}")
        # forced: without it Hadoop refuses when it cannot ask the other, which may be dead
        self.administer(cluster, "-transitionToActive", "--forceactive", f"rm{names.index(resource_manager) + 1}")

    def administer(self, cluster: Cluster, *arguments: str) -> None:
        """Run `yarn rmadmin` at a cluster, as who runs the lab.

        Raises:
            LabError: If Hadoop refuses.
        """
        java = self._java()
        command = java.command(RM_ADMIN, conf_dir=cluster.conf_dir, jars=cluster.jars)
        around = java.environment(conf_dir=cluster.conf_dir, options=java_options(self.folder, cluster.realm))
        ticket = administrator_ticket(self.kdc, cluster.realm) if cluster.realm else {}
        _run([*command, *arguments], around | ticket, f"rmadmin {' '.join(arguments)} of {cluster.id}")

    @property
    def file_system(self) -> str:
        """URI of the file system that clusters and clients share."""
        return uri(self._state().clusters[0].layout.file_servers)

    def _format_files(self, name_node: DaemonRecord, java: JavaRuntime, progress: BootProgress) -> None:
        progress.say("formatting HDFS")
        ensure_servers(progress.say)
        if self._state().spec.realms:
            write_certificate(self.folder / HDFS, java.java, self._state().clusters[0].layout.file_servers)
        command, environment = self._launch(name_node, java)
        _run([*command, "-format", "-nonInteractive"], environment, "formatting HDFS")

    def _open_files(self, java: JavaRuntime, progress: BootProgress) -> None:
        """Wait until HDFS takes files, and let everybody have folders."""
        name_node = next(daemon for daemon in self._state().daemons if daemon.main_class == NAME_NODE)
        ticket = files_ticket(self.kdc) if self._state().spec.realms else {}
        command, environment = self._launch(replace(name_node, main_class=FS_SHELL), java)
        told: list[str] = []

        def opened() -> bool:
            try:
                _run([*command, *_OPEN], environment | ticket, "opening HDFS")
            except LabError as exc:
                told[:] = [str(exc)]
                return False
            return True

        if not wait_until(opened, timeout_s=_FILES_TIMEOUT_S, poll_s=1.0):
            raise LabError(f"HDFS does not open: {told[0]}")
        progress.step(f"{self.file_system} takes files", len(self._state().clusters[0].layout.file_servers))

    def _state(self) -> LabState:
        state = read_state(self.folder)
        if state is None:
            raise NotInLabError(f"no lab in {self.folder}: start one with `heddle lab up`")
        return state

    def _daemon(self, name: str) -> DaemonRecord:
        daemons = {daemon.name: daemon for daemon in self._state().daemons}
        if name not in daemons:
            raise NotInLabError(f"no daemon {name!r} in this lab; it has {', '.join(daemons)}")
        return daemons[name]

    def _refuse_if_running(self) -> None:
        state = read_state(self.folder)
        alive = [] if state is None else [d.name for d in state.daemons if d.process and state_of(d.process)]
        if alive:
            raise LabError(f"a lab is running in {self.folder} ({', '.join(alive)}): end it, or name another --dir")

    def _java(self) -> JavaRuntime:
        return JavaRuntime(find_java(), self.folder, self._state().tuning)

    def _start_process(self, daemon: DaemonRecord, java: JavaRuntime) -> None:
        state = self._state()
        command, environment = self._launch(daemon, java)
        command = on_host(daemon.web, daemon.name, hosts_of(self.folder), command)
        process = spawn(command, environment=environment, log=daemon.log)
        daemons = tuple(replace(d, process=process) if d.name == daemon.name else d for d in state.daemons)
        write_state(self.folder, replace(state, daemons=daemons))
        if daemon.main_class == KEY_CENTRE and not wait_until(lambda: listens(daemon.web), timeout_s=_STOP_TIMEOUT_S):
            raise LabError(f"the KDC does not start. Last lines of {daemon.log}:\n{tail(daemon.log, LOG_LINES)}")

    def _launch(self, daemon: DaemonRecord, java: JavaRuntime) -> tuple[list[str], dict[str, str]]:
        """Command and environment of a daemon."""
        if daemon.main_class == KEY_CENTRE:
            return self.kdc.command, self.kdc.environment | {MARKER: str(self.folder)}
        cluster = self.cluster(daemon.cluster)
        of_files = daemon.main_class in {NAME_NODE, DATA_NODE, FS_SHELL}
        jars = cache_folder() / DEFAULT_VERSION if of_files else cluster.jars
        more = servers_folder() if of_files else None
        command = java.command(daemon.main_class, conf_dir=daemon.conf_dir, jars=jars, more=more)
        return command, java.environment(conf_dir=daemon.conf_dir, options=java_options(self.folder, cluster.realm))

    def _signal(self, daemon: str, signal_: signal.Signals, *, until: Callable[[str | None], bool]) -> None:
        process = self._daemon(daemon).process
        if process is None or not send(process, signal_):
            raise LabError(f"{daemon} is not running: start it with `heddle lab start {daemon}`")
        if not wait_until(lambda: until(state_of(process)), timeout_s=_STOP_TIMEOUT_S):
            raise LabError(f"{daemon} (pid {process.pid}) does not react to {signal_.name}")

    def _end_processes(self) -> int:
        ended = terminate_all(self.folder, timeout_s=_STOP_TIMEOUT_S)
        (self.folder / STATE_FILE).unlink(missing_ok=True)
        release_slot(self.folder, _slots(), HostNetworks())
        return ended

    def _claim(self, spec: LabSpec, progress: BootProgress) -> tuple[ClusterLayout, ...]:
        """Addresses of the daemons, on hosts of their own if that is asked for and can be had."""
        if spec.hosts is not HostKind.LOOPBACK:
            try:
                return claim_slot(spec, self.folder, _slots(), HostNetworks())
            except HostsMissingError as exc:
                if spec.hosts is HostKind.OWN:
                    raise
                progress.say(f"all daemons are on one host, as far as Hadoop can see: {exc}")
        return claim_slot(spec, self.folder, _slots())

    def _wait_ready(self, progress: BootProgress, meanwhile: Meanwhile, *, timeout_s: float) -> None:
        def activate(cluster: Cluster) -> None:
            self.administer(cluster, "-transitionToActive", "rm1")

        BootWatch(self.clusters, self._state().daemons, progress, activate).wait(meanwhile, timeout_s=timeout_s)
