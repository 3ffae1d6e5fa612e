"""MapReduce's `pi` by the stock client, end to end: at a ResourceManager, through the Router, through Heddle.

By turns, so that the machine's moods fall on all alike. The Router's jobs have no AMRMProxy: their ApplicationMasters
speak to their home's ResourceManager directly, while those of Heddle's jobs speak to Heddle.

What counts is the time from the client's start to the application's end, as its ResourceManager tells it. The client
itself notices that end up to five seconds later, and then looks for a history server, which no lab has.
"""

import os
import re
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from scripts.bench.cells import TARGETS, Effort, Say, turned
from scripts.bench.report import figure_table
from scripts.bench.stage import Stage

_RUN_JAR = "org.apache.hadoop.util.RunJar"
_JVM = ("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true")
_PI = ("4", "1000")
_OPTIONS = ("-Dipc.client.connect.max.retries=1",)
"""It does not look for the history server for long."""
_MORE_ROUNDS = 1
"""Jobs vary more than requests: so many more rounds than elsewhere."""
_MOST_S = 300.0
_ENDS_S = 30.0
_SHOWN_LINES = 10


@dataclass(frozen=True, slots=True)
class _Run:
    """One job: seconds from the start of its client, and from its submission, to its end."""

    whole_s: float
    application_s: float


_ROWS: Mapping[str, Callable[[_Run], float]] = {
    "from the client's start to the application's end": lambda run: run.whole_s,
    "from the application's submission to its end": lambda run: run.application_s,
}


def jobs(stage: Stage, folder: Path, effort: Effort, say: Say) -> Iterator[str]:
    """The lines of the section."""
    runs: dict[str, list[_Run]] = {target: [] for target in TARGETS}
    for target in TARGETS:
        _run(stage, folder, target)  # the nodes' caches, and the JVMs' compilers
    for target in turned(TARGETS, effort.rounds + _MORE_ROUNDS):
        run = _run(stage, folder, target)
        runs[target].append(run)
        say(f"pi: {target} {run.whole_s:.2f} s, of that its application {run.application_s:.2f} s")
    columns = ("RM", "Router", "Heddle", "Heddle / RM", "range", "Heddle / Router")
    yield from figure_table(
        f"seconds of `pi {' '.join(_PI)}`", columns, {name: _row(runs, of) for name, of in _ROWS.items()}
    )


def _row(runs: Mapping[str, Sequence[_Run]], value: Callable[[_Run], float]) -> tuple[str, ...]:
    values = {target: [value(run) for run in runs[target]] for target in TARGETS}
    spreads = (f"{statistics.median(each):.2f} ({min(each):.2f} to {max(each):.2f})" for each in values.values())
    to_rm, to_router = (
        sorted(one / two for one, two in zip(values["heddle"], values[other], strict=True))
        for other in ("rm", "router")
    )
    ratio = f"**{statistics.median(to_rm):.3f}**"
    return (*spreads, ratio, f"{to_rm[0]:.2f} to {to_rm[-1]:.2f}", f"{statistics.median(to_router):.3f}")


def _run(stage: Stage, folder: Path, target: str) -> _Run:
    jars = next(iter(stage.lab.clusters.values())).jars
    examples = next(jars.glob("hadoop-mapreduce-examples-[0-9]*.jar"))
    command = [*_JVM, "-cp", f"{stage.client_confs[target]}:{jars}/*", _RUN_JAR, str(examples), "pi", *_OPTIONS, *_PI]
    folder.mkdir(parents=True, exist_ok=True)
    began_s = time.time()
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_MOST_S,
        check=False,
    )
    found = re.search(r"application_\d+_\d+", done.stdout)
    app = None if found is None else _ended(stage.managers, found[0])
    if app is None or app["finalStatus"] != "SUCCEEDED":
        raise RuntimeError(f"pi by {target} failed:\n" + "\n".join(done.stdout.splitlines()[-_SHOWN_LINES:]))
    ended_ms = float(app["finishedTime"])
    return _Run(ended_ms / 1000 - began_s, (ended_ms - float(app["startedTime"])) / 1000)


def _ended(managers: Sequence[str], application: str) -> dict[str, Any] | None:
    """What its home says when it is over; None if no ResourceManager knows it, or it does not end."""
    ends_s = time.monotonic() + _ENDS_S
    while time.monotonic() < ends_s:
        for manager in managers:
            answer = httpx.get(f"{manager}/ws/v1/cluster/apps/{application}", trust_env=False, timeout=30)
            app: dict[str, Any] = answer.json()["app"] if answer.is_success else {}
            if app.get("finishedTime"):
                return app
        time.sleep(0.2)
    return None
