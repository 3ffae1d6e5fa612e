"""The sections of docs/developers/benchmarks.md, each measured and written alone."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Self

from scripts.bench import client_reads, side_by_side
from scripts.bench.allocate import allocate
from scripts.bench.altruism import altruism
from scripts.bench.cells import Cell, Effort, Say
from scripts.bench.consoles import consoles
from scripts.bench.first_paint import first_paint
from scripts.bench.flood import floods
from scripts.bench.granted import granted
from scripts.bench.jobs import jobs
from scripts.bench.load import resident_mib
from scripts.bench.relay import at_homes, relay
from scripts.bench.report import cell_tables, figure_table
from scripts.bench.scale import SIZES, polls_of_one, scale, scripted_submissions
from scripts.bench.stage import FEW, Stage, a_stage


@dataclass
class Bench:
    """What sections share: effort, a folder, ports, and the targets, which are started when first needed.

    Use it as a context manager: the targets end with the block.
    """

    folder: Path
    base_port: int
    effort: Effort
    say: Say
    _stack: ExitStack = field(default_factory=ExitStack)
    _stage: Stage | None = None
    _stages: int = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end_stage()

    def stage(self) -> Stage:
        """The targets."""
        if self._stage is None:
            self._stages += 1
            folder = self.folder / f"stage-{self._stages}"
            self._stage = self._stack.enter_context(a_stage(folder, self.base_port, self.say))
        return self._stage

    def end_stage(self) -> None:
        """End the targets, for a section that needs the machine; or one that has failed and may have hurt them."""
        self._stage = None
        self._stack.close()
        self._stack = ExitStack()


Section = Callable[[Bench], Iterable[str]]
Rows = Callable[[Stage, Effort, Say], Iterator[Cell]]


def _cells(rows: Rows, bench: Bench) -> Iterator[str]:
    return cell_tables(list(rows(bench.stage(), bench.effort, bench.say)))


def _jobs(bench: Bench) -> Iterator[str]:
    return jobs(bench.stage(), bench.folder / "jobs", bench.effort, bench.say)


def _console(bench: Bench) -> Iterator[str]:
    yield from consoles(bench.stage(), bench.effort, bench.say)
    bench.end_stage()
    yield ""
    yield from first_paint(bench.folder / "paint", base_port=bench.base_port + 500, say=bench.say)


def _flood(bench: Bench) -> Iterator[str]:
    return floods(bench.stage(), bench.effort, bench.say)


def _many(bench: Bench) -> Iterator[str]:
    stage = bench.stage()
    yield from _cells(side_by_side.many, bench)
    rows = {
        name: (str(stage.started_mib[target]), str(resident_mib(stage.pids[target])))
        for target, name in (("rm", "RM"), ("router", "Router"), ("heddle", "Heddle"))
    }
    yield ""
    yield from figure_table("memory of", ("MiB when started", "MiB at the end of this section"), rows)


def _allocate(bench: Bench) -> Iterator[str]:
    bench.end_stage()
    return allocate(bench.folder / "allocate", bench.base_port, bench.effort, bench.say)


def _granted(bench: Bench) -> Iterator[str]:
    bench.end_stage()
    return granted(bench.folder / "granted", bench.effort, bench.say)


def _relay(bench: Bench) -> Iterator[str]:
    bench.end_stage()
    return relay(bench.effort, bench.say)


def _homes(bench: Bench) -> Iterator[str]:
    bench.end_stage()
    return at_homes(bench.effort, bench.say)


def _scale(bench: Bench) -> Iterator[str]:
    bench.end_stage()
    return scale(bench.folder / "scale", base_port=bench.base_port + 600, sizes=SIZES, say=bench.say)


def _submit_scripted(bench: Bench) -> Iterator[str]:
    bench.end_stage()
    return scripted_submissions(bench.folder / "submissions", base_port=bench.base_port + 600, say=bench.say)


def _polls(bench: Bench) -> Iterator[str]:
    bench.end_stage()
    return polls_of_one()


def _altruism(bench: Bench) -> Iterator[str]:
    bench.end_stage()
    return altruism()


SECTIONS: Mapping[str, Section] = {
    "rest": partial(_cells, side_by_side.rest_reads),
    "named": partial(_cells, client_reads.named_reads),
    "rpc": partial(_cells, side_by_side.rpc_reads),
    "users": partial(_cells, client_reads.many_users),
    "jobs": _jobs,
    "differing": partial(_cells, partial(client_reads.differing_lists, sizes=(FEW, 1000))),
    "many": _many,
    "differing-many": partial(_cells, partial(client_reads.differing_lists, sizes=(10_000,))),
    "console": _console,
    "flood": _flood,
    "submit": partial(_cells, side_by_side.submissions),
    "allocate": _allocate,
    "granted": _granted,
    "relay": _relay,
    "homes": _homes,
    "scale": _scale,
    "polls": _polls,
    "submit-scripted": _submit_scripted,
    "altruism": _altruism,
}
"""In the order in which they are measured: some leave applications behind that the next ones would list.

Submissions come when each ResourceManager has taken thousands: one that has just started compiles its code meanwhile,
which costs it, and whoever shares the processor, several times what a submission does.
"""
