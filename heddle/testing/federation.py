"""A federation of real YARN clusters with Heddle in front, wherever it runs: what tests do with one."""

import getpass
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar
from xml.sax.saxutils import escape

import httpx

from heddle.client import Client, User

__all__ = [
    "JAVA_OPENS",
    "Application",
    "Cluster",
    "Federation",
    "FederationError",
    "MissingProgramError",
    "Program",
    "Settings",
    "patiently",
    "set_properties",
]

HEDDLE = "heddle"
"""Name of Heddle among the daemons."""

JAVA_OPENS = tuple(
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in (
        "java.lang",
        "java.lang.invoke",
        "java.lang.reflect",
        "java.io",
        "java.net",
        "java.nio",
        "java.util",
        "java.util.concurrent",
        "java.util.concurrent.atomic",
        "sun.nio.ch",
        "sun.nio.cs",
        "sun.security.action",
        "sun.util.calendar",
    )
)
"""What Hadoop, Spark and Tez reflect into of Java 17."""

_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true", *JAVA_OPENS)
_FINAL = frozenset({"FINISHED", "FAILED", "KILLED"})
_APPS = "/ws/v1/cluster/apps"
_ID = re.compile(r"application_\d+_\d{4,}")
_CALL_S = 60.0
_POLL_S = 0.2
_SHOWN_LINES = 40

Seen = TypeVar("Seen")


class FederationError(RuntimeError):
    """What a test wants of a federation is not so; the message says what was seen."""


class MissingProgramError(FederationError):
    """This machine lacks Java, Docker or another program; the message says how it is installed."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a federation consists of.

    Attributes:
        clusters: How many: east, west, north, south, ...
        nodes: NodeManagers of each cluster.
        version: Of Hadoop, or `CLUSTER=VERSION,...` for each cluster its own.
        toml: Further text of Heddle's configuration, such as a table `[queues]`; it goes after the rest.
        folders: Folders of this machine that clients and containers shall see under the same path, such as one with
            Spark's jars.
        hdfs: Whether all clusters share an HDFS, which is the file system of clients then; else that is this machine's.
    """

    clusters: int = 2
    nodes: int = 1
    version: str = "3.4.2"
    toml: str = ""
    folders: tuple[Path, ...] = ()
    hdfs: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be started.

        Raises:
            FederationError: If there is no cluster, or a cluster without nodes.
        """
        if self.clusters < 1 or self.nodes < 1:
            raise FederationError(f"a federation has 1 cluster and 1 node or more: {self}")


@dataclass(frozen=True, slots=True)
class Cluster:
    """One cluster.

    Attributes:
        id: `east`, `west`, ...
        version: Of Hadoop.
        url: Of its ResourceManager's web services, from this machine.
        daemons: Names of its daemons: `east-rm`, `east-nm1`.
        conf: Hadoop configuration folder for clients of this cluster alone.
    """

    id: str
    version: str
    url: str
    daemons: tuple[str, ...]
    conf: Path


class Program(ABC):
    """A client's program that was started; what it prints goes to a file of this machine."""

    def __init__(self, printed: Path) -> None:
        self._printed = printed

    @abstractmethod
    def exit_code(self) -> int | None:
        """How it has ended; None while it runs."""

    @abstractmethod
    def kill(self) -> None:
        """End it, if it runs."""

    def output(self) -> str:
        """What it has printed on both streams."""
        return self._printed.read_text("utf-8", "replace") if self._printed.exists() else ""


