"""Applications that wait at their homes: why each waits, and whom others of its queue have overtaken elsewhere.

Nobody kills what was overtaken, and nobody sends it elsewhere by himself: its home may start it in the next moment. It
is named, and its owner may move it (`rehoming.py`).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from shim.domain.applications import ApplicationSummary, YarnApplicationState
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.queues import SharePolicy
from shim.domain.subclusters import ApplicationDocument
from shim.domain.submissions import NOWHERE
from shim.federation.core.federation_view import FederationView, find_queue
from shim.ports.clock import Clock
from shim.submission.core.waiting import why_it_waits

_PATIENCE_S = 30.0
"""An ApplicationMaster that starts sooner was not overtaken: ResourceManagers start them one by one."""


@dataclass(frozen=True, slots=True)
class Overtaken:
    """An application that waits at its home, while others of its queue, submitted later, started elsewhere.

    Attributes:
        queue: Its path in the federation.
        others: How many overtook it, and `elsewhere` is where they started.
    """

    application_id: ApplicationId
    user: str
    subcluster: SubClusterId
    queue: str
    waits_s: float
    others: int
    elsewhere: tuple[SubClusterId, ...]
    reason: str

    @property
    def finding(self) -> str:
        """What is so, for operators."""
        return f"{self.application_id} of {self.user} {self.reason}; {self.told}"

    @property
    def told(self) -> str:
        """What others did meanwhile, for people."""
        noun = "application" if self.others == 1 else "applications"
        where = ", ".join(self.elsewhere)
        return f"{self.others} {noun} of queue {self.queue}, submitted later, started at {where} meanwhile"


class HomeWaits:
    """Answers why applications wait, by the newest reports.

    Args:
        view: What is known of the sub-clusters and their applications.
        clock: The machine's.
        policy: The policy as it is now: what sub-clusters call its queues.
    """

    def __init__(self, view: FederationView, clock: Clock, policy: Callable[[], SharePolicy]) -> None:
        self._view = view
        self._clock = clock
        self._policy = policy

    def why(self, document: ApplicationDocument, others: Iterable[ApplicationDocument] = ()) -> str:
        """One sentence: for what it waits, who has that, since when; empty for one that does not wait."""
        home, now_s = document.summary.home_subcluster, self._clock.now_s()
        is_known = home != NOWHERE and home in self._view.subclusters
        seen = self._view.look(home, now_s) if is_known else None
        return why_it_waits(document, seen, others, now_s)

    def overtaken(self) -> list[Overtaken]:
        """Every application that others of its queue have overtaken elsewhere, that waits longest first."""
        columns = self._view.applications.columns
        accepted = columns.documents(np.flatnonzero(columns.has_any_state({YarnApplicationState.ACCEPTED})))
        waiting = sorted(filter(self._is_overdue, accepted), key=lambda each: each.summary.application_id)
        if not waiting:
            return []
        known: dict[tuple[SubClusterId, str], str] = {}
        paths = {each.summary.application_id: self._path_of(each, known) for each in waiting}
        since_s = min(self._submitted_s(each.summary) for each in waiting)
        started = self._started(frozenset(paths.values()), since_s, known)
        found = [self._compared(each, paths[each.summary.application_id], started) for each in waiting]
        return sorted((each for each in found if each is not None), key=lambda each: -each.waits_s)

    def overtaken_one(self, application_id: ApplicationId) -> Overtaken | None:
        """The same of one application; None if nobody overtook it."""
        return next((each for each in self.overtaken() if each.application_id == application_id), None)

    def _is_overdue(self, document: ApplicationDocument) -> bool:
        summary = document.summary
        is_waiting = summary.state is YarnApplicationState.ACCEPTED and summary.home_subcluster != NOWHERE
        return is_waiting and summary.started_at_ms > 0 and self._waits_s(document) >= _PATIENCE_S

    def _waits_s(self, document: ApplicationDocument) -> float:
        return self._clock.now_s() - self._submitted_s(document.summary)

    def _submitted_s(self, summary: ApplicationSummary) -> float:
        """By Heddle's clock."""
        return summary.started_at_ms / 1000 - self._view.clock_skew_s(summary.home_subcluster)

    def _path_of(self, document: ApplicationDocument, known: dict[tuple[SubClusterId, str], str]) -> str:
        """The queue by its path in the federation; `known` keeps what was found."""
        summary = document.summary
        name = (summary.home_subcluster, summary.queue)
        if name not in known:
            known[name] = self._found(summary)
        return known[name]

    def _found(self, summary: ApplicationSummary) -> str:
        seen = self._view.look(summary.home_subcluster, self._clock.now_s())
        queue = find_queue(seen, summary.queue)
        told = summary.queue if queue is None else queue.path
        owner = self._policy().find_at(summary.home_subcluster, told)
        return told if owner is None else owner.path

    def _started(
        self, paths: frozenset[str], since_s: float, known: dict[tuple[SubClusterId, str], str]
    ) -> list[tuple[str, SubClusterId, float]]:
        """Queue, home and submission of what runs or has run, and was submitted since then."""
        found = []
        for document in self._view.applications.newest_first():
            summary = document.summary
            has_run = summary.state in (YarnApplicationState.RUNNING, YarnApplicationState.FINISHED)
            if not has_run or summary.home_subcluster not in self._view.subclusters:
                continue
            at_s = self._submitted_s(summary)
            if at_s > since_s:
                path = self._path_of(document, known)
                if path in paths:
                    found.append((path, summary.home_subcluster, at_s))
        return found

    def _compared(
        self, document: ApplicationDocument, path: str, started: Iterable[tuple[str, SubClusterId, float]]
    ) -> Overtaken | None:
        summary = document.summary
        since_s = self._submitted_s(summary)
        elsewhere = [
            home
            for other, home, at_s in started
            if other == path and home != summary.home_subcluster and at_s > since_s
        ]
        if not elsewhere:
            return None
        homes = tuple(dict.fromkeys(elsewhere))
        return Overtaken(
            summary.application_id,
            summary.user,
            summary.home_subcluster,
            path,
            self._waits_s(document),
            len(elsewhere),
            homes,
            self.why(document),
        )
