"""Work that an application is expected to be, learnt from those like it that have ended.

Work is memory times time, in MiB x s, as ResourceManagers report it of each application (`memorySeconds`): so it is
learnt of every application that ends, whoever submitted it and whether its calls came through Heddle. What recurs has
the same queue, user, type and name but for dates and long numbers in it, or else but for all numbers. An expectation is
the mean of the recurring job's runs, of which the newest counts half, drawn towards the mean of jobs that are alike but
for numbers, and that towards the mean of its queue, each time as if half a run of that size had been seen: what nobody
has seen counts as one of the queue's mean, behind the small ones that are known and before the large ones.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import TypeVar

from shim.scheduling.durations import wider_key

_Key = TypeVar("_Key")

_MOST_JOBS = 16 * 1024
_MOST_QUEUES = 4 * 1024
_GIB_HOUR = 1024 * 3600
_NEWEST = 0.5
_WIDER_COUNTS = 0.5
"""Runs as which the mean of what is wider counts."""
_MOST_RUNS = 1_000
"""A queue's mean follows its newest applications once it has seen so many."""


@dataclass(frozen=True, slots=True)
class ExpectedWork:
    """An expectation.

    Attributes:
        mib_s: Memory times time.
        runs: Runs of the recurring job that it rests on; 0 where only the queue is known.
        of_queue: Applications of the queue that it rests on; 0 where nothing is known at all.
    """

    mib_s: float = 0.0
    runs: int = 0
    of_queue: int = 0

    @property
    def ground(self) -> str:
        """What it rests on, for people."""
        return f"its last {self.runs} runs" if self.runs else f"{self.of_queue} applications of its queue"

    def told(self) -> str:
        """Expectation and its ground, for people."""
        return f"it is expected to take {self.mib_s / _GIB_HOUR:.3g} GiB x h, by {self.ground}"


NO_EXPECTATION = ExpectedWork()


@dataclass(slots=True)
class _Mean:
    value: float = 0.0
    count: int = 0

    def take(self, value: float, least_part: float) -> None:
        """Take in one more: the newest counts at least so much."""
        self.count += 1
        self.value += (value - self.value) * max(least_part, 1.0 / self.count)

    def drawn_to(self, wider: float) -> float:
        """The mean, drawn to that of more applications: the less is known of these few, the more."""
        return (self.value * self.count + wider * _WIDER_COUNTS) / (self.count + _WIDER_COUNTS)


class WorkHistory:
    """Means of recurring jobs and of queues; those that were seen last are kept."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[tuple[str, str], _Mean] = OrderedDict()
        self._queues: OrderedDict[str, _Mean] = OrderedDict()

    def learn(self, queue: str, job_key: str, mib_s: float) -> None:
        """Learn from an application that ended.

        Args:
            queue: Its path.
            job_key: By what it is known again: `recurring_key`.
            mib_s: What it has used in all.
        """
        if mib_s <= 0.0:
            return  # it never ran, or its ResourceManager does not say
        _mean(self._queues, queue, _MOST_QUEUES).take(mib_s, 1.0 / _MOST_RUNS)
        for each in dict.fromkeys((wider_key(job_key), job_key)):
            _mean(self._jobs, (queue, each), _MOST_JOBS).take(mib_s, _NEWEST)

    def expected(self, queue: str, job_key: str) -> ExpectedWork:
        """Expect work of an application that begins."""
        whole, wider = self._queues.get(queue, _Mean()), wider_key(job_key)
        if not whole.count:
            return NO_EXPECTATION
        alike, own = self._jobs.get((queue, wider), _Mean()), self._jobs.get((queue, job_key), _Mean())
        mib_s = alike.drawn_to(whole.value)
        if wider != job_key:
            mib_s = own.drawn_to(mib_s)
        return ExpectedWork(mib_s, own.count or alike.count, whole.count)


def _mean(known: OrderedDict[_Key, _Mean], key: _Key, most: int) -> _Mean:
    found = known.pop(key, None) or _Mean()
    known[key] = found
    while len(known) > most:
        known.popitem(last=False)
    return found
