"""A model of a ResourceManager: applications, attempts and containers of one cluster, in virtual time.

Its servers are beside it: `web` (REST), `client_service` and `master_service` (Hadoop RPC). What it hands out it hands
out at heartbeats of its nodes. It can be killed, paused and started again, with or without a memory of its
applications (`yarn.resourcemanager.recovery.enabled`).

Sources: `RMAppImpl`, `RMAppAttemptImpl`, `RMContainerImpl`, `ResourceTrackerService`, `ApplicationMasterLauncher`.

Expiry in a ResourceManager of what was silent for too long.

Sources: `AMLivelinessMonitor`, `NMLivelinessMonitor`, `ContainerAllocationExpirer`.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping

from shim.domain.allocations import ANY, LOST_EXIT_STATUS, Ask, AskKey
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from shim.domain.queues import is_same_queue
from shim.domain.resources import ResourceVector
from shim.errors import BadRequestError, NeverReachedError, NoAnswerError
from shim.ports.clock import Clock
from shim.simulation.cluster.applications import (
    Application,
    ContainerEnd,
    ModelledAttempt,
    ModelledContainer,
    ModelledContainerState,
    Order,
)
from shim.simulation.cluster.fair_scheduler import FairScheduler
from shim.simulation.cluster.node import NodeManager
from shim.simulation.cluster.scheduler import Allocation, CapacityScheduler
from shim.simulation.cluster.spec import ModelledClusterSpec, Timing

# A process that can be killed, stopped and started again: what is sent to it meanwhile fares as over TCP.


class ModelledProcess:
    """The life of a process.

    Attributes:
        is_up: Whether it runs, or is stopped (SIGSTOP).
        lives: How often it was started.
    """

    def __init__(self, name: str) -> None:
        self.is_up = False
        self.lives = 0
        self._name = name
        self._awake = asyncio.Event()

    @property
    def life(self) -> int | None:
        return self.lives if self.is_up and self._awake.is_set() else None

    @property
    def is_paused(self) -> bool:
        """True while it is stopped: what is sent to it waits in its sockets."""
        return self.is_up and not self._awake.is_set()

    def begin_life(self) -> None:
        self.lives += 1
        self.is_up = True
        self._awake.set()

    def end_life(self) -> None:
        """Kill it (SIGKILL), also while it is stopped."""
        self.is_up = False
        self._awake.set()

    def pause(self) -> None:
        """Stop it (SIGSTOP)."""
        if self.is_up:
            self._awake.clear()

    def resume(self) -> None:
        self._awake.set()

    async def reach(self) -> None:
        """Be taken by the process: at once, or when it goes on.

        Raises:
            NeverReachedError: It is down.
            NoAnswerError: It died before it went on.
        """
        if not self.is_up:
            raise NeverReachedError(self._name, "connection refused")
        life = self.lives
        while self.lives == life and self.is_paused:
            await self._awake.wait()
        if self.life != life:
            raise NoAnswerError(self._name, "the connection broke")


MasterProgram = Callable[[Application, ApplicationAttemptId], Awaitable[None]]
"""What an ApplicationMaster does, from its start to its end; an exception is a failed attempt."""

_MASTER_PRIORITY = -1  # before everything of other applications of its queue that has arrived later
_STORE_S = 0.02  # from the acknowledgement of a submission to its being in the state store
_WATCH_S = 1.0


class ModelledResourceManager(ModelledProcess):
    """The ResourceManager of one cluster, with its nodes.

    Args:
        rng: Where phases of heartbeats are drawn from.
        program: What the ApplicationMaster of an application runs.
    """

    def __init__(self, spec: ModelledClusterSpec, clock: Clock, rng: random.Random, program: MasterProgram) -> None:
        super().__init__(spec.name)
        self.spec = spec
        self.clock = clock
        self.applications: dict[ApplicationId, Application] = {}
        self.epoch = spec.epoch
        self.started_on_ms = 0
        self._program = program
        self._rng = rng
        self._allocates_from_s = 0.0
        self._to_stop: dict[NodeId, list[ContainerId]] = {}
        self._heard: dict[NodeId, float] = {}
        self._waiting: list[ApplicationId] = []
        self.scheduler = self._new_scheduler()
        self.nodes = {each.id: NodeManager(each, spec.timing, self) for each in spec.nodes}

    # -- the process -------------------------------------------------------------------------------------------------

    @property
    def largest(self) -> ResourceVector:
        """The largest container that may be asked for: that of the largest node."""
        sizes = [node.size for node in self.spec.nodes]
        return ResourceVector(max(size.memory_mib for size in sizes), max(size.vcores for size in sizes))

    def begin(self) -> None:
        """Start for the first time, with its nodes."""
        self.start()
        for node in self.nodes.values():
            node.begin(self._rng.uniform(0.0, self.spec.timing.node_heartbeat_s))
        asyncio.get_running_loop().call_later(_WATCH_S, self._watch)

    def start(self) -> None:
        """Start the process; with recovery it knows what its state store has."""
        if self.is_up:
            return
        now_ms = int(self.clock.now_s() * 1000)
        self.started_on_ms = max(now_ms, self.started_on_ms + 1)
        self.epoch += bool(self.lives)
        self.begin_life()
        self.scheduler = self._new_scheduler()
        self._to_stop, self._heard, self._waiting = {}, {}, []
        self._allocates_from_s = self._now_s() + (self.spec.timing.recovery_s if self.lives > 1 else 0.0)
        self._recover()

    def _new_scheduler(self) -> CapacityScheduler:
        return FairScheduler(self.spec) if self.spec.scheduler == "fair" else CapacityScheduler(self.spec)

    def kill(self) -> None:
        """End the process at once (SIGKILL): what is not in its state store is forgotten."""
        self.end_life()
        now_s = self._now_s()
        if not self.spec.recovers:
            self.applications.clear()
        self.applications = {name: each for name, each in self.applications.items() if each.saved_s <= now_s}

    def _now_s(self) -> float:
        return self.clock.monotonic_s()

    def _recover(self) -> None:
        """Know applications again; what runs is told by the nodes."""
        for application in self.applications.values():
            if application.is_over:
                continue
            attempt = application.attempt
            attempt.is_registered, attempt.response_id, attempt.last_answer = False, 0, b""
            attempt.is_active = False
            attempt.heard_s = self._now_s()
            for each in application.attempts:
                each.fresh.clear()
                each.gone, each.told = each.told + each.gone, []
                each.known_nodes.clear()
                each.containers.clear()
            order = application.order
            if attempt.master is None and not order.is_unmanaged:
                self._waiting.append(order.id)
            else:
                self._activate(application)
        self._start_waiting()

    # -- nodes -------------------------------------------------------------------------------------------------------

    def enter(self, node: NodeManager) -> None:
        """A node registers, with what runs there (`ResourceTrackerService.registerNodeManager`)."""
        self._lose(node.spec.id)
        self.scheduler.add_node(node.spec)
        self._heard[node.spec.id] = self._now_s()
        for container in (*node.running, *node.ended):  # what has ended meanwhile is told by the first heartbeat
            application = self.applications.get(container.attempt.application)
            if application is None or application.is_over or not self._recover_container(application, container):
                node.stop(container)

    def _recover_container(self, application: Application, container: ContainerId) -> bool:
        """Know a container again that a node tells of; False if nobody may have it any more.

        One that was taken away while its node could not be told is not known any more either.
        """
        attempt = _attempt_of(application, container)
        granted = application.granted.get(container)
        if granted is None or attempt is None or (attempt.is_over and not application.order.keeps_containers):
            return False
        granted.state = ModelledContainerState.RUNNING
        attempt.containers[container] = granted
        order = application.order
        self.scheduler.take(granted.node, order.queue, order.user, order.id, granted.resource)
        return True

    def beat(self, node: NodeManager) -> list[ContainerId]:
        name = node.spec.id
        if name not in self.scheduler.nodes:
            self.enter(node)
        self._heard[name] = self._now_s()
        ended, node.ended = node.ended, {}
        for container, status in ended.items():
            self._end(container, status)
        for container in tuple(node.running):
            self._see_running(container)
        if self._now_s() >= self._allocates_from_s:
            for allocation in self.scheduler.heartbeat(name):
                self._grant(allocation)
        return self._to_stop.pop(name, [])

    def _see_running(self, container: ContainerId) -> None:
        held = self.find(container)
        if held is not None and held.state is not ModelledContainerState.RUNNING:
            held.state, held.since_s = ModelledContainerState.RUNNING, self._now_s()

    def _lose(self, node: NodeId) -> None:
        """End all that ran on a node."""
        for application in tuple(self.applications.values()):
            for container, held in tuple(application.live.items()):
                if held.node == node:
                    self._end(container, LOST_EXIT_STATUS, "Container released on a *lost* node")
        self.scheduler.remove_node(node)

    def _watch(self) -> None:
        """Expire what is silent: nodes, ApplicationMasters, grants that nobody launches."""
        asyncio.get_running_loop().call_later(_WATCH_S, self._watch)
        if self.life is None:
            return
        now_s, timing = self._now_s(), self.spec.timing
        for node in silent_nodes(self._heard, now_s, timing):
            del self._heard[node]
            self._lose(node)
        for application in [each for each in self.applications.values() if not each.is_over or each.granted]:
            if is_silent(application, now_s, timing):
                self._fail_attempt(application, f"ApplicationMaster for {application.attempt.id} timed out")
            for container in unused_containers(application, now_s, timing):
                self._end(container, LOST_EXIT_STATUS, "Container expired since it was unused")

    # -- applications ------------------------------------------------------------------------------------------------

    def submit(self, order: Order) -> Application:
        """Take a submission; a known id is taken as done.

        Raises:
            BadRequestError: There is no such queue.
        """
        known = self.applications.get(order.id)
        if known is not None:
            return known
        asked = order.queue or "default"
        path = next((each for each in self.scheduler.queues if is_same_queue(each, asked)), None)
        if path is None:
            raise BadRequestError(f"Application {order.id} submitted by user : {order.user} to unknown queue : {asked}")
        made = Application(order, int(self.clock.now_s() * 1000), self._now_s() + _STORE_S).at_queue(path)
        self.applications[order.id] = made
        self._begin_attempt(made)
        return made

    def kill_application(self, application_id: ApplicationId, why: str = "") -> None:
        """End an application, if it has not ended."""
        application = self.applications.get(application_id)
        if application is not None and not application.is_over:
            self._finish(application, "KILLED", "KILLED", why)

    def finish_application(self, application: Application, status: str, diagnostics: str) -> None:
        """An ApplicationMaster says that its application has ended."""
        self._finish(application, "FINISHED", status, diagnostics)

    def find(self, container: ContainerId) -> ModelledContainer | None:
        application = self.applications.get(container.attempt.application)
        if application is None:
            return None
        return next((each.containers[container] for each in application.attempts if container in each.containers), None)

    def release(self, container: ContainerId, status: int, why: str = "") -> None:
        """Take a container away: its node is told at its next heartbeat, its room is free at once."""
        held = self.find(container)
        if held is not None:
            self._to_stop.setdefault(held.node, []).append(container)
            self._end(container, status, why)

    def _begin_attempt(self, application: Application) -> None:
        number = len(application.attempts) + 1
        attempt = ModelledAttempt(ApplicationAttemptId(application.order.id, number), self._now_s())
        before = application.attempts[-1] if application.attempts else None
        application.attempts.append(attempt)
        if before is not None and application.order.keeps_containers:
            attempt.gone, before.gone = before.gone, []
        application.state = "ACCEPTED"
        if application.order.is_unmanaged:
            self._activate(application)
            return
        self._waiting.append(application.order.id)
        self._start_waiting()

    def waiting_masters(self, queue: str) -> list[ResourceVector]:
        """ApplicationMasters of a queue whose turn has not come: each is asked for, and nothing is given yet."""
        orders = (self.applications[name].order for name in self._waiting if not self.applications[name].is_over)
        return [order.master for order in orders if order.queue == queue]

    def _start_waiting(self) -> None:
        """Let ApplicationMasters start as far as their queues' part for them goes (`activateApplications`)."""
        left: list[ApplicationId] = []
        for name in self._waiting:
            application = self.applications.get(name)
            if application is None or application.is_over:
                continue
            order = application.order
            if not self.scheduler.may_start_master(order.queue, order.master):
                left.append(name)
                continue
            self._activate(application)
            key = AskKey(_MASTER_PRIORITY, -1, is_opportunistic=False, resource=order.master)
            self.scheduler.ask(application.attempt.id, [Ask(key, ANY, 1)])
        self._waiting = left

    def _activate(self, application: Application) -> None:
        """Let the newest attempt have containers."""
        order, attempt = application.order, application.attempt
        self.scheduler.add(attempt.id, order.queue, order.user)
        attempt.is_active = True
        if not order.is_unmanaged:
            self.scheduler.reserve_master(order.queue, order.master)

    def _retire(self, application: Application, attempt: ModelledAttempt) -> None:
        order = application.order
        self.scheduler.remove(attempt.id)
        if attempt.is_active and not order.is_unmanaged:
            self.scheduler.release_master(order.queue, order.master)
        attempt.is_over, attempt.is_active = True, False

    def _grant(self, allocation: Allocation) -> None:
        application = self.applications[allocation.attempt.application]
        attempt, key = application.attempt, allocation.key
        held = ModelledContainer(
            attempt.next_id(self.epoch),
            allocation.node,
            key.resource,
            key.priority,
            key.allocation_request_id,
            int(self.clock.now_s() * 1000),
            self._now_s(),
        )
        attempt.containers[held.id] = application.granted[held.id] = held
        if attempt.master is None and not application.order.is_unmanaged:
            held.is_master, held.priority = True, 0
            attempt.master = held.id
            attempt.heard_s = self._now_s()
            application.launched_ms = application.launched_ms or held.given_ms
            self.nodes[held.node].start_master(held.id, lambda: self._program(application, attempt.id))
        else:
            attempt.fresh.append(held)

    def _end(self, container: ContainerId, status: int, why: str = "") -> None:
        """A container is no more: its room is free, its ApplicationMaster is told."""
        application = self.applications.get(container.attempt.application)
        if application is None:
            return
        owner = next((each for each in application.attempts if container in each.containers), None)
        if owner is None:
            return
        held = owner.containers.pop(container)
        application.granted.pop(container, None)
        lasted_s = self._now_s() - held.since_s
        application.mib_s += held.resource.memory_mib * lasted_s
        application.vcore_s += held.resource.vcores * lasted_s
        order = application.order
        self.scheduler.release(held.node, order.queue, order.user, order.id, held.resource)
        newest = application.attempt
        if held in owner.fresh:
            owner.fresh.remove(held)
        if held.is_master:
            if owner is newest and not application.is_over:
                self._fail_attempt(application, f"AM Container for {owner.id} exited with exitCode: {status}")
            self._start_waiting()
        else:
            newest.gone.append(ContainerEnd(container, status, why))

    def _fail_attempt(self, application: Application, why: str) -> None:
        attempt, order = application.attempt, application.order
        self._retire(application, attempt)
        is_last = len(application.attempts) >= order.most_attempts
        master = attempt.master
        if master is not None and master in attempt.containers:
            self.release(master, LOST_EXIT_STATUS)
        if is_last:
            self._finish(application, "FAILED", "FAILED", f"Application failed {order.most_attempts} times: {why}")
            return
        if not order.keeps_containers:
            for container in tuple(attempt.containers):
                self.release(container, LOST_EXIT_STATUS, "its attempt has ended")
        self._begin_attempt(application)

    def _finish(self, application: Application, state: str, status: str, diagnostics: str) -> None:
        application.state, application.final_status, application.diagnostics = state, status, diagnostics
        application.finished_ms = int(self.clock.now_s() * 1000)
        for attempt in application.attempts:
            self._retire(application, attempt)
            for container in tuple(attempt.containers):
                if state != "FINISHED" or not attempt.containers[container].is_master:
                    self.release(container, LOST_EXIT_STATUS)
        self._start_waiting()

    # -- what is shown -----------------------------------------------------------------------------------------------

    def used(self) -> ResourceVector:
        return sum((node.used for node in self.scheduler.nodes.values()), ResourceVector())


