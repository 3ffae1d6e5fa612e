"""The newest events of applications' lives, kept for people who look: what was decided, and why."""

from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from shim.domain.ids import ApplicationId
from shim.ports.clock import Clock
from shim.telemetry.application_life import LifeEvent

_MOST_KEPT = 5000
_MOST_OWNERS = 20_000
_LONGEST = 500


@dataclass(frozen=True, slots=True)
class Decision:
    """One event.

    Attributes:
        number: Counts events of this process, from 1.
        at_ms: When it was, since the epoch.
        user: Whose application it is; empty if this process was not told.
        queue: Its queue; likewise.
        facts: What else is known, as in the log: `home`, `reason`, `scores`, ...
    """

    number: int
    at_ms: int
    event: LifeEvent
    application: ApplicationId
    user: str
    queue: str
    facts: Mapping[str, Any]


@dataclass(slots=True)
class RecentDecisions:
    """Keeps the last 5,000 events; `note` is a `LifeListener`."""

    clock: Clock
    _events: deque[Decision] = field(default_factory=lambda: deque(maxlen=_MOST_KEPT))
    _owners: OrderedDict[ApplicationId, tuple[str, str]] = field(default_factory=OrderedDict)
    _count: int = 0

    def note(self, event: LifeEvent, application: ApplicationId, facts: Mapping[str, Any]) -> None:
        """Take in an event; long texts are cut, and secrets are for whoever shows them to take out."""
        user, queue = self._owners.get(application, ("", ""))
        user, queue = str(facts.get("user", user)), str(facts.get("queue", queue))
        self._owners[application] = user, queue
        if len(self._owners) > _MOST_OWNERS:
            self._owners.popitem(last=False)
        self._count += 1
        kept = {name: _cut(value) for name, value in facts.items() if name not in ("user", "queue")}
        at_ms = int(self.clock.now_s() * 1000)
        self._events.append(Decision(self._count, at_ms, event, application, user, queue, kept))

    def newest_first(self) -> Iterator[Decision]:
        return reversed(self._events)


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _LONGEST else value[:_LONGEST]
    return {name: _cut(each) for name, each in value.items()} if isinstance(value, Mapping) else value
