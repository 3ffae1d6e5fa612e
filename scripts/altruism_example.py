"""Run the example of the Carbyne paper (figure 2) on a real cluster: two Tez jobs, with altruism and without, in turns.

    python scripts/altruism_example.py             three runs of each; a table
    python scripts/altruism_example.py --runs 1    fewer

What the figure calls 1 is a queue of 25 units of 512 MiB, beside one for each ApplicationMaster, and a second there is
a minute here. Both jobs have the half of it. The first has two tasks of 0.04 and three of 0.21, all of a second, and
then one of a tenth of that; the second has two tasks of 0.29. By their halves alone they end after 2.1 and 2.0 of the
figure's seconds; as the first job puts off what it does not need before, after 2.1 and 1.0.

Both ApplicationMasters are there before either job begins. How long tasks take is known from a run that does not count.
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from statistics import fmean

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from shim.lab import Lab, LabSpec
from tests.support.altruism_jobs import FAIR_LEAF, policy_of
from tests.support.client_jars import compile_program, tez_jars
from tests.support.engines import Tez
from tests.support.heddle_process import HeddleProcess
from tests.support.spanning import spanning_secret
from tests.support.tidying import end_applications

_UNIT_MIB = 512
_UNITS = 25
_SECOND_MS = 60_000
_OVERRIDES = {
    "yarn-site.xml": {
        "yarn.nodemanager.resource.memory-mb": str((_UNITS + 2) * _UNIT_MIB),
        "yarn.nodemanager.resource.cpu-vcores": "64",
        "yarn.scheduler.maximum-allocation-mb": str(_UNITS * _UNIT_MIB),
        # both jobs have asked, and Heddle has looked at them, before anything is given
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "6000",
    },
    "capacity-scheduler.xml": dict(FAIR_LEAF),
}
_JOBS: Mapping[str, tuple[Mapping[str, tuple[int, float, int]], str]] = {
    "first": ({"small": (2, 1, 1), "wide": (3, 1, 5), "end": (1, 0.1, 5)}, "small-end,wide-end"),
    "second": ({"all": (2, 1, 7)}, "-"),
}
"""Stages, with how many tasks, of how many of the figure's seconds and how many units; and what waits for what."""
_SETTINGS = {
    "tez.queue.name": "dev",
    "tez.am.resource.memory.mb": str(_UNIT_MIB),
    "tez.am.container.reuse.enabled": "false",  # a container is a task's, as in the figure
    "tez.shuffle-vertex-manager.min-src-fraction": "1.0",
    "tez.shuffle-vertex-manager.max-src-fraction": "1.0",
}
_MODES: Mapping[str, float] = {"without": 0.0, "altruism": 1.0}
_TOOK = re.compile(r"^(\w+) took (\d+) ms$", re.MULTILINE)


def _words() -> Iterator[str]:
    """Of the program."""
    for name, (stages, edges) in _JOBS.items():
        yield name
        yield ",".join(
            f"{stage}:{tasks}:{int(seconds * _SECOND_MS)}:{units * _UNIT_MIB}"
            for stage, (tasks, seconds, units) in stages.items()
        )
        yield edges


def _run(tez: Tez, program: Path) -> Mapping[str, float]:
    """Seconds of the figure that each job took."""
    printed = tez.run_program(program, "SessionsAtOnce", *_words())
    return {name: int(taken_ms) / _SECOND_MS for name, taken_ms in _TOOK.findall(printed)}


def _given_s(heddle: HeddleProcess) -> float:
    """Seconds of the queue's whole share that its jobs gave."""
    told = httpx.get(f"{heddle.url}/heddle/v1/shares", params={"user.name": "root"}, trust_env=False, timeout=30).json()
    return float(sum(row.get("given_s", 0.0) for row in told["queues"]))


def _runs(lab: Lab, folder: Path, count: int) -> Iterator[tuple[str, Mapping[str, float], float]]:
    """Every run that counts, modes in turns, with what was given in it."""
    hadoop = next(iter(lab.clusters.values())).jars
    program = compile_program("SessionsAtOnce", [tez_jars(), hadoop], folder)
    with ExitStack() as stack:
        stack.enter_context(spanning_secret(folder))
        clients: dict[str, tuple[HeddleProcess, Tez]] = {}
        for mode, altruism in _MODES.items():
            own = folder / mode
            own.mkdir()
            lines = policy_of(own, altruism=altruism, span=False).replace("interval_s = 0.5", "interval_s = 0.2")
            heddle = stack.enter_context(HeddleProcess(lab, own, more=lines))
            tez = Tez(lab, own / "tez", heddle, more=_SETTINGS)
            clients[mode] = heddle, tez
            print(f"{mode}: a run that does not count", file=sys.stderr, flush=True)
            _run(tez, program)
        for number in range(count):
            for mode, (heddle, tez) in clients.items():
                end_applications(lab, within_s=120)
                print(f"{mode}: run {number + 1}", file=sys.stderr, flush=True)
                before = _given_s(heddle)
                took = _run(tez, program)
                yield mode, took, _given_s(heddle) - before


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="of each mode")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="heddle-example-") as own, Lab(Path(own) / "lab") as lab:
        lab.up(LabSpec.of(clusters=1, nodes=1, overrides=_OVERRIDES))
        found = list(_runs(lab, Path(own), arguments.runs))
    print(f"| run | {' | '.join(_JOBS)} | mean | gave |")
    print("| --- | --- | --- | --- | --- |")
    for mode, took, given_s in found:
        times = (*(took[name] for name in _JOBS), fmean(took.values()), given_s * 1000 / _SECOND_MS)
        print(f"| {mode} | {' | '.join(f'{time:.2f}' for time in times)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
