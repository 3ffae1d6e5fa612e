"""One ResourceManager asked directly, Hadoop's Java Router and Heddle, over the same two clusters, in one run.

In each round every target is measured once, in turned order, so that what else the machine does falls on all alike. A
ratio is taken within a round; the median of the rounds is shown with their range.
"""

import asyncio
import contextlib
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scripts.bench.java_router import JavaRouter
from scripts.bench.load import Measured, cpu_s, kill_all, measure_posts, measure_reads, new_ids, resident_mib
from scripts.bench.targets import HeddleProcess
from shim.lab import Lab, LabSpec

__all__ = ["Cell", "Effort", "SideBySide", "run"]

TARGETS = ("rm", "router", "heddle")
CONNECTIONS = (1, 8, 32)
_BASE = "/ws/v1/cluster"
_FEW, _MANY = 100, 5000
_POSTS = 80
_OVERRIDES = {
    "yarn-site.xml": {
        "yarn.resourcemanager.max-completed-applications": "20000",
        "yarn.resourcemanager.state-store.max-completed-applications": "0",
    }
}


@dataclass(frozen=True, slots=True)
class Effort:
    """How long is measured."""

    rounds: int = 3
    seconds: float = 4.0


@dataclass(frozen=True, slots=True)
class Cell:
    """What was measured of one thing at one number of connections, by target, one value for each round."""

    what: str
    connections: int
    runs: Mapping[str, Sequence[Measured]]

    def median(self, target: str, value: Callable[[Measured], float]) -> float:
        """Over the rounds."""
        return statistics.median(value(run) for run in self.runs[target])

    def ratios(self, target: str, other: str) -> list[float]:
        """Requests per second of a target over those of another, round by round."""
        pairs = zip(self.runs[target], self.runs[other], strict=True)
        return sorted(one.per_s / two.per_s for one, two in pairs if two.per_s)


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Everything that one run measured.

    Attributes:
        memory_mib: Of each target's process: when it had started, and at the end.
    """

    cells: Sequence[Cell]
    memory_mib: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Stage:
    """The running targets: base address and process of each."""

    bases: Mapping[str, str]
    pids: Mapping[str, int]
    managers: Sequence[str]


@contextlib.contextmanager
def _stage(folder: Path, base_port: int) -> Iterator[_Stage]:
    with Lab(folder / "lab") as lab:
        lab.up(LabSpec.of(base_port=base_port, tuning="throughput", overrides=_OVERRIDES))
        managers = [cluster.url for cluster in lab.clusters.values()]
        (folder / "router").mkdir(parents=True, exist_ok=True)
        with JavaRouter(lab, folder / "router", base_port=base_port + 900) as router:
            asyncio.run(_fill(managers, _FEW // 2))
            webs = {cluster.id: cluster.url for cluster in lab.clusters.values()}
            with HeddleProcess(folder / "heddle", port=base_port + 910, subclusters=webs) as heddle:
                bases = {"rm": managers[0], "router": router.url, "heddle": heddle.url}
                manager_pid = next(daemon.pid for daemon in lab.status() if daemon.name.endswith("-rm")) or 0
                pids = {"rm": manager_pid, "router": router.pid, "heddle": heddle.pid}
                yield _Stage(bases, pids, managers)


async def _fill(managers: Sequence[str], each: int) -> None:
    """Give every ResourceManager `each` ended applications."""
    for manager in managers:
        await measure_posts(manager, await new_ids(manager, each), at_once=8)
    await kill_all(managers)


def run(folder: Path, *, base_port: int, effort: Effort, say: Callable[[str], None]) -> SideBySide:
    """Measure everything; takes about a minute for each second of `effort.seconds` and round."""
    with _stage(folder, base_port) as stage:
        before = {target: resident_mib(pid) for target, pid in stage.pids.items()}
        cells = list(_reads(stage, effort, say))
        cells += _submissions(stage, effort, say)
        say(f"{_MANY} applications")
        asyncio.run(_fill(stage.managers, (_MANY - _FEW) // 2))
        cells += _measure(stage, effort, say, "apps (5,000)", "/apps", (1, 8), _reader("GET"))
        after = {target: resident_mib(pid) for target, pid in stage.pids.items()}
    return SideBySide(cells, {target: (before[target], after[target]) for target in TARGETS})


Measure = Callable[[str, str, int, float], Measured]


def _reader(method: str) -> Measure:
    def measure(target: str, url: str, connections: int, seconds: float) -> Measured:
        # the Router lists nothing for a caller without a name
        named = f"{url}?user.name=bench" if target == "router" else url
        return measure_reads(named, connections=connections, seconds=seconds, method=method)

    return measure


def _reads(stage: _Stage, effort: Effort, say: Callable[[str], None]) -> Iterator[Cell]:
    known = asyncio.run(_some_application(stage.managers[0]))
    rows = {
        "metrics": "/metrics",
        "apps (100)": "/apps",
        "apps/{id}": f"/apps/{known}",
        "nodes": "/nodes",
        "scheduler": "/scheduler",
    }
    for what, path in rows.items():
        yield from _measure(stage, effort, say, what, path, CONNECTIONS, _reader("GET"))
    yield from _measure(stage, effort, say, "new-application", "/apps/new-application", CONNECTIONS, _reader("POST"))


async def _some_application(manager: str) -> str:
    """An ended application that every target knows."""
    (id_,) = await new_ids(manager, 1)
    await measure_posts(manager, [id_], at_once=1)
    await kill_all([manager])
    return id_


def _submissions(stage: _Stage, effort: Effort, say: Callable[[str], None]) -> Iterator[Cell]:
    def post(target: str, url: str, connections: int, _: float) -> Measured:
        # the Router gives out no ids over REST: it gets those of a ResourceManager
        source = stage.managers[0] if target == "router" else url
        measured = asyncio.run(_post(source, url, connections))
        asyncio.run(kill_all(stage.managers))
        return measured

    yield from _measure(stage, effort, say, "submit", "", (1, 8), post)


async def _post(source: str, base: str, at_once: int) -> Measured:
    return await measure_posts(base, await new_ids(source, _POSTS), at_once=at_once)


def _measure(
    stage: _Stage,
    effort: Effort,
    say: Callable[[str], None],
    what: str,
    path: str,
    connections: Sequence[int],
    measure: Measure,
) -> Iterator[Cell]:
    for count in connections:
        runs: dict[str, list[Measured]] = {target: [] for target in TARGETS}
        for round_ in range(effort.rounds):
            for turn in range(len(TARGETS)):
                target = TARGETS[(round_ + turn) % len(TARGETS)]
                url = stage.bases[target] + (f"{_BASE}{path}" if path else "")
                before_s = cpu_s(stage.pids[target])
                measured = measure(target, url, count, effort.seconds)
                used_us = (cpu_s(stage.pids[target]) - before_s) * 1e6
                runs[target].append(replace(measured, cpu_us=used_us / max(1, measured.requests)))
        cell = Cell(what, count, runs)
        shown = ", ".join(f"{target} {cell.median(target, lambda run: run.per_s):.0f}/s" for target in TARGETS)
        say(f"{what}, {count} connections: {shown}")
        yield cell