class Application:
    """An application that was submitted through Heddle.

    Attributes:
        id: As everywhere in YARN.
        program: The client's program that submitted it; None if a document did.
    """

    def __init__(self, federation: "Federation", id_: str, program: Program | None = None) -> None:
        self._federation = federation
        self.id = id_
        self.program = program

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"

    def report(self) -> dict[str, Any]:
        """What Heddle tells of it, as a ResourceManager does: `state`, `finalStatus`, `diagnostics`, ..."""
        found: dict[str, Any] = self._federation.get(f"{_APPS}/{self.id}")["app"]
        return found

    @property
    def state(self) -> str:
        """`ACCEPTED`, `RUNNING`, `FINISHED`, `FAILED`, `KILLED`, ..."""
        return str(self.report()["state"])

    @property
    def cluster(self) -> str:
        """The cluster that it runs on; empty while it has none."""
        return str(self._federation.get(f"/heddle/v1/apps/{self.id}")["app"].get("cluster") or "")

    def why(self) -> str:
        """Why it is where it is, or why it waits, in a sentence of Heddle's."""
        return str(self._federation.get(f"/heddle/v1/apps/{self.id}/why")["reason"])

    def wait(self, *, status: str = "SUCCEEDED", timeout_s: float = 600.0) -> "Application":
        """Wait for its end, and for its client's; see `Federation.wait`."""
        return self._federation.wait(self, status=status, timeout_s=timeout_s)

    def logs(self) -> str:
        """What its containers have printed; see `Federation.logs`."""
        return self._federation.logs(self)

    def kill(self) -> None:
        """Ask for its end."""
        self._federation.put(f"{_APPS}/{self.id}/state", {"state": "KILLED"})


