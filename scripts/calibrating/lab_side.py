"""Jobs of a calibration on real clusters: real ApplicationMasters, whose programs share one JVM, and tasks that sleep.

The container of an ApplicationMaster is a shell. It brings its token to `ManyMasters`, which registers, asks, starts
containers and unregisters as that attempt, and ends when that is done. So a hundred of them cost no hundred JVMs.
"""

import re
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from scripts.calibrating.draw import DrawnJob
from scripts.calibrating.rows import CONTAINER, Row
from shim.lab import Lab
from tests.support.client_jars import compile_program
from tests.support.heddle_process import HeddleProcess, until
from tests.support.spanning import spanning_secret
from tests.support.stock_client import StockClient
from tests.support.tidying import end_applications

_BEAT_MS = 1000
_SHELL = """\
exec 3<>/dev/tcp/${1/:/\\/}
echo "$2 $3 $HADOOP_TOKEN_FILE_LOCATION $EPOCHREALTIME ${*:4}" >&3
read -r status <&3
exit "$status"
"""
_ACCEPTED = 202
_SUBMITTERS = 16
_FILES = 'filesystems = ["file://one"]'
"""All clusters of a lab have the machine's files."""


@dataclass(slots=True)
class JobSeen:
    """What became of a job; times are of the epoch, in seconds.

    Attributes:
        begun_s: First step of its ApplicationMaster's container.
        launched_s: When each task was ordered to start.
        nodes: Where each task's container is.
        started_s: First step of each task's container.
        surplus: Containers that it got and did not want any more.
    """

    begun_s: float = 0.0
    registered_s: float = 0.0
    done_s: float = 0.0
    finished_s: float = 0.0
    failed: bool = False
    launched_s: dict[int, float] = field(default_factory=dict)
    nodes: dict[int, str] = field(default_factory=dict)
    started_s: dict[int, float] = field(default_factory=dict)
    surplus: int = 0


@dataclass(frozen=True, slots=True)
class RealRun:
    """A run on real clusters.

    Attributes:
        completions_s: Of each job, from its arrival to when its ApplicationMaster knew that its last task had ended.
    """

    completions_s: tuple[float, ...]
    seen: tuple[JobSeen, ...]

    @property
    def surplus(self) -> int:
        """Containers that were granted and given back."""
        return sum(each.surplus for each in self.seen)


@dataclass(slots=True)
class Masters:
    """The JVM of all ApplicationMasters.

    Attributes:
        folder: For what it and the tasks write.
        address: Host and port where shells bring their tokens, as the nodes reach it.
    """

    folder: Path
    address: str

    @property
    def shell(self) -> Path:
        """Program of an ApplicationMaster's container."""
        return self.folder / "master.sh"

    def seen(self) -> dict[str, JobSeen]:
        """What is known of each job, by name."""
        found: dict[str, JobSeen] = {}
        for line in (self.folder / "masters.log").read_text().splitlines():
            what, _, rest = line.partition(" ")
            if what in _NOTES:
                name, *words = rest.split()
                _NOTES[what](found.setdefault(name, JobSeen()), words)
        starts = self.folder / "starts.log"
        for line in starts.read_text().splitlines() if starts.exists() else ():
            name, task, at_s = line.split()
            found[name].started_s[int(task)] = float(at_s)
        return found


def _note(attribute: str) -> Callable[[JobSeen, Sequence[str]], None]:
    return lambda job, words: setattr(job, attribute, float(words[0]))


def _launched(job: JobSeen, words: Sequence[str]) -> None:
    job.launched_s[int(words[1])] = float(words[0])
    job.nodes[int(words[1])] = words[3]


def _surplus(job: JobSeen, _: Sequence[str]) -> None:
    job.surplus += 1


def _failed(job: JobSeen, _: Sequence[str]) -> None:
    job.failed = True


_NOTES: dict[str, Callable[[JobSeen, Sequence[str]], None]] = {
    "begun": _note("begun_s"),
    "registered": _note("registered_s"),
    "done": _note("done_s"),
    "finished": _note("finished_s"),
    "launch": _launched,
    "surplus": _surplus,
    "failed": _failed,
}


@contextmanager
def masters_of(lab: Lab, folder: Path) -> Iterator[Masters]:
    """Start the JVM of all ApplicationMasters on a lab's clusters.

    Args:
        lab: Whose jars and configuration it has.
        folder: Does not exist yet.
    """
    folder.mkdir()
    client = StockClient(lab, folder / "conf")
    jar = compile_program("ManyMasters", [client.jars], folder)
    words = str(_BEAT_MS), str(folder / "starts.log"), lab.host
    command = client.command("ManyMasters", *words, class_path=str(jar))
    log = folder / "masters.log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=folder)
    try:
        until(lambda: "listens" in log.read_text(), f"masters listen; see {log}", within_s=60)
        found = re.search(r"listens (\d+)", log.read_text())
        assert found is not None  # noqa: S101 - it was there just now
        masters = Masters(folder, f"{lab.host}:{found[1]}")
        masters.shell.write_text(_SHELL)
        yield masters
    finally:
        process.kill()
        process.wait()


