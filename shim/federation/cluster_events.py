"""Clusters that become LOST, RUNNING, DRAINING, ...: one event in the log for each change, said once."""

from collections.abc import Callable, Sequence

import structlog

from shim.domain.ids import SubClusterId
from shim.federation.inspection import ClusterStatus
from shim.ports.clock import Clock

_log = structlog.get_logger("heddle.clusters")
_LOOK_EVERY_S = 1.0
_TROUBLE = frozenset({"LOST", "RECOVERING"})


class ClusterEvents:
    """Compares how clusters are with how they were.

    Args:
        statuses: How each cluster is now.
        clock: For waiting.
    """

    def __init__(self, statuses: Callable[[], Sequence[ClusterStatus]], clock: Clock) -> None:
        self._statuses = statuses
        self._clock = clock
        self._known: dict[SubClusterId, str] = {}
        self._absent = set[SubClusterId]()  # told of already

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            self.look()
            await self._clock.sleep(_LOOK_EVERY_S)

    def look(self) -> None:
        """Tell what has changed since the last look; before the first, every cluster was NEW.

        Of one that has never answered it is told once, too: when the first poll of it has failed.
        """
        for status in self._statuses():
            was = self._known.get(status.id, "NEW")
            is_absent = not status.is_heard and bool(status.failure) and status.id not in self._absent
            if status.state == was and not is_absent:
                continue
            self._known[status.id] = status.state
            if is_absent:
                self._absent.add(status.id)
            write = _log.warning if is_absent or status.state in _TROUBLE else _log.info
            write(
                f"cluster is {status.state}",
                cluster=status.id,
                state=status.state,
                was=was,
                admission=status.admission.value,
                reason=status.failure,
            )
