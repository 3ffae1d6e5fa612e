"""Jobs that are graphs of stages, from measured traces: TPC-H queries on Spark, and a day of Alibaba's batch jobs.

A stage begins when all stages that it needs have ended. TPC-H stages carry what their tasks took, measured with
several numbers of executors; Alibaba's carry what each task asks for.
"""

import csv
import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shim.errors import BadRequestError

_WAVES = ("fresh_ms", "first_wave_ms", "rest_wave_ms")
_NEEDED = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Measured:
    """Measured durations of a stage's tasks, in milliseconds, by the number of executors that its job had.

    Attributes:
        fresh: On an executor that had not worked for the job before.
        first: On one that had, but not for this stage.
        rest: On one that had just worked for this stage.
    """

    fresh: Mapping[int, tuple[float, ...]]
    first: Mapping[int, tuple[float, ...]]
    rest: Mapping[int, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class QueryStage:
    """One stage of a query.

    Attributes:
        mean_ms: Mean over everything that was measured: what a scheduler that knows durations is told.
    """

    tasks: int
    needs: tuple[int, ...]
    measured: Measured
    mean_ms: float


@dataclass(frozen=True, slots=True)
class DagJob:
    """One query, and when it comes."""

    name: str
    arrival_ms: float
    stages: tuple[QueryStage, ...]


@dataclass(frozen=True, slots=True)
class ResourceStage:
    """One stage of a job whose tasks ask for several resources.

    Attributes:
        demand: Of one task, as parts of a machine.
    """

    tasks: int
    needs: tuple[int, ...]
    duration_s: float
    demand: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ResourceJob:
    """One such job."""

    name: str
    stages: tuple[ResourceStage, ...] = field(default_factory=tuple)

    @property
    def work_s(self) -> tuple[float, ...]:
        """Machine-seconds of each resource."""
        sizes = range(len(self.stages[0].demand))
        return tuple(
            sum(stage.tasks * stage.duration_s * stage.demand[size] for stage in self.stages) for size in sizes
        )


def read_tpch(file: Path) -> dict[str, tuple[QueryStage, ...]]:
    """The queries of a file of measured graphs, by name (`tpch-2g-4`)."""
    graphs = json.loads(gzip.decompress(file.read_bytes()))
    return {name.replace("-q", "-"): _stages(graph) for name, graph in graphs.items()}


def read_arrivals(file: Path, draw: str | None, graphs: Mapping[str, tuple[QueryStage, ...]]) -> list[DagJob]:
    """The jobs of one of a file's draws, or of its first, in the order of their arrival.

    Raises:
        BadRequestError: If there is no such draw; names those that there are.
    """
    draws = json.loads(gzip.decompress(file.read_bytes()))
    chosen = draw or next(iter(draws))
    if chosen not in draws:
        raise BadRequestError(f"{file} has no draw {chosen}; it has {', '.join(draws)}")
    return [DagJob(name, float(at_ms), graphs[name]) for at_ms, name in draws[chosen]]


def read_alibaba(
    file: Path, most: int, *, machine_cores: float = 96.0, machine_memory: float = 100.0
) -> list[ResourceJob]:
    """The first jobs of a file that are whole: every stage ended well, took some time, and names only known stages."""
    rows: dict[str, list[Mapping[str, str]]] = {}
    with gzip.open(file, "rt", encoding="utf-8") as text:
        for row in csv.DictReader(text):
            rows.setdefault(row["job"], []).append(row)
    jobs: list[ResourceJob] = []
    for name, stages in rows.items():
        if len(jobs) == most:
            break
        read = _resource_stages(stages, machine_cores, machine_memory)
        if read is not None:
            jobs.append(ResourceJob(name, read))
    return jobs


def _stages(graph: Mapping[str, object]) -> tuple[QueryStage, ...]:
    described, edges = graph["stages"], graph["edges"]
    assert isinstance(described, list)  # noqa: S101 - the form of the file
    assert isinstance(edges, list)  # noqa: S101 - the form of the file
    needs: list[list[int]] = [[] for _ in described]
    for parent, child in edges:
        needs[child].append(parent)
    return tuple(_stage(one, tuple(before)) for one, before in zip(described, needs, strict=True))


def _stage(described: Mapping[str, Mapping[str, Sequence[float]]], needs: tuple[int, ...]) -> QueryStage:
    fresh, first, rest = ({int(key): tuple(values) for key, values in described[wave].items()} for wave in _WAVES)
    cleaned = _without_fresh(first, fresh)
    everything = [value for wave in (fresh, cleaned, rest) for values in wave.values() for value in values]
    tasks = int(described["num_tasks"])  # type: ignore[call-overload]
    return QueryStage(tasks, needs, Measured(fresh, cleaned, rest), sum(everything) / len(everything))


def _without_fresh(
    first: Mapping[int, tuple[float, ...]], fresh: Mapping[int, tuple[float, ...]]
) -> dict[int, tuple[float, ...]]:
    """First waves without the tasks of fresh executors, which are among them; gaps take the smaller neighbour's."""
    cleaned: dict[int, tuple[float, ...]] = {}
    before: tuple[float, ...] = ()
    for key in sorted(first):
        left = list((Counter(first[key]) - Counter(fresh[key])).elements())
        before = cleaned[key] = tuple(left) or before
    return cleaned


def _resource_stages(
    rows: Iterable[Mapping[str, str]], machine_cores: float, machine_memory: float
) -> tuple[ResourceStage, ...] | None:
    parsed = [(*_numbers(row["task_name"]), row) for row in rows]
    place = {number: position for position, (number, _, _) in enumerate(parsed)}
    stages: list[ResourceStage] = []
    for _, needs, row in parsed:
        duration_s, tasks = float(row["duration"] or 0), int(float(row["instances"] or 0))
        cores, memory = float(row["cpu_requested_pct"] or 0) / 100, float(row["mem_requested_norm"] or 0)
        is_whole = row["status"] == "Terminated" and 0 < duration_s < 3600 and tasks > 0 and cores > 0  # noqa: PLR2004 - an hour: longer ones are broken rows
        if not is_whole or any(one not in place for one in needs):
            return None
        demand = (cores / machine_cores, memory / machine_memory)
        stages.append(ResourceStage(tasks, tuple(place[one] for one in needs), duration_s, demand))
    return tuple(stages)


def _numbers(task: str) -> tuple[int, list[int]]:
    """`R4_1_2_3` is stage 4 and needs 1, 2 and 3."""
    found = [int(number) for number in _NEEDED.findall(task)]
    return (found[0], found[1:]) if found else (0, [])