class Federation(ABC):
    """Clusters with Heddle in front; a context manager that starts and ends them.

    Args:
        settings: What it consists of.
        user: Who submits.

    Attributes:
        settings: As above.
        user: As above.
        url: Heddle's web services, from this machine.
        clusters: By id.
        shared: A folder that this machine, clients and every container see under the same path.
        client_conf: Hadoop configuration folder of clients that know only Heddle, where clients run.
        jars: Hadoop's jars, where clients run.
        node_address: The one that all nodes share; empty where each has its own.
        files: The file system of clients: `hdfs://...`, or `file:///`.
        file_servers: Names of HDFS's daemons, for faults; none without HDFS, or where it has none.
    """

    url: str
    clusters: Mapping[str, Cluster]
    shared: Path
    client_conf: Path
    jars: Path
    node_address: str = ""
    files: str = "file:///"
    file_servers: tuple[str, ...] = ()

    def __init__(self, settings: Settings | None = None, *, user: str = "") -> None:
        self.settings = settings or Settings()
        self.user = user or getpass.getuser()
        self._java = "java"
        self._http: httpx.Client | None = None
        self._programs: list[Program] = []
        self._undo: dict[tuple[str, str], Callable[[], None]] = {}

    def __enter__(self) -> Self:
        self.start_up()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---- what a kind of federation does in its own way

    @abstractmethod
    def start_up(self) -> None:
        """Start everything, and wait until every node is usable.

        Raises:
            MissingProgramError: If this machine lacks what it takes.
            FederationError: If something does not start; with the end of what it said.
        """

    @abstractmethod
    def _end(self) -> None:
        """End everything."""

    def java(
        self,
        main_class: str,
        *arguments: str,
        class_path: Sequence[str | Path] = (),
        hadoop: bool = True,
        memory_mib: int = 256,
    ) -> list[str]:
        """The command line of a Java program with the clients' configuration, for `submit` and `run`.

        Args:
            main_class: Such as `org.apache.hadoop.util.RunJar`, which is `hadoop jar`.
            arguments: Its own.
            class_path: What goes before Hadoop's jars.
            hadoop: Whether Hadoop's jars are there.
            memory_mib: The most that its heap takes.
        """
        path = ":".join((*map(str, class_path), *([f"{self.jars}/*"] if hadoop else []), str(self.client_conf)))
        return [self._java, f"-Xmx{memory_mib}m", *_JVM, "-cp", path, main_class, *arguments]

    @abstractmethod
    def _launch(self, command: Sequence[str], environment: Mapping[str, str], printed: Path) -> Program:
        """Start a client's program; what it prints goes to a file."""

    @abstractmethod
    def _kill(self, daemon: str) -> None:
        """Kill a daemon, as a machine that loses power would."""

    @abstractmethod
    def _start(self, daemon: str) -> None:
        """Start a daemon that was killed, with its old state."""

    @abstractmethod
    def _pause(self, daemon: str) -> None:
        """Freeze a daemon: it keeps its connections and answers nothing."""

    @abstractmethod
    def _resume(self, daemon: str) -> None:
        """Let a frozen daemon go on."""

    @abstractmethod
    def _cut(self, daemon: str) -> None:
        """Take a daemon from the network."""

    @abstractmethod
    def _join(self, daemon: str) -> None:
        """Give it back to the network."""

    @abstractmethod
    def daemon_log(self, daemon: str) -> str:
        """What a daemon has logged."""

    @abstractmethod
    def _container_logs(self, application: str) -> Iterator[tuple[str, str]]:
        """Each file that containers of an application have written: where, and its text."""

    # ---- REST

    @property
    def http(self) -> httpx.Client:
        """Calls to Heddle in the user's name; paths are relative to `url`."""
        if self._http is None or str(self._http.base_url).rstrip("/") != self.url:
            if self._http is not None:
                self._http.close()
            claim = {"user.name": self.user}
            self._http = httpx.Client(base_url=self.url, params=claim, timeout=_CALL_S, trust_env=False)
        return self._http

    def client(self) -> Client:
        """A typed client of Heddle in the user's name; whoever asks for it closes it."""
        return Client(self.url, auth=User(self.user))

    def get(self, path: str) -> Any:
        """A document of Heddle's, as JSON.

        Raises:
            FederationError: If it refuses, or does not answer.
        """
        return self._call("GET", path, None)

    def post(self, path: str, document: Any = None) -> Any:
        """Send a document; raises as `get`."""
        return self._call("POST", path, document)

    def put(self, path: str, document: Any) -> Any:
        """Send a document; raises as `get`."""
        return self._call("PUT", path, document)

    def _call(self, method: str, path: str, document: Any) -> Any:
        try:
            answer = self.http.request(method, path, json=document, headers={"Accept": "application/json"})
        except httpx.TransportError as exc:
            raise FederationError(f"Heddle does not answer {method} {path}: {exc!r}") from exc
        if answer.is_error:
            raise FederationError(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer.json() if answer.content else None

    # ---- work

    @property
    def examples(self) -> Path:
        """The jar of Hadoop's examples, where clients run; only the default version of Hadoop has it."""
        return self.jars / f"hadoop-mapreduce-examples-{next(iter(self.clusters.values())).version}.jar"

    @property
    def daemons(self) -> tuple[str, ...]:
        """Names of all daemons, Heddle's first."""
        of_clusters = (name for cluster in self.clusters.values() for name in cluster.daemons)
        return (HEDDLE, *of_clusters, *self.file_servers)

    def submit(
        self,
        work: Sequence[str] | Mapping[str, Any],
        *,
        environment: Mapping[str, str] | None = None,
        timeout_s: float = 300.0,
    ) -> Application:
        """Submit work through Heddle.

        Args:
            work: The command line of a client's program (`spark-submit`, `java`), which is started with
                `HADOOP_CONF_DIR` set and goes on beside the test; or an application's submission context as the
                REST interface of a ResourceManager takes it, to which the id is added.
            environment: Further variables of the program.
            timeout_s: For the program to tell the id of an application.

        Raises:
            FederationError: If the program ends, or time does, before it has submitted anything; or Heddle refuses.
        """
        if isinstance(work, Mapping):
            id_ = str(self.post(f"{_APPS}/new-application")["application-id"])
            self.post(_APPS, {**work, "application-id": id_})
            return Application(self, id_)
        program = self._begin(work, environment)
        ends_at = time.monotonic() + timeout_s
        while True:
            code = program.exit_code()  # before what it has printed: the last words count
            if found := _ID.search(program.output()):
                return Application(self, found[0], program)
            if code is not None or time.monotonic() > ends_at:
                program.kill()
                how = f"ended with {code}" if code is not None else f"was ended after {timeout_s:.0f} s"
                raise FederationError(f"{work[0]} {how} and has submitted nothing:\n{_end_of(program.output())}")
            time.sleep(_POLL_S)

    def run(
        self, command: Sequence[str], *, environment: Mapping[str, str] | None = None, timeout_s: float = 600.0
    ) -> str:
        """What a client's program has printed, once it has ended well; started as `submit` does.

        Raises:
            FederationError: If it ends badly, or not in time.
        """
        program = self._begin(command, environment)
        self._let_end(program, time.monotonic() + timeout_s, command[0])
        if (code := program.exit_code()) != 0:
            raise FederationError(f"{command[0]} ended with {code}:\n{_end_of(program.output())}")
        return program.output()

    def _begin(self, command: Sequence[str], environment: Mapping[str, str] | None) -> Program:
        conf = {"HADOOP_CONF_DIR": str(self.client_conf), "YARN_CONF_DIR": str(self.client_conf)}
        folder = self.shared / "clients"
        folder.mkdir(exist_ok=True)
        printed = folder / f"{len(self._programs) + 1}.log"
        printed.unlink(missing_ok=True)
        program = self._launch(command, conf | dict(environment or {}), printed)
        self._programs.append(program)
        return program

    @staticmethod
    def _let_end(program: Program, ends_at: float, what: str) -> None:
        while program.exit_code() is None:
            if time.monotonic() > ends_at:
                program.kill()
                raise FederationError(f"{what} has not ended in time:\n{_end_of(program.output())}")
            time.sleep(_POLL_S)

    def wait(
        self, application: Application | str, *, status: str = "SUCCEEDED", timeout_s: float = 600.0
    ) -> Application:
        """Wait for the end of an application, and of the program that submitted it.

        Args:
            application: It, or its id.
            status: The final status that it shall have; empty for any.
            timeout_s: For all of it.

        Raises:
            FederationError: If it ends otherwise, or not in time; with its diagnostics, or why it waits.
        """
        of = application if isinstance(application, Application) else Application(self, application)
        ends_at = time.monotonic() + timeout_s
        report = patiently(of.report, lambda told: told["state"] in _FINAL, timeout_s, calm=FederationError)
        if report is None or report["state"] not in _FINAL:
            state = "not known" if report is None else report["state"]
            raise FederationError(f"{of.id} is {state} after {timeout_s:.0f} s: {self._reason(of)}")
        if status and report["finalStatus"] != status:
            told = report.get("diagnostics", "").strip()
            raise FederationError(f"{of.id} ended {report['finalStatus']}, not {status}: {told}")
        if of.program is not None:
            self._let_end(of.program, ends_at + _CALL_S, f"the client of {of.id}")
        return of

    @staticmethod
    def _reason(application: Application) -> str:
        try:
            return application.why()
        except FederationError as exc:
            return str(exc)

    def logs(self, application: Application | str) -> str:
        """What the containers of an application have printed, file by file, each under a line that names it."""
        id_ = application.id if isinstance(application, Application) else application
        found = sorted(self._container_logs(id_))
        return "".join(f"==> {where}\n{text.rstrip()}\n" for where, text in found if text.strip())

    # ---- faults

    @property
    def faults(self) -> tuple[str, ...]:
        """What is amiss on purpose, such as `east-rm is killed`."""
        return tuple(f"{daemon} is {what}" for what, daemon in self._undo)

    def kill(self, daemon: str) -> None:
        """Kill a daemon, as a machine that loses power would; `start` brings it back.

        Raises:
            FederationError: If there is none of that name.
        """
        self._inflict("killed", daemon, self._kill, self._start)

    def start(self, daemon: str) -> None:
        """Start a daemon that was killed, with its old state."""
        self._repair("killed", daemon)

    def pause(self, daemon: str) -> None:
        """Freeze a daemon: it keeps its connections and answers nothing; raises as `kill`."""
        self._inflict("paused", daemon, self._pause, self._resume)

    def resume(self, daemon: str) -> None:
        """Let a frozen daemon go on."""
        self._repair("paused", daemon)

    def partition(self, daemon: str) -> None:
        """Take a daemon from the network: nothing comes to it or from it; raises as `kill`.

        Raises:
            FederationError: Also if the daemon has no host of its own.
        """
        self._inflict("partitioned", daemon, self._cut, self._join)

    def reunite(self, daemon: str) -> None:
        """Give a daemon back to the network."""
        self._repair("partitioned", daemon)

    @contextmanager
    def without(self, daemon: str) -> Iterator[None]:
        """A daemon is killed for the length of a block."""
        self.kill(daemon)
        try:
            yield
        finally:
            self.start(daemon)

    def heal(self, *, timeout_s: float = 300.0) -> None:
        """Undo all faults, and wait until every node is usable; the plugin does it after each test.

        Raises:
            FederationError: If something does not come back.
        """
        for _, daemon in list(self._undo):
            for what in ("partitioned", "paused", "killed"):
                if (what, daemon) in self._undo:
                    self._repair(what, daemon)
        self.wait_ready(timeout_s=timeout_s)

    def _inflict(self, what: str, daemon: str, do: Callable[[str], None], undo: Callable[[str], None]) -> None:
        if daemon not in self.daemons:
            raise FederationError(f"no daemon {daemon}: there are {', '.join(self.daemons)}")
        if (what, daemon) in self._undo:
            raise FederationError(f"{daemon} is {what} already")
        do(daemon)
        self._undo[what, daemon] = lambda: undo(daemon)

    def _repair(self, what: str, daemon: str) -> None:
        if (what, daemon) not in self._undo:
            raise FederationError(f"{daemon} is not {what}; amiss are: {', '.join(self.faults) or 'none'}")
        self._undo.pop((what, daemon))()

    # ---- readiness, and what was said

    def wait_ready(self, *, timeout_s: float = 300.0) -> None:
        """Wait until Heddle sees every cluster, and of each all nodes with their capacity.

        Raises:
            FederationError: If that takes longer; with what is missing.
        """
        wanted = dict.fromkeys(self.clusters, "RUNNING")
        nodes = sum(sum("-nm" in name for name in cluster.daemons) for cluster in self.clusters.values())

        def look() -> tuple[dict[str, str], int]:
            states = {row["id"]: row["state"] for row in self.get("/heddle/v1/clusters")["clusters"]}
            rows = (self.get("/ws/v1/cluster/nodes")["nodes"] or {}).get("node", [])
            usable = [row for row in rows if row["state"] == "RUNNING" and row["availMemoryMB"] + row["usedMemoryMB"]]
            # Heddle may not have heard yet what a fault has done: the clusters themselves know
            return states, min(len(usable), sum(self._active_nodes(cluster) for cluster in self.clusters.values()))

        found = patiently(look, lambda told: told == (wanted, nodes), timeout_s, calm=FederationError)
        if found != (wanted, nodes):
            said = f"clusters {found[0]}, {found[1]} of {nodes} nodes" if found else "Heddle does not answer"
            raise FederationError(f"not ready after {timeout_s:.0f} s: {said}\n{self.account()}")

    def _active_nodes(self, cluster: Cluster) -> int:
        """How many nodes a ResourceManager itself counts.

        Raises:
            FederationError: If it does not answer.
        """
        try:
            answer = httpx.get(f"{cluster.url}/ws/v1/cluster/metrics", timeout=_CALL_S, trust_env=False)
            return int(answer.raise_for_status().json()["clusterMetrics"]["activeNodes"])
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as exc:
            raise FederationError(f"{cluster.id} does not answer: {exc!r}") from exc

    def account(self, lines: int = _SHOWN_LINES) -> str:
        """The end of what each daemon has said: for whoever looks into a failure."""
        parts = [f"amiss: {', '.join(self.faults)}\n"] if self.faults else []
        parts += [f"==> {daemon}\n{_end_of(self.daemon_log(daemon), lines)}\n" for daemon in self.daemons]
        return "".join(parts)

    def close(self) -> None:
        """End clients and clusters."""
        for program in self._programs:
            program.kill()
        if self._http is not None:
            self._http.close()
            self._http = None
        self._undo.clear()
        self._end()


def patiently(
    look: Callable[[], Seen],
    is_well: Callable[[Seen], bool],
    timeout_s: float,
    *,
    calm: type[Exception],
    poll_s: float = _POLL_S,
) -> Seen | None:
    """Look until all is well, or time is up; what was seen last, None if nothing was.

    Args:
        look: What is looked at.
        is_well: Whether that will do.
        timeout_s: How long at most.
        calm: Errors that count as nothing seen.
        poll_s: Between two looks.
    """
    ends_at = time.monotonic() + timeout_s
    seen = None
    while True:
        try:
            seen = look()
        except calm:
            pass
        else:
            if is_well(seen):
                return seen
        if time.monotonic() > ends_at:
            return seen
        time.sleep(poll_s)


def set_properties(file: Path, properties: Mapping[str, str]) -> None:
    """Put properties into a file of Hadoop's, after those that it has; a new file, if there is none."""
    text = file.read_text("utf-8") if file.exists() else "<configuration>\n</configuration>\n"
    rows = "".join(
        f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
        for name, value in properties.items()
    )
    file.write_text(text.replace("</configuration>", f"{rows}</configuration>"), "utf-8")


def _end_of(text: str, lines: int = _SHOWN_LINES) -> str:
    return "\n".join(text.splitlines()[-lines:])
