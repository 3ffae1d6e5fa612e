"""A model of a NodeManager: starts containers, tells at each heartbeat which have ended, stops what it is told to.

A container that ended is told of at once: the node does not wait for its next heartbeat then, and counts the interval
from this one (`ContainerImpl.ContainerDoneTransition`, `NodeStatusUpdaterImpl.sendOutofBandHeartBeat`). So each end is
an occasion for the scheduler to allocate, too.

Containers go on while the ResourceManager is away. Programs of ApplicationMasters are tasks of the loop: whoever stops
the container cancels the task.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import Protocol

from shim.domain.ids import ContainerId
from shim.errors import UnavailableError
from shim.simulation.cluster.spec import NodeManagerSpec, Timing

KILLED_EXIT_STATUS = -105
"""`ContainerExitStatus.KILLED_BY_APPMASTER`."""
_FAILED_EXIT_STATUS = 1
_AT_ONCE_S = 0.01
"""From the end of a container to the heartbeat that tells of it."""


class Tracker(Protocol):
    """The ResourceManager as its nodes see it (`ResourceTracker`)."""

    @property
    def life(self) -> int | None:
        """Start of it that answers; None while none does."""
        ...

    def enter(self, node: "NodeManager") -> None:
        """A node registers, with what runs there."""
        ...

    def beat(self, node: "NodeManager") -> list[ContainerId]:
        """A heartbeat; returns containers to be stopped."""
        ...


@dataclass(slots=True)
class _Running:
    timer: asyncio.TimerHandle | None = None
    program: "asyncio.Task[None] | None" = None


@dataclass(slots=True)
class NodeManager:
    """One node.

    Attributes:
        ended: Containers that ended and were not told of, with their exit status.
        is_dead: Whether the machine is gone: nothing runs, nothing is told.
        life: The start of the ResourceManager with which it is registered.
    """

    spec: NodeManagerSpec
    timing: Timing
    tracker: Tracker
    ended: dict[ContainerId, int] = field(default_factory=dict)
    is_dead: bool = False
    life: int | None = None
    _running: dict[ContainerId, _Running] = field(default_factory=dict)
    _next: asyncio.TimerHandle | None = None

    @property
    def running(self) -> Collection[ContainerId]:
        """Containers that it was told to start and that have not ended."""
        return self._running.keys()

    def begin(self, phase_s: float) -> None:
        """Send heartbeats from now on, the first after a part of the interval."""
        self._beat_in(phase_s)

    def _beat_in(self, seconds: float) -> None:
        """Send the next heartbeat so long from now, in the place of the one that was to come."""
        if self._next is not None:
            self._next.cancel()
        self._next = asyncio.get_running_loop().call_later(seconds, self._tick)

    def _tick(self) -> None:
        self._beat_in(self.timing.node_heartbeat_s)
        if self.is_dead or self.tracker.life is None:
            return
        if self.tracker.life != self.life:
            self.life = self.tracker.life
            self.tracker.enter(self)
            return
        told = self.tracker.beat(self)
        for container in told:
            self.stop(container)

    # -- containers --------------------------------------------------------------------------------------------------

    def start(self, container: ContainerId, runs_s: float, *, life: int, exit_status: int = 0) -> None:
        """Start a container that runs for a time.

        Args:
            container: Which; starting one that runs changes nothing.
            runs_s: How long its program runs.
            life: The start of the ResourceManager that has issued its token.
            exit_status: How its program ends.

        Raises:
            UnavailableError: The machine is gone, or the token is of an earlier start of the ResourceManager
                (`ContainerManagerImpl.authorizeStartAndResourceIncreaseRequest`).
        """
        if self.is_dead:
            raise UnavailableError(f"{self.spec.id} does not answer")
        if life != self.life:
            raise UnavailableError(f"{self.spec.id} refuses {container}: of an earlier ResourceManager")
        if container in self._running or container in self.ended:
            return
        loop = asyncio.get_running_loop()
        held = self._running[container] = _Running()
        held.timer = loop.call_later(self.timing.launch_s + runs_s, self._end, container, exit_status)

    def start_master(self, container: ContainerId, program: Callable[[], Awaitable[None]]) -> None:
        """Start an ApplicationMaster; its program begins after the time that a container takes to start."""
        if self.is_dead or container in self._running:
            return
        held = self._running[container] = _Running()
        held.timer = asyncio.get_running_loop().call_later(self.timing.launch_s, self._run, container, program)

    def _run(self, container: ContainerId, program: Callable[[], Awaitable[None]]) -> None:
        async def run() -> None:
            status = _FAILED_EXIT_STATUS
            try:
                await asyncio.sleep(self.timing.master_start_s)
                await program()
                status = 0
            finally:
                self._end(container, status)

        task = asyncio.get_running_loop().create_task(run(), name=str(container))
        task.add_done_callback(_seen)
        self._running[container].program = task

    def stop(self, container: ContainerId) -> None:
        held = self._running.get(container)
        if held is None:
            return
        self._forget(container)
        self._tell_of(container, KILLED_EXIT_STATUS)

    def die(self) -> None:
        """The machine is gone, with everything that runs on it."""
        self.is_dead = True
        for container in tuple(self._running):
            self._forget(container)
        self.ended.clear()

    def revive(self) -> None:
        """A machine that was gone starts empty."""
        self.is_dead, self.life = False, None

    def _forget(self, container: ContainerId) -> None:
        held = self._running.pop(container)
        if held.timer is not None:
            held.timer.cancel()
        if held.program is not None:
            held.program.cancel()

    def _end(self, container: ContainerId, status: int) -> None:
        if self._running.pop(container, None) is not None:
            self._tell_of(container, status)

    def _tell_of(self, container: ContainerId, status: int) -> None:
        self.ended[container] = status
        if self._next is not None and self.tracker.life is not None:
            self._beat_in(_AT_ONCE_S)


def _seen(task: "asyncio.Task[None]") -> None:
    """A program that fails is a container that fails: its exception belongs to nobody else."""
    if not task.cancelled():
        task.exception()
