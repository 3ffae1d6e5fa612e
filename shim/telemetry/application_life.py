"""The life of an application in the log: one structured event for each thing that happens to it, by its id.

Every event is of the logger `heddle.application` and has `application_id`; operations.md has the table of them.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial
from typing import Any

import structlog

from shim.domain.applications import SPAN_TAG, YarnApplicationState
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import SubClusterReport
from shim.domain.submissions import HomeDecision
from shim.errors import HeddleError
from shim.federation.core.federation_view import Applied

_log = structlog.get_logger("heddle.application")
_MOST_REMEMBERED = 100_000
_MOST_UNTOLD = 20_000
_AT_ONCE = 50
"""Events that are told in one turn of the event loop: each is a line of the log, and every listener gets it."""


class LifeEvent(StrEnum):
    """Event in the life of an application."""

    SUBMITTED = "application submitted"
    WAITS = "application waits"
    DEADLINE_HOPELESS = "application cannot meet its deadline"
    HOME_CHOSEN = "application home chosen"
    STARTED = "application started"
    SPANS = "application spans"
    LEAVES = "application leaves a cluster"
    REPAIRED = "application repaired"
    PREEMPTED = "application preempted"
    ENDED = "application ended"


LifeListener = Callable[[LifeEvent, ApplicationId, Mapping[str, Any]], None]
"""Hears of an event and of its facts; it neither fails nor waits."""

_listeners: list[LifeListener] = []


def tell(event: LifeEvent, application_id: ApplicationId, **facts: Any) -> None:
    """Write one event; facts are plain values."""
    _log.info(event.value, application_id=str(application_id), **facts)
    for listener in _listeners:
        listener(event, application_id, facts)


def listen(listener: LifeListener) -> Callable[[], None]:
    """Have every event of this process told from now on, whatever the level of the log; returns what ends that."""
    _listeners.append(listener)
    return lambda: _listeners.remove(listener)


def scores_of(decision: HomeDecision) -> Mapping[str, float | str]:
    """The score of each cluster, or why it had none."""
    return {
        candidate.subcluster: candidate.reason if candidate.score is None else round(candidate.score, 3)
        for candidate in decision.candidates
    }


class ApplicationLives:
    """Tells of starts and ends as polls show them; implements `PollListener`.

    What the first report of a cluster shows as running or ended became so before this process listened: a start is
    not told then, and an end only of what the federation had not seen final (`ended`).
    """

    def __init__(self) -> None:
        self._running: dict[SubClusterId, set[ApplicationId]] = {}
        self._ended: OrderedDict[ApplicationId, None] = OrderedDict()
        self._untold: deque[Callable[[], None]] = deque()
        self._left_out = 0
        self._left = _AT_ONCE
        self._is_turn_due = False

    def reported(self, report: SubClusterReport, applied: Applied) -> None:
        if not applied.is_new:
            return
        name, now_running = report.subcluster, YarnApplicationState.RUNNING
        is_first = name not in self._running
        known = self._running.setdefault(name, set())
        for application_id, document in report.applications.items():
            summary = document.summary
            if summary.state is not now_running or application_id in known or SPAN_TAG in summary.tags:
                continue
            known.add(application_id)
            if not is_first:
                facts = {"cluster": name, "queue": summary.queue, "user": summary.user}
                self._tell(partial(tell, LifeEvent.STARTED, application_id, **facts))
        for application_id in applied.became_final:
            known.discard(application_id)
            if not is_first:
                summary = report.applications[application_id].summary
                self.ended(application_id, name, summary.state.value, summary.final_status.value)

    def failed(self, subcluster: SubClusterId, error: HeddleError) -> None:
        """See `PollListener`: nothing is concluded from silence."""

    def ended(self, application_id: ApplicationId, cluster: SubClusterId, state: str, final_status: str) -> None:
        """Tell an end once, whoever noticed it."""
        if application_id in self._ended:
            return
        self._ended[application_id] = None
        if len(self._ended) > _MOST_REMEMBERED:
            self._ended.popitem(last=False)
        facts = {"cluster": cluster, "state": state, "final_status": final_status}
        self._tell(partial(tell, LifeEvent.ENDED, application_id, **facts))

    def _tell(self, work: Callable[[], None]) -> None:
        """Tell now, or in a later turn if this one has told of many; of very many at a time some are counted alone."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # nobody waits for a turn
            work()
            return
        if len(self._untold) >= _MOST_UNTOLD:
            self._left_out += 1
            return
        self._untold.append(work)
        self._say()
        if not self._is_turn_due:
            self._is_turn_due = True
            loop.call_soon(self._next_turn, loop)

    def _say(self) -> None:
        while self._untold and self._left:
            self._left -= 1
            try:
                self._untold.popleft()()
            except Exception:  # noqa: BLE001 - of one application; the others are told of, in this turn and in later ones
                _log.exception("an event of an application could not be told")

    def _next_turn(self, loop: asyncio.AbstractEventLoop) -> None:
        self._left = _AT_ONCE
        self._say()
        self._is_turn_due = bool(self._untold)
        if self._untold:
            loop.call_soon(self._next_turn, loop)
        elif self._left_out:
            _log.warning("more applications began or ended at a time than are told of", left_out=self._left_out)
            self._left_out = 0