def _attempt_of(application: Application, container: ContainerId) -> ModelledAttempt | None:
    return next((each for each in application.attempts if each.id == container.attempt), None)


def silent_nodes(heard_s: Mapping[NodeId, float], now_s: float, timing: Timing) -> list[NodeId]:
    """Nodes that have not sent a heartbeat for too long.

    Args:
        heard_s: The time of each node's last heartbeat.
        timing: How long is too long.
    """
    return [node for node, at_s in heard_s.items() if now_s - at_s > timing.node_expiry_s]


def is_silent(application: Application, now_s: float, timing: Timing) -> bool:
    """True if an application's ApplicationMaster was started, and says nothing."""
    if application.is_over:
        return False
    attempt = application.attempt
    is_started = attempt.is_registered or attempt.master is not None
    return is_started and now_s - attempt.heard_s > timing.master_expiry_s


def unused_containers(application: Application, now_s: float, timing: Timing) -> list[ContainerId]:
    """Containers that an ApplicationMaster was given and that no node was told to start.

    Source: `RMContainerImpl` registers with `ContainerAllocationExpirer` when a container is acquired.
    """
    return [
        name
        for name, held in application.live.items()
        if held.state is ModelledContainerState.ACQUIRED
        and not held.is_master
        and now_s - held.since_s > timing.allocation_expiry_s
    ]