def run_on_lab(
    lab: Lab, masters: Masters, folder: Path, row: Row, jobs: Sequence[DrawnJob], *, within_s: float = 900.0
) -> RealRun:
    """Run jobs to their ends, on clusters on which nothing runs.

    Args:
        lab: As many clusters as the row has.
        masters: On them.
        folder: For Heddle; does not exist yet.
        row: What stands before the clusters.
        jobs: Names must be new to `masters`.
        within_s: How long all of it may take.

    Raises:
        RuntimeError: A job failed, or time ran out.
    """
    end_applications(lab)
    folder.mkdir()
    if not row.is_heddle:
        fronts = [(cluster.url, cluster.scheduler_rpc) for cluster in lab.clusters.values()]
        return _run(masters, fronts, jobs, within_s)
    with spanning_secret(folder), HeddleProcess(lab, folder, more=row.sections, of_each=_FILES) as heddle:
        time.sleep(3)  # polls, and with them a view of the nodes
        return _run(masters, [(heddle.url, heddle.scheduler_rpc)], jobs, within_s)


def _run(masters: Masters, fronts: Sequence[tuple[str, str]], jobs: Sequence[DrawnJob], within_s: float) -> RealRun:
    """Submit each job when it comes, to one front after the other, and wait for all."""
    began_s = time.time()
    with httpx.Client(trust_env=False, timeout=60) as http, ThreadPoolExecutor(_SUBMITTERS) as threads:

        def submit(number: int, job: DrawnJob) -> None:
            url, scheduler = fronts[number % len(fronts)]
            _submit(http, url, job, f"/bin/bash {masters.shell} {masters.address} {job.name} {scheduler}")

        waiting = []
        for number, job in enumerate(jobs):
            time.sleep(max(0.0, began_s + job.arrival_s - time.time()))
            waiting.append(threads.submit(submit, number, job))
        for each in waiting:
            each.result()
        _wait(masters, jobs, began_s + within_s, lambda: _ended_badly(http, fronts, began_s))
    seen = masters.seen()
    ordered = tuple(seen[job.name] for job in jobs)
    return RealRun(tuple(one.done_s - began_s - job.arrival_s for job, one in zip(jobs, ordered, strict=True)), ordered)


def _submit(http: httpx.Client, url: str, job: DrawnJob, command: str) -> None:
    """Submit one over REST."""
    who = {"user.name": "alice"}
    answer = http.post(f"{url}/ws/v1/cluster/apps/new-application", params=who)
    answer.raise_for_status()
    durations = ",".join(f"{each:g}" for each in job.durations_s)
    words = " ".join((str(job.size.memory_mib), str(job.size.vcores), durations, *job.placement))
    context = {
        "application-id": answer.json()["application-id"],
        "application-name": job.kind or job.name,
        "application-type": "CALIBRATION",
        **({"application-tags": {"tag": list(job.tags)}} if job.tags else {}),
        "queue": "default",
        "max-app-attempts": 1,
        "am-container-spec": {"commands": {"command": f"{command} {words}"}},
        "resource": {"memory": CONTAINER.memory_mib, "vCores": CONTAINER.vcores},
    }
    answer = http.post(f"{url}/ws/v1/cluster/apps", params=who, json=context)
    if answer.status_code != _ACCEPTED:
        raise RuntimeError(f"{job.name}: {answer.status_code} {answer.text}")


def _ended_badly(http: httpx.Client, fronts: Sequence[tuple[str, str]], began_s: float) -> str:
    """Say why an application failed or was killed, also one whose ApplicationMaster never began; empty if none was."""
    asked = {"states": "FAILED,KILLED", "limit": "1", "startedTimeBegin": str(int(began_s * 1000))}
    for url, _ in fronts:
        answer = http.get(f"{url}/ws/v1/cluster/apps", params=asked)
        for each in ((answer.raise_for_status().json()["apps"] or {}).get("app")) or ():
            return f"{each['name']} {each['state']}: {each['diagnostics']}"
    return ""


def _wait(masters: Masters, jobs: Sequence[DrawnJob], deadline_s: float, ended_badly: Callable[[], str]) -> None:
    """Wait until every job has ended well."""
    while True:
        seen = masters.seen()
        states = Counter(_state(seen.get(job.name)) for job in jobs)
        if states["failed"]:
            raise RuntimeError(f"jobs failed; see {masters.folder / 'masters.log'}")
        if states["finished"] == len(jobs):
            return
        if reason := ended_badly():
            raise RuntimeError(f"{reason}; see {masters.folder / 'masters.log'}")
        if time.time() > deadline_s:
            raise RuntimeError(f"jobs have not ended in time: {dict(states)}; see {masters.folder / 'masters.log'}")
        time.sleep(1.0)


def _state(job: JobSeen | None) -> str:
    if job is None:
        return "waiting"
    return "failed" if job.failed else "finished" if job.finished_s else "running"
