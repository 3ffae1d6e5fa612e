"""Clusters as processes of this machine, by `heddle lab` in processes of its own: ready within seconds."""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import heddle
from heddle.testing.federation import (
    HEDDLE,
    Cluster,
    Federation,
    FederationError,
    MissingProgramError,
    Program,
    Settings,
    patiently,
    set_properties,
)

__all__ = ["LocalFederation", "state_folder"]

_MARKER = "HEDDLE_LAB"
"""What `heddle lab down` knows the processes of a lab by."""
_BOOT_S = 900.0
_CALL_S = 120.0
_LACKING = ("no java in", "Maven is needed")
_FILES = re.compile(r"hdfs://[^<\s]+")
_PORTS = ("--rest", "--client-rpc", "--scheduler-rpc", "--admin-rpc", "--proxy")


def state_folder() -> Path:
    """Where labs of tests lie: `$XDG_STATE_HOME/heddle/testing`, else `~/.local/state/heddle/testing`."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "heddle" / "testing"


class LocalFederation(Federation):
    """A lab with Heddle in front, in processes that end with it.

    Args:
        settings: What it consists of.
        user: Who submits; nodes run containers as whoever runs the tests.
        hosts: `own`: a host for each daemon, which takes root on Linux, and which alone has `partition`; `loopback`:
            all on one; `auto`: the first where this machine can.
        reuse: Keep it running at the end, and take it when the next one of the same settings is wanted.
        name: Tells it from others of the same settings, such as that of another worker of xdist.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        user: str = "",
        hosts: str = "auto",
        reuse: bool = False,
        name: str = "",
    ) -> None:
        super().__init__(settings, user=user)
        self._hosts = hosts
        self.reuse = reuse
        self._name = name
        self._lock: IO[str] | None = None
        self._heddle: int | None = None
        self._where: dict[str, Any] = {}

    @property
    def folder(self) -> Path:
        """Everything of it.

        Raises:
            FederationError: If it has not been started.
        """
        if self._lock is None:
            raise FederationError("the federation has not been started: use it as a context manager")
        return Path(self._lock.name).with_suffix("")

    def start_up(self) -> None:
        """See `Federation.start_up`."""
        _sweep()
        self._lock = self._claim()
        try:
            if not (self.reuse and self._is_running()):
                self._start_anew()
            self._look_up()
            self.wait_ready(timeout_s=_BOOT_S)
        except BaseException:
            self.reuse = False
            self._end()
            raise

    def _claim(self) -> IO[str]:
        """The lock of a folder that nobody has, held until this process ends."""
        what = (self.settings, self._hosts, self._name, self.user, heddle.__path__[0])
        key = hashlib.sha256(repr(what).encode()).hexdigest()[:10] if self.reuse else f"once-{uuid.uuid4().hex[:10]}"
        state_folder().mkdir(parents=True, exist_ok=True)
        number = 0
        while True:  # whoever holds one of these is another run of the same tests
            number += 1
            if (lock := _try_lock(state_folder() / f"{key}-{number}.lock")) is not None:
                return lock

    def _is_running(self) -> bool:
        """Whether all of it runs, as an earlier one has left it."""
        pid = self.folder / "heddle.pid"
        try:
            rows = json.loads(self.lab("status", "-o", "json"))
            self._heddle = int(pid.read_text())
        except (FederationError, ValueError, OSError):
            return False
        return bool(rows) and all(row["state"] == "running" for row in rows) and self._heddle_runs()

    def _start_anew(self) -> None:
        if (self.folder / "lab").exists():
            self.lab("down")
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "shared" / "staging").mkdir(parents=True)
        ports = [word for option, port in zip(_PORTS, _free_ports(len(_PORTS)), strict=True) for word in (option, port)]
        of = self.settings
        wanted = ["--clusters", str(of.clusters), "--nodes", str(of.nodes), "--hadoop", of.version]
        wanted += ["--hdfs"] if of.hdfs else []
        self.lab("up", *wanted, "--hosts", self._hosts, *ports, timeout_s=_BOOT_S)
        toml = Path(json.loads(self.lab("where"))["heddleToml"])
        toml.write_text(f"{toml.read_text('utf-8')}\n{of.toml}\n", "utf-8")
        self._start_heddle(toml)

    def _look_up(self) -> None:
        """Take addresses and folders from the lab."""
        found = self._where = json.loads(self.lab("where"))
        rows = json.loads(self.lab("status", "-o", "json"))
        self.url = f"http://{found['heddle']['rest']}"
        self.shared = self.folder / "shared"
        self._java = found["java"]
        self.node_address = "" if found["hasHosts"] else "127.0.0.1"
        self.clusters = {
            id_: Cluster(
                id=id_,
                version=each["version"],
                url=each["web"],
                daemons=tuple(row["name"] for row in rows if row["cluster"] == id_),
                conf=Path(each["conf"]),
            )
            for id_, each in found["clusters"].items()
        }
        self.jars = Path(next(iter(found["clusters"].values()))["jars"])
        self.client_conf = self.folder / "client"
        if not self.client_conf.exists():
            shutil.copytree(found["clientConf"], self.client_conf)
            # jobs leave their jars there, and every node reads them
            staging = {"yarn.app.mapreduce.am.staging-dir": f"{self.shared}/staging"}
            if not self.settings.hdfs:
                set_properties(self.client_conf / "mapred-site.xml", staging)
        if self.settings.hdfs:
            (self.files,) = {*_FILES.findall((self.client_conf / "core-site.xml").read_text("utf-8"))}

    def _end(self) -> None:
        if self._lock is None or self._lock.closed:
            return
        if not self.reuse:
            if self._heddle is not None and self._heddle_runs():
                os.kill(self._heddle, signal.SIGTERM)
                patiently(self._heddle_runs, lambda runs: not runs, 15.0, calm=OSError)
            _remove(self.folder)
        self._lock.close()

    # ---- programs

    def _launch(self, command: Sequence[str], environment: Mapping[str, str], printed: Path) -> Program:
        variables = os.environ | {"HADOOP_USER_NAME": self.user, _MARKER: str(self.folder / "lab")} | dict(environment)
        return _LocalProgram(command, variables, printed)

    def lab(self, verb: str, *arguments: str, timeout_s: float = _CALL_S) -> str:
        """What `heddle lab VERB` prints.

        Raises:
            MissingProgramError: If it says that this machine lacks something.
            FederationError: If it fails otherwise.
        """
        command = [sys.executable, heddle.__path__[0], "lab", verb, *arguments, "--dir", str(self.folder / "lab")]
        try:
            done = subprocess.run(  # noqa: S603 - Heddle's own command
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s, check=False
            )
        except subprocess.TimeoutExpired as exc:
            raise FederationError(f"heddle lab {verb} takes longer than {timeout_s:.0f} s") from exc
        if done.returncode == 0:
            return done.stdout
        kind = MissingProgramError if any(word in done.stderr for word in _LACKING) else FederationError
        raise kind(f"heddle lab {verb} failed: {done.stderr.strip()}")

    # ---- Heddle itself

    def _start_heddle(self, toml: Path) -> None:
        command = [sys.executable, heddle.__path__[0], "serve", "-c", str(toml)]
        with (self.folder / "heddle.log").open("ab") as log:
            started = subprocess.Popen(  # noqa: S603 - Heddle's own command
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | {_MARKER: str(self.folder / "lab")},
                start_new_session=True,
            )
        self._heddle = started.pid
        started.returncode = 0  # it may outlive us: nobody shall warn of that
        (self.folder / "heddle.pid").write_text(str(started.pid))

    def _heddle_runs(self) -> bool:
        with contextlib.suppress(OSError):
            os.waitpid(self._heddle or 0, os.WNOHANG)  # if it is our child and has ended
        try:
            words = Path(f"/proc/{self._heddle}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
        return str(self.folder / "lab" / "heddle.toml").encode() in words

    def _signal_heddle(self, what: signal.Signals) -> None:
        if self._heddle is None or not self._heddle_runs():
            raise FederationError(f"Heddle has ended:\n{self.daemon_log(HEDDLE)[-2000:]}")
        os.kill(self._heddle, what)

    # ---- faults

    def _kill(self, daemon: str) -> None:
        if daemon == HEDDLE:
            self._signal_heddle(signal.SIGKILL)
            patiently(self._heddle_runs, lambda runs: not runs, _CALL_S, calm=OSError)
        else:
            self.lab("kill", daemon)

    def _start(self, daemon: str) -> None:
        if daemon == HEDDLE:
            self._start_heddle(Path(self._where["heddleToml"]))
        else:
            self.lab("start", daemon)

    def _pause(self, daemon: str) -> None:
        if daemon == HEDDLE:
            self._signal_heddle(signal.SIGSTOP)
        else:
            self.lab("pause", daemon)

    def _resume(self, daemon: str) -> None:
        if daemon == HEDDLE:
            self._signal_heddle(signal.SIGCONT)
        else:
            self.lab("resume", daemon)

    def _cut(self, daemon: str) -> None:
        self._set_link(daemon, "down")

    def _join(self, daemon: str) -> None:
        self._set_link(daemon, "up")

    def _set_link(self, daemon: str, state: str) -> None:
        if daemon == HEDDLE or not self._where["hasHosts"]:
            raise FederationError(
                f"{daemon} has no host of its own: take hosts='own' (as root on Linux) and a daemon of a cluster, or"
                " yarn_containers"
            )
        rows = json.loads(self.lab("status", "-o", "json"))
        host = next(row["web"] for row in rows if row["name"] == daemon).partition(":")[0]
        command = ["ip", "-n", f"heddle-{host}", "link", "set", "eth0", state]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - a fixed program
        if done.returncode != 0:
            raise FederationError(f"{' '.join(command)}: {done.stderr.strip()}")

    # ---- what was said

    def daemon_log(self, daemon: str) -> str:
        """See `Federation.daemon_log`."""
        if daemon == HEDDLE:
            log = self.folder / "heddle.log"
        else:
            cluster = next(each for each in self.clusters.values() if daemon in each.daemons)
            log = self.folder / "lab" / cluster.id / daemon / "daemon.log"
        return log.read_text("utf-8", "replace") if log.exists() else ""

    def _container_logs(self, application: str) -> Iterator[tuple[str, str]]:
        lab = self.folder / "lab"
        for file in lab.glob(f"*/*/containers/{application}/container_*/*"):
            if file.is_file():
                where = file.relative_to(lab)
                yield f"{where.parts[1]} {where.parts[-2]} {where.name}", file.read_text("utf-8", "replace")


class _LocalProgram(Program):
    """A process of this machine."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], printed: Path) -> None:
        super().__init__(printed)
        try:
            with printed.open("wb") as file:
                self._process = subprocess.Popen(  # noqa: S603 - the test's own command
                    list(command), env=dict(environment), stdin=subprocess.DEVNULL, stdout=file, stderr=file
                )
        except OSError as exc:
            raise MissingProgramError(f"{command[0]} cannot be started: {exc.strerror}") from exc

    def exit_code(self) -> int | None:
        return self._process.poll()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def _try_lock(file: Path) -> IO[str] | None:
    """The open file, locked for this process; None if another one has it."""
    opened = file.open("a")
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        opened.close()
        return None
    return opened


def _sweep() -> None:
    """End what tests have left that were killed."""
    for file in sorted(state_folder().glob("once-*.lock")):
        if (lock := _try_lock(file)) is not None:
            with lock, contextlib.suppress(FederationError):
                _remove(file.with_suffix(""))


def _remove(folder: Path) -> None:
    """End the lab in a folder, and take the folder and its lock away.

    Raises:
        FederationError: If processes of it do not end.
    """
    if (folder / "lab").exists():
        command = [sys.executable, heddle.__path__[0], "lab", "down", "--dir", str(folder / "lab")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_CALL_S, check=False)  # noqa: S603
        if done.returncode != 0:
            raise FederationError(f"heddle lab down failed: {done.stderr.strip()}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.with_suffix(".lock").unlink(missing_ok=True)


def _free_ports(count: int) -> list[str]:
    """Ports of which none was taken a moment ago, as `heddle lab up` takes them."""
    with contextlib.ExitStack() as opened:
        sockets = [opened.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [f":{each.getsockname()[1]}" for each in sockets]
