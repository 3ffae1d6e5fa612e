"""Real work through one REST address: word counts are submitted, watched to their end, and checked."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from heddle.client.calls import Call
from heddle.client.workflows import CALLS, MANAGER_CALLS
from shim.errors import LabError
from shim.lab.map_reduce import StockJob, containers_by_cluster
from shim.lab.word_count import WordCount

_FINAL = frozenset({"FINISHED", "FAILED", "KILLED"})
_POLL_S = 0.5


class Rest(Protocol):
    """The web services of a Heddle, called in the name of one user."""

    def ask(self, call: Call[Any]) -> Any: ...


@dataclass(frozen=True, slots=True)
class ApplicationRow:
    """One application as the showcase tells of it.

    Attributes:
        containers: How many it runs, its master included.
        cluster: Where it runs; empty until that is told. Several, with numbers, if its containers were in several.
        words: How many words they counted; 0 before the end.
        reason: Why it runs there.
    """

    id: str
    name: str
    queue: str
    containers: int
    state: str = "NEW"
    cluster: str = ""
    words: int = 0
    reason: str = ""

    @property
    def is_final(self) -> bool:
        """True if the application has ended, well or not."""
        return self.state in _FINAL


def run_word_counts(
    rest: Rest,
    jobs: Sequence[tuple[WordCount, str]],
    *,
    jars: Path,
    timeout_s: float,
    watch: Callable[[Sequence[ApplicationRow]], None],
    begun: Sequence[ApplicationRow] = (),
) -> tuple[list[ApplicationRow], Counter[str]]:
    """Submit jobs, each with its queue, wait for their end, and compare what was counted with a count of our own.

    Args:
        jars: Hadoop's jars on the nodes.
        watch: Told the rows whenever one has changed.
        begun: Rows of the first jobs, if they have been submitted already.

    Returns:
        The applications, and the words of all of them.

    Raises:
        LabError: If one does not finish well, or has counted wrongly.
    """
    rows = [*begun, *(submit_word_count(rest, job, queue, jars=jars) for job, queue in jobs[len(begun) :])]
    watch(rows)
    deadline = time.monotonic() + timeout_s
    while not all(row.is_final for row in rows):
        if time.monotonic() > deadline:
            late = ", ".join(f"{row.id} is {row.state}" for row in rows if not row.is_final)
            raise LabError(f"after {timeout_s:.0f} s: {late}")
        time.sleep(_POLL_S)
        seen = list(_refreshed(rest, rows))
        if seen != rows:
            watch(seen)
        rows = seen
    return _checked(rest, rows, [job for job, _ in jobs])


def submit_word_count(rest: Rest, job: WordCount, queue: str, *, jars: Path) -> ApplicationRow:
    """Submit one job to a queue; its jars are Hadoop's on the nodes."""
    job.prepare()
    id_ = str(rest.ask(MANAGER_CALLS.new_application())["application-id"])
    rest.ask(MANAGER_CALLS.submit_context(job.context(id_, queue=queue, jars=jars)))
    return ApplicationRow(id_, job.name, queue, len(job.texts) + 1, state="SUBMITTED")


def _refreshed(rest: Rest, rows: Sequence[ApplicationRow]) -> Iterator[ApplicationRow]:
    for row in rows:
        if row.is_final:
            yield row
        else:
            found = rest.ask(CALLS.application(row.id))["app"]
            yield replace(row, state=found["state"], cluster=found.get("cluster") or row.cluster)


def _checked(
    rest: Rest, rows: Sequence[ApplicationRow], jobs: Sequence[WordCount]
) -> tuple[list[ApplicationRow], Counter[str]]:
    total: Counter[str] = Counter()
    done = []
    for row, job in zip(rows, jobs, strict=True):
        if row.state != "FINISHED":
            told = rest.ask(CALLS.application(row.id))["app"].get("diagnostics", "")
            raise LabError(f"{row.id} ({row.name}) ended {row.state} on {row.cluster}: {told}")
        counted = job.counted()
        if counted != job.expected():
            raise LabError(f"{row.id} ({row.name}) has counted wrongly: see {job.folder}")
        total += counted
        reason = str(rest.ask(CALLS.why(row.id))["reason"])
        done.append(replace(row, words=counted.total(), reason=reason))
    return done, total


def finish_stock_job(
    rest: Rest, job: StockJob, queue: str, *, folders: Mapping[str, Path], timeout_s: float
) -> ApplicationRow:
    """Wait for a stock client's job, and compare what it counted with a count of our own.

    Args:
        job: Whose client runs.
        folders: The clusters' own folders, by id.

    Raises:
        LabError: If it does not finish well, or has counted wrongly.
    """
    deadline = time.monotonic() + timeout_s
    row = ApplicationRow(job.wait(timeout_s=timeout_s), job.job.name, queue, 0)
    while not row.is_final and time.monotonic() < deadline:
        (row,) = _refreshed(rest, [row])
        if not row.is_final:
            time.sleep(_POLL_S)
    counted = job.job.counted()
    if row.state != "FINISHED" or counted != job.job.expected():
        raise LabError(f"{row.id} ({row.name}) is {row.state} on {row.cluster}: see {job.job.folder}/client.log")
    where = containers_by_cluster(folders, row.id)
    return replace(
        row,
        cluster=", ".join(f"{id_} {count}" for id_, count in where.items()) if len(where) > 1 else row.cluster,
        containers=sum(where.values()),
        words=counted.total(),
        reason=str(rest.ask(CALLS.why(row.id))["reason"]),
    )
