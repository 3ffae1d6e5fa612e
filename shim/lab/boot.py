"""Waiting until a lab is ready, and telling how far it is."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shim.errors import LabError
from shim.lab.daemons import RESOURCE_MANAGER
from shim.lab.handles import Cluster
from shim.lab.processes import state_of, tail, wait_until
from shim.lab.readiness import ask, listens
from shim.lab.state import DaemonRecord

LOG_LINES = 15
"""How much of a log an error shows."""

_POLL_S = 0.2
_NO_RESOURCE_MANAGER = -1
_SERVING = frozenset({"ACTIVE", "STANDBY"})


@dataclass(frozen=True, slots=True)
class BootStep:
    """One step of starting a lab, for whoever shows progress.

    Attributes:
        total: Daemons of the lab.
        elapsed_s: Since the start.
    """

    message: str
    ready: int
    total: int
    elapsed_s: float


Watcher = Callable[[BootStep], None]

Meanwhile = Callable[[Callable[[str], None]], None]
"""What else is to be done while daemons start: called again and again, with what it may tell its steps to, so it must
not wait for anything."""


class BootProgress:
    """Counts what is ready and tells the watcher, with the time that has passed."""

    def __init__(self, watch: Watcher, *, total: int) -> None:
        self.total = total
        self._watch = watch
        self._ready = 0
        self._began = time.monotonic()

    def say(self, message: str) -> None:
        self.step(message, 0)

    def step(self, message: str, ready: int) -> None:
        self._ready += ready
        self._watch(BootStep(message, self._ready, self.total, time.monotonic() - self._began))


def await_daemon(daemon: DaemonRecord, *, timeout_s: float) -> None:
    """Wait until a daemon that was started takes requests; a ResourceManager as the active or the standby one.

    Raises:
        LabError: If it has ended, or time runs out; with the last lines of its log.
    """

    def serves() -> bool:
        return ask(daemon.web).ha_state in _SERVING if daemon.main_class == RESOURCE_MANAGER else listens(daemon.web)

    def has_ended() -> bool:
        return daemon.process is None or state_of(daemon.process) is None

    if wait_until(lambda: has_ended() or serves(), timeout_s=timeout_s, poll_s=_POLL_S) and not has_ended():
        return
    what = "ended" if has_ended() else f"runs, and serves nobody at {daemon.web} after {timeout_s:.0f} s"
    raise LabError(f"{daemon.name} {what}. Last lines of {daemon.log}:\n{tail(daemon.log, LOG_LINES)}")


class BootWatch:
    """Watches starting clusters until each has an active ResourceManager and all its nodes.

    Args:
        daemons: Of all of them; one that ends is an error.
        activate: Makes the first ResourceManager of a pair the active one; called when all of a pair stand by.
    """

    def __init__(
        self,
        clusters: Mapping[str, Cluster],
        daemons: tuple[DaemonRecord, ...],
        progress: BootProgress,
        activate: Callable[[Cluster], None],
    ) -> None:
        self._clusters = clusters
        self._daemons = daemons
        self._progress = progress
        self._activate = activate
        self._usable_nodes: dict[str, int] = dict.fromkeys(clusters, _NO_RESOURCE_MANAGER)

    def wait(self, meanwhile: Meanwhile, *, timeout_s: float) -> None:
        """Return when all are ready; `meanwhile` is called at each look at those that are not.

        Raises:
            LabError: If a daemon has ended, or time runs out; with the last lines of a log.
        """
        deadline = time.monotonic() + timeout_s
        while late := self._late():
            self._refuse_if_dead()
            if time.monotonic() > deadline:
                raise LabError(f"the lab is not ready after {timeout_s:.0f} s: {self._complaint(late)}")
            for cluster in late:
                self._look_at(cluster)
            meanwhile(self._progress.say)
            time.sleep(_POLL_S)

    def _late(self) -> list[Cluster]:
        return [c for id_, c in self._clusters.items() if self._usable_nodes[id_] < c.record.spec.nodes]

    def _look_at(self, cluster: Cluster) -> None:
        layouts = cluster.record.layout.resource_managers
        reports = [ask(layout.web) for layout in layouts]
        if len(layouts) > 1 and all(report.ha_state == "STANDBY" for report in reports):
            self._activate(cluster)
        active = next((report for report in reports if report.ha_state == "ACTIVE"), None)
        if active is None:
            return
        known = self._usable_nodes[cluster.id]
        if known == _NO_RESOURCE_MANAGER:
            self._progress.step(f"{cluster.id}: ResourceManager {active.version} is active", len(layouts))
        # a ResourceManager believes for a while in a node that was killed and started again
        answering = sum(listens(node.web) for node in cluster.record.layout.nodes)
        usable = min(active.usable_nodes, answering)
        for number in range(max(known, 0), usable):
            self._progress.step(f"{cluster.id}: {number + 1} of {cluster.record.spec.nodes} nodes", 1)
        self._usable_nodes[cluster.id] = max(known, usable)

    def _refuse_if_dead(self) -> None:
        for daemon in self._daemons:
            if daemon.process is None or state_of(daemon.process) is None:
                raise LabError(f"{daemon.name} ended. Last lines of {daemon.log}:\n{tail(daemon.log, LOG_LINES)}")

    def _complaint(self, late: list[Cluster]) -> str:
        counts = {cluster.id: self._usable_nodes[cluster.id] for cluster in late}
        phrases = [
            f"{id_} has no active ResourceManager"
            if nodes == _NO_RESOURCE_MANAGER
            else f"{id_} has {nodes} of {self._clusters[id_].record.spec.nodes} nodes"
            for id_, nodes in counts.items()
        ]
        log = next(daemon.log for daemon in self._daemons if daemon.cluster == late[0].id)
        return f"{', '.join(phrases)}. Last lines of {log}:\n{tail(log, LOG_LINES)}"
