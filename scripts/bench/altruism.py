"""How long altruism takes: `python -m scripts.bench.altruism`.

A queue of 2,000 attempts of 20 stages, a fifth of whose tasks runs; the first look plans all of them, later ones those
that changed: one in fifty. Then the ledger's part in an allocate call: 10,000 containers that wait, of 20 asks, with
and without a hold-back. Processor time: it does not count what else the machine does.
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

from shim.domain.allocations import ANY, Ask, AskKey
from shim.domain.ids import ApplicationAttemptId, ApplicationId, SubClusterId
from shim.domain.job_graphs import JobGraph, Stage, StagesOfJob
from shim.domain.resources import ResourceVector
from shim.multicluster.core import CapacitySplitter, ClusterCapacity
from shim.multicluster.core.asks import AskBook
from shim.queues.core.job_watch import StageFacts
from shim.queues.core.yielding import QueueJob, QueueYields, YieldRules
from shim.simulation.engine import seeded

_ATTEMPTS, _STAGES, _LOOKS, _CHANGED = 2_000, 20, 5, 50
_UNIT = ResourceVector(1024, 1)
_TOTAL = ResourceVector(1024 * 40_000, 40_000)
_PENDING, _ASKS, _CALLS = 10_000, 20, 300


def _stages(draw: Random) -> StagesOfJob:
    needs = [tuple(sorted(draw.sample(range(number), min(number, 2)))) for number in range(_STAGES)]
    stages = [Stage(f"stage {number}", 10, 1024, 1, before, before) for number, before in enumerate(needs)]
    return StagesOfJob(JobGraph.of("job", stages), {100 - number: number for number in range(_STAGES)})


def _job(number: int, draw: Random) -> QueueJob:
    stages = _stages(draw)
    facts = tuple(
        StageFacts(0 if at < 4 else 10, (0.0,) * draw.randint(1, 10) if at < 4 else (), 0, draw.uniform(5, 60), _UNIT)  # noqa: PLR2004 - a fifth
        for at in range(_STAGES)
    )
    asks = {AskKey(100 - at, -1, is_opportunistic=False, resource=_UNIT): 10 for at in range(4, 8)}
    return QueueJob(ApplicationAttemptId(ApplicationId(1, number), 1), asks, _UNIT, stages, facts)


def _ended(job: QueueJob) -> QueueJob:
    """The same job with one running stage less."""
    assert not isinstance(job.facts, str)  # noqa: S101 - made above
    running = [at for at, each in enumerate(job.facts) if each.running_since_s]
    over = running[0] if running else 0
    return replace(
        job,
        facts=tuple(
            replace(each, running_since_s=(), waiting=0) if at == over else each for at, each in enumerate(job.facts)
        ),
    )


def _looks(say: Callable[[str], object]) -> None:
    draw, queue = seeded(1, "jobs"), QueueYields()
    jobs = [_job(number, draw) for number in range(_ATTEMPTS)]
    taken_s: list[float] = []
    for look in range(_LOOKS):
        began_s = time.process_time()
        queue.look(jobs, _TOTAL, YieldRules(), float(look))
        taken_s.append(time.process_time() - began_s)
        jobs = [_ended(job) if at % _CHANGED == look else job for at, job in enumerate(jobs)]
    say(f"| first look, s | {taken_s[0]:.2f} |\n| later looks, s | {statistics.median(taken_s[1:]):.2f} |\n")
    alone_ms: list[float] = []
    for job in jobs[:200]:
        began_s = time.process_time()
        QueueYields().look([job], _TOTAL, YieldRules(), 0.0)
        alone_ms.append(1000 * (time.process_time() - began_s))
    say(f"| one job alone, p50, ms | {statistics.median(alone_ms):.1f} |\n")
    say(f"| one job alone, p99, ms | {sorted(alone_ms)[int(0.99 * len(alone_ms))]:.1f} |\n")


def _splits(say: Callable[[str], object]) -> None:
    keys = [AskKey(priority, -1, is_opportunistic=False, resource=_UNIT) for priority in range(1, _ASKS + 1)]
    room = [ClusterCapacity(SubClusterId("east"), is_home=True, free=_TOTAL)]
    for name, held_back in (("nothing held back", 0), ("half held back", _PENDING // _ASKS // 2)):
        book, splitter, taken_ms = AskBook(), CapacitySplitter(), list[float]()
        book.tell([Ask(key, ANY, _PENDING // _ASKS) for key in keys], {})
        for _ in range(_CALLS):
            book.hold_back(dict.fromkeys(keys, held_back) if held_back else {})
            began_s = time.process_time()
            book.count_call()
            book.split(splitter, room)
            taken_ms.append(1000 * (time.process_time() - began_s))
        say(f"| split of 10,000 containers, {name}, p99, ms | {sorted(taken_ms)[int(0.99 * _CALLS)]:.2f} |\n")


def altruism() -> Iterator[str]:
    """Lines of the table of docs/developers/benchmarks.md."""
    rows: list[str] = []
    _looks(rows.append)
    _splits(rows.append)
    yield from ("| altruism | processor time |", "|---|---|", *"".join(rows).splitlines())


def main() -> None:
    """Print a row for each figure."""
    sys.stdout.writelines(f"{line}\n" for line in altruism())


if __name__ == "__main__":
    main()
