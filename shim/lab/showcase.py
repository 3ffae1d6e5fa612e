"""Real work through one REST address: word counts are submitted, watched to their end, and checked."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from shim.errors import LabError
from shim.lab.word_count import WordCount

__all__ = ["ApplicationRow", "Rest", "run_word_counts"]

_FINAL = frozenset({"FINISHED", "FAILED", "KILLED"})
_POLL_S = 0.5
_APPS = "/ws/v1/cluster/apps"


class Rest(Protocol):
    """A REST interface like a ResourceManager's, called in the name of one user."""

    def get(self, path: str) -> Any:
        """The document at `path`."""
        ...

    def post(self, path: str, body: Any = None) -> Any:
        """Send a document."""
        ...


@dataclass(frozen=True, slots=True)
class ApplicationRow:
    """One application as the showcase tells of it.

    Attributes:
        containers: That counted a text; its master comes on top.
        cluster: Where it runs; empty until that is told.
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
        """Whether it has ended, well or not."""
        return self.state in _FINAL


def run_word_counts(
    rest: Rest,
    jobs: Sequence[tuple[WordCount, str]],
    *,
    jars: Path,
    timeout_s: float,
    watch: Callable[[Sequence[ApplicationRow]], None],
) -> tuple[list[ApplicationRow], Counter[str]]:
    """Submit jobs, each with its queue, wait for their end, and compare what was counted with a count of our own.

    Args:
        rest: Heddle.
        jobs: What to run, and in which queue.
        jars: Hadoop's jars on the nodes.
        timeout_s: For all of it.
        watch: Told the rows whenever one has changed.

    Returns:
        The applications, and the words of all of them.

    Raises:
        LabError: If one does not finish well, or has counted wrongly.
    """
    rows = [_submit(rest, job, queue, jars) for job, queue in jobs]
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


def _submit(rest: Rest, job: WordCount, queue: str, jars: Path) -> ApplicationRow:
    job.prepare()
    id_ = str(rest.post(f"{_APPS}/new-application")["application-id"])
    rest.post(_APPS, job.context(id_, queue=queue, jars=jars))
    return ApplicationRow(id_, job.name, queue, len(job.texts), state="SUBMITTED")


def _refreshed(rest: Rest, rows: Sequence[ApplicationRow]) -> Iterator[ApplicationRow]:
    for row in rows:
        if row.is_final:
            yield row
        else:
            found = rest.get(f"/heddle/v1/apps/{row.id}")["app"]
            yield replace(row, state=found["state"], cluster=found.get("cluster") or row.cluster)


def _checked(
    rest: Rest, rows: Sequence[ApplicationRow], jobs: Sequence[WordCount]
) -> tuple[list[ApplicationRow], Counter[str]]:
    total: Counter[str] = Counter()
    done = []
    for row, job in zip(rows, jobs, strict=True):
        if row.state != "FINISHED":
            told = rest.get(f"/heddle/v1/apps/{row.id}")["app"].get("diagnostics", "")
            raise LabError(f"{row.id} ({row.name}) ended {row.state} on {row.cluster}: {told}")
        counted = job.counted()
        if counted != job.expected():
            raise LabError(f"{row.id} ({row.name}) has counted wrongly: see {job.folder}")
        total += counted
        reason = str(rest.get(f"/heddle/v1/apps/{row.id}/why")["reason"])
        done.append(replace(row, words=counted.total(), reason=reason))
    return done, total
