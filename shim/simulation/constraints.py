"""Constraint files: which constraints each worker satisfies, and which each task asks for.

Both kinds may be gzipped; the content tells them apart.

- Workers, JSON: for each group of workers one string of bits per constraint; bit w of string i says that worker w of
  the group satisfies constraint i. Groups are `LMs` -> `partitions` (Megha) or `workers` -> masters (Pigeon), and
  are numbered from 1. Workers are numbered through all groups in that order.
- Tasks, CSV: `arrival, job, task, constraint, constraint, ...`; jobs from 1 in the order of the trace, tasks from 0.

In a simulation the constraints of a worker or task are the bits of one integer.
"""

import gzip
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from shim.domain.resources import Need
from shim.errors import BadRequestError, reason_of
from shim.simulation.traces import Workload, workload_of

_SLOT = (1,)

_GZIP_MAGIC = b"\x1f\x8b"
MAX_CONSTRAINTS = 62
"""Bits of a non-negative int64."""


@dataclass(frozen=True, slots=True)
class Constraints:
    """Contents of constraint files.

    Attributes:
        workers: For each worker, the bits of the constraints that it satisfies; empty if no file says so.
        tasks: For each job (from 0), for each task, the bits of the constraints that it asks for.
    """

    workers: tuple[int, ...] = ()
    tasks: Mapping[int, Mapping[int, int]] | None = None


def read_constraints(paths: Sequence[Path]) -> Constraints:
    """Read constraint files of either kind.

    Raises:
        BadRequestError: If a file cannot be read or is of neither kind, or two files are of the same kind.
    """
    workers: tuple[int, ...] = ()
    tasks: Mapping[int, Mapping[int, int]] | None = None
    for path in paths:
        text = _text_of(path)
        if text.lstrip().startswith("{"):
            if workers:
                raise BadRequestError(f"{path} is the second file with workers' constraints: give one")
            workers = _workers_of(path, text)
        else:
            if tasks is not None:
                raise BadRequestError(f"{path} is the second file with tasks' constraints: give one")
            tasks = _tasks_of(path, text)
    return Constraints(workers, tasks)


def apply_constraints(workload: Workload, constraints: Constraints) -> Workload:
    """The workload with each task's constraints; tasks that the file does not name have none.

    Tasks whose constraints no worker satisfies together can never run: they are left out and counted in
    `Workload.left_out`, as the published simulators do.

    Raises:
        BadRequestError: If no task can run.
    """
    if constraints.tasks is None:
        return workload
    kinds = set(constraints.workers)
    satisfiable = {wanted: any(kind & wanted == wanted for kind in kinds) for wanted in _all_asked(constraints.tasks)}
    satisfiable[0] = True
    jobs = []
    for job in workload.jobs:
        asked = constraints.tasks.get(job.index, {})
        tasks = [task for task in range(job.n_tasks) if satisfiable[asked.get(task, 0)]]
        if tasks:
            durations_s = tuple(job.durations_s[task] for task in tasks)
            jobs.append(replace(job, durations_s=durations_s, constraints=tuple(asked.get(task, 0) for task in tasks)))
    if not jobs:
        raise BadRequestError("no worker satisfies the constraints of any task: give the workers' file of these tasks")
    constrained = workload_of(workload.name, jobs, workload.cutoff_s)
    return replace(constrained, left_out=workload.n_tasks - constrained.n_tasks)


def _all_asked(tasks: Mapping[int, Mapping[int, int]]) -> set[int]:
    return {wanted for job in tasks.values() for wanted in job.values()}


def _text_of(path: Path) -> str:
    try:
        content = path.read_bytes()
        return (gzip.decompress(content) if content.startswith(_GZIP_MAGIC) else content).decode()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise BadRequestError(f"the constraint file {path} cannot be read: {reason_of(error)}") from error


def _workers_of(path: Path, text: str) -> tuple[int, ...]:
    try:
        workers = [bits for group in _groups_of(json.loads(text)) for bits in _group_bits(group)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadRequestError(f"{path} is not a file of workers' constraints (LMs or workers): {error!r}") from error
    if not workers:
        raise BadRequestError(f"{path} names no worker")
    return tuple(workers)


def _groups_of(document: Any) -> Iterator[Sequence[str]]:
    """The groups' strings, in the order of their numbers."""
    if "LMs" in document:
        for _, local_master in sorted(document["LMs"].items(), key=_number):
            yield from (group for _, group in sorted(local_master["partitions"].items(), key=_number))
    else:
        yield from (group for _, group in sorted(document["workers"].items(), key=_number))


def _number(entry: tuple[str, object]) -> int:
    return int(entry[0])


def _group_bits(group: Sequence[str]) -> list[int]:
    """Turn one string per constraint into one integer per worker."""
    columns = [row.removeprefix("0b") for row in group]
    if len(columns) > MAX_CONSTRAINTS or len({len(column) for column in columns}) != 1:
        raise ValueError(f"a group needs 1 to {MAX_CONSTRAINTS} strings of equal length, one for each constraint")
    return [
        sum(1 << constraint for constraint, bit in enumerate(bits) if bit == "1") for bits in zip(*columns, strict=True)
    ]


def _tasks_of(path: Path, text: str) -> Mapping[int, Mapping[int, int]]:
    tasks: dict[int, dict[int, int]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            _, job, task, *constraints = line.split(",")
            bits = _bits_of({int(value) for value in constraints if value})
            tasks.setdefault(int(job) - 1, {})[int(task)] = bits
        except ValueError as error:
            raise BadRequestError(f"{path} line {number} is not `arrival,job,task,constraint,...`: {error}") from error
    return tasks


def _bits_of(constraints: Collection[int]) -> int:
    """The constraints of one task as one integer; ValueError if one has no bit."""
    if constraints and not 0 <= min(constraints) <= max(constraints) < MAX_CONSTRAINTS:
        raise ValueError(f"constraints are numbered from 0 to {MAX_CONSTRAINTS - 1}")
    return sum(1 << constraint for constraint in constraints)


@cache
def properties_of(bits: int) -> frozenset[str]:
    """The properties of a node for Heddle's masters that satisfies these constraints."""
    return frozenset(_property_of(bit) for bit in range(bits.bit_length()) if bits >> bit & 1)


@cache
def need_of(bits: int) -> Need:
    """Need, for Heddle's masters, of a task with these constraints: one slot of a node that satisfies them."""
    return Need(_SLOT, properties_of(bits))


@cache
def _property_of(bit: int) -> str:
    return f"c{bit}"
