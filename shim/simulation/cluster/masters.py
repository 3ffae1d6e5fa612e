"""A model of an ApplicationMaster: asks for containers for its stages, starts tasks in them, repeats those that fail.

Stages run as their needs are done, as in MapReduce (maps, then reduces) and Tez; each task has a container of its own.

Sources: `AMRMClientImpl` (asks as differences, everything anew after a resync), `RMContainerAllocator` (one heartbeat
a second, `mapreduce.map.maxattempts`).
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from shim.domain.allocations import ANY, LOST_EXIT_STATUS
from shim.domain.ids import ApplicationAttemptId, ContainerId, NodeId
from shim.errors import HeddleError, ResourceManagerError, UnavailableError
from shim.ports.resource_manager_rpc import RPCAnswer
from shim.protocol.hrpc import JavaClass
from shim.protocol.proto.messages import (
    AllocateRequestProto,
    AllocateResponseProto,
    ApplicationAttemptIdProto,
    ContainerIdProto,
    ContainerProto,
    FinalApplicationStatusProto,
    FinishApplicationMasterRequestProto,
    FinishApplicationMasterResponseProto,
    PriorityProto,
    RegisterApplicationMasterRequestProto,
    RegisterApplicationMasterResponseProto,
    ResourceRequestProto,
)
from shim.protocol.yarn import application_message
from shim.protocol.yarn.wire import container_of, resource_message
from shim.simulation.cluster.jobs import ModelledJob, ModelledStage
from shim.simulation.cluster.master_account import MasterAccount
from shim.simulation.cluster.master_service import life_of

_SUCCEEDED = FinalApplicationStatusProto.Value("APP_SUCCEEDED")
_REGISTRATION = RegisterApplicationMasterRequestProto(host="m", rpc_port=1, tracking_url="").SerializeToString()


class MasterFailedError(HeddleError):
    """An ApplicationMaster cannot go on: its container ends with a failure."""


class MasterCalls(Protocol):
    """A connection to the scheduler, as `AttemptCalls`; broken ones are made anew by the caller of `connect`."""

    async def register(self, payload_untrusted: bytes) -> RPCAnswer: ...

    async def allocate(self, payload_untrusted: bytes) -> RPCAnswer: ...

    async def finish(self, payload_untrusted: bytes) -> RPCAnswer: ...


@dataclass(frozen=True, slots=True)
class MasterSettings:
    """Settings of modelled ApplicationMasters.

    Attributes:
        retry_s: From a connection that broke to the next.
        most_failures: A task that failed so often fails its application.
        task_timeout_s: A task whose container says nothing for longer is run again (`mapreduce.task.timeout`).
        lost_after_s: A scheduler that is away for longer fails the attempt.
    """

    heartbeat_s: float = 1.0
    retry_s: float = 0.5
    most_failures: int = 4
    lost_after_s: float = 900.0
    task_timeout_s: float = 600.0


@dataclass(slots=True)
class _Progress:
    """One stage of one attempt."""

    spec: ModelledStage
    waiting: deque[int]
    asked: bool = False
    done: int = 0
    failures: dict[int, int] = field(default_factory=dict)

    @property
    def is_done(self) -> bool:
        return self.done == len(self.spec.durations_s)


class ModelledMaster:
    """One attempt.

    Args:
        connect: Opens a connection to its scheduler; raises a `ResourceManagerError` where nobody answers.
        launch: Starts a program of so many seconds in a container, by the start of the ResourceManager that gave it.
    """

    def __init__(
        self,
        attempt: ApplicationAttemptId,
        job: ModelledJob,
        *,
        connect: Callable[[ApplicationAttemptId], Awaitable[MasterCalls]],
        launch: Callable[[NodeId, ContainerId, float, int], None],
        pings: Callable[[ContainerId], bool],
        now_s: Callable[[], float],
        account: MasterAccount,
        settings: MasterSettings | None = None,
    ) -> None:
        self._attempt = attempt
        self._job = job
        self._connect = connect
        self._launch = launch
        self._pings = pings
        self._heard_s: dict[ContainerId, float] = {}
        self._now_s = now_s
        self._account = account
        self._settings = settings or MasterSettings()
        self._stages = [_Progress(stage, deque(range(len(stage.durations_s)))) for stage in job.stages]
        self._tasks: dict[ContainerId, tuple[int, int]] = {}
        self._asked: dict[tuple[int, str], int] = {}
        self._touched: set[tuple[int, str]] = set()
        self._releases: list[ContainerId] = []
        self._response_id = 0
        self._calls: MasterCalls | None = None
        self._was_given = False

    async def run(self) -> None:
        """Run the job.

        Raises:
            MasterFailedError: The attempt cannot go on.
        """
        try:
            await self._register()
            await self._beat()
            while not all(stage.is_done for stage in self._stages):
                await asyncio.sleep(self._settings.heartbeat_s)
                await self._beat()
            self._account.done_s = self._now_s()
            await self._finish()
        except MasterFailedError as exc:
            self._account.failed.append(str(exc))
            raise

    # -- calls -------------------------------------------------------------------------------------------------------

    async def _call(self, method: str, payload: bytes) -> RPCAnswer:
        """Call until somebody answers, on new connections."""
        began_s = self._now_s()
        while True:
            try:
                if self._calls is None:
                    self._calls = await self._connect(self._attempt)
                answer: RPCAnswer = await getattr(self._calls, method)(payload)
            except (ResourceManagerError, UnavailableError) as exc:
                self._calls = None
                if self._now_s() - began_s > self._settings.lost_after_s:
                    raise MasterFailedError(f"nobody answers: {exc}") from exc
            else:
                if answer.refusal is None or answer.refusal.java_class != JavaClass.RETRIABLE:
                    return answer
            await asyncio.sleep(self._settings.retry_s)

    async def _register(self) -> None:
        answer = await self._call("register", _REGISTRATION)
        refusal = answer.refusal
        if refusal is not None:  # also where the answer to an earlier try was lost: `AMRMClientImpl` has no way on
            raise MasterFailedError(f"not registered: {refusal.message}")
        self._response_id = 0
        self._asked.clear()
        self._touched.clear()
        kept = RegisterApplicationMasterResponseProto.FromString(answer.payload).containers_from_previous_attempts
        # the model does not know what ran in containers of an earlier attempt
        self._releases += [name for each in kept if (name := container_of(each.id)) not in self._tasks]

    async def _beat(self) -> None:
        self._give_up_silent()
        changed = self._changes()
        request = AllocateRequestProto(
            response_id=self._response_id,
            ask=[self._row(number, place, count) for (number, place), count in changed.items()],
            release=[_id_message(name) for name in self._releases],
        )
        answer = await self._call("allocate", request.SerializePartialToString())
        if answer.refusal is not None:
            if answer.refusal.java_class != JavaClass.APPLICATION_MASTER_NOT_REGISTERED:
                raise MasterFailedError(f"{answer.refusal.java_class}: {answer.refusal.message}")
            await self._register()
            return
        told = AllocateResponseProto.FromString(answer.payload)
        self._response_id = told.response_id
        self._releases.clear()
        self._asked |= changed
        self._touched -= changed.keys()
        for status in told.completed_container_statuses:
            self._note_end(container_of(status.container_id), status.exit_status)
        if told.allocated_containers and not self._was_given:
            self._was_given = True
            self._account.first_given.append(len(told.allocated_containers))
        for container in told.allocated_containers:
            self._use(container)

    async def _finish(self) -> None:
        request = FinishApplicationMasterRequestProto(final_application_status=_SUCCEEDED).SerializeToString()
        while True:
            answer = await self._call("finish", request)
            if answer.refusal is None:
                if FinishApplicationMasterResponseProto.FromString(answer.payload).isUnregistered:
                    return
            elif answer.refusal.java_class == JavaClass.APPLICATION_MASTER_NOT_REGISTERED:
                await self._register()
            else:
                return  # an answer that was lost: it is unregistered
            await asyncio.sleep(0.1)

    # -- asks --------------------------------------------------------------------------------------------------------

    def _changes(self) -> dict[tuple[int, str], int]:
        """Rows of asks that differ from what the scheduler was told, and those of which it granted something.

        What was granted and could not be used is wanted again: the same count is then another ask (`AMRMClientImpl`
        tells each row to which something was added, or of which something was taken off).
        """
        wanted: dict[tuple[int, str], int] = {}
        for number, stage in enumerate(self._stages):
            if not all(self._stages[before].is_done for before in stage.spec.needs):
                continue
            wanted[number, ANY] = len(stage.waiting)
            for task in stage.waiting if stage.spec.asks != "none" else ():
                for host in stage.spec.hosts[task] if stage.spec.hosts else ():
                    wanted[number, host] = wanted.get((number, host), 0) + 1
        gone = {row: 0 for row, count in self._asked.items() if count and row not in wanted}
        return {
            row: count
            for row, count in (wanted | gone).items()
            if row in self._touched or self._asked.get(row, 0) != count
        }

    def _row(self, number: int, place: str, count: int) -> ResourceRequestProto:
        return ResourceRequestProto(
            priority=PriorityProto(priority=number + 1),
            resource_name=place,
            capability=resource_message(self._job.stages[number].size),
            num_containers=count,
            relax_locality=place != ANY or self._job.stages[number].asks != "hard",
            allocation_request_id=-1,
        )

    def _use(self, container: ContainerProto) -> None:
        name = container_of(container.id)
        account = self._account
        account.granted[name] = account.granted.get(name, 0) + 1
        number = container.priority.priority - 1
        stage = self._stages[number]
        host = container.nodeId.host
        local = (task for task in stage.waiting if stage.spec.hosts and host in stage.spec.hosts[task])
        task = next(local, stage.waiting[0] if stage.waiting else None)
        self._touched.add((number, ANY))
        if task is not None and stage.spec.hosts and stage.spec.asks != "none":
            self._touched |= {(number, place) for place in stage.spec.hosts[task]}
        if task is None:
            account.surplus += 1
            self._releases.append(name)
            return
        try:
            node = NodeId(host, container.nodeId.port)
            self._launch(node, name, stage.spec.takes_s(task, host), life_of(container))
        except UnavailableError:
            self._releases.append(name)
            return
        stage.waiting.remove(task)
        self._tasks[name] = (number, task)
        account.started_s.setdefault((number, task), self._now_s())
        if stage.spec.hosts and stage.spec.hosts[task]:
            account.named += 1
            account.at_data += host in stage.spec.hosts[task]

    def _give_up_silent(self) -> None:
        """Run tasks again whose containers were silent for too long."""
        now_s = self._now_s()
        for name in tuple(self._tasks):
            if self._pings(name):
                self._heard_s[name] = now_s
            elif now_s - self._heard_s.setdefault(name, now_s) > self._settings.task_timeout_s:
                self._releases.append(name)
                self._repeat(name, LOST_EXIT_STATUS)

    def _note_end(self, name: ContainerId, status: int) -> None:
        account = self._account
        account.ended[name] = account.ended.get(name, 0) + 1
        if status != 0:
            self._repeat(name, status)
            return
        self._heard_s.pop(name, None)
        found = self._tasks.pop(name, None)
        if found is not None:
            self._stages[found[0]].done += 1

    def _repeat(self, name: ContainerId, status: int) -> None:
        """A task's container is gone, and the task is not done."""
        self._heard_s.pop(name, None)
        found = self._tasks.pop(name, None)
        if found is None:
            return
        number, task = found
        stage = self._stages[number]
        stage.waiting.append(task)
        if status != LOST_EXIT_STATUS:
            stage.failures[task] = stage.failures.get(task, 0) + 1
            if stage.failures[task] >= self._settings.most_failures:
                raise MasterFailedError(f"task {task} of stage {number} failed {stage.failures[task]} times")


def _id_message(name: ContainerId) -> ContainerIdProto:
    attempt = name.attempt
    named = ApplicationAttemptIdProto(
        application_id=application_message(attempt.application), attemptId=attempt.attempt
    )
    return ContainerIdProto(app_attempt_id=named, id=name.number)
