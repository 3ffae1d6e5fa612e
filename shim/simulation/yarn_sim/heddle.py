"""One process of Heddle in virtual time: the use cases of production, assembled as there, over modelled clusters.

Instead of servers it has methods: a client submits by `submit`, an ApplicationMaster connects by `connect`. What these
do with errors is what the servers do (`shim.server.rpc`).
"""

import asyncio
import json
import random
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import structlog

from shim.app.background import begin, lasting_work
from shim.app.peers import GlobalMasterParts, local_master
from shim.app.runtime import ReachableClusters, Runtime, new_view
from shim.app.use_cases import UseCases, assemble
from shim.concurrency.solver_child import solve_here
from shim.domain.gangs import GANG_TAG
from shim.domain.ids import ApplicationAttemptId, ApplicationId, SubClusterId
from shim.domain.job_graphs import JobGraph, Stage, StagesOfJob
from shim.domain.wishes import DEADLINE_TAG
from shim.errors import (
    HeddleError,
    NeverReachedError,
    NoAnswerError,
    NotFoundError,
    ResourceManagerError,
    StoreError,
    UnavailableError,
    UserError,
)
from shim.federation.inspection import SubClusterDescription
from shim.multicluster.attempts import AttemptDirectory
from shim.peers.local import StandingLocalMaster
from shim.peers.roster import global_master_role, local_master_role
from shim.ports.attempt_calls import Attempt
from shim.ports.resource_manager import RestAnswer, RestRequest
from shim.ports.resource_manager_rpc import RPCAnswer, RPCRefusal
from shim.protocol.hrpc import JavaClass
from shim.protocol.rest.submission_context import decode_submission
from shim.simulation.cluster.federation import DirectCalls
from shim.simulation.cluster.jobs import ModelledJob
from shim.simulation.cluster.masters import MasterCalls
from shim.simulation.virtual_time import GatedClock, ProcessGate
from shim.simulation.yarn_sim.network import ModelledNetwork, NetworkedLogins, NetworkedManager, NetworkedRPC
from shim.simulation.yarn_sim.stores import gated_stores
from shim.simulation.yarn_sim.world import HeddleWorld, SchedulerOfAttempts

T = TypeVar("T")

_log = structlog.get_logger("heddle.simulation")
_LOGIN_TIMEOUT_S = 20.0
_MASTER_PORT, _SCHEDULER_PORT = 8000, 9000
_SOLVES_FOR_S = 60.0


class ModelledHeddle:
    """`heddle serve` as one process, or `heddle gm`; `start` it again after `kill`.

    Args:
        name: Of the process, as links of the network name it.
        is_master: Whether it is one of several Global Masters, with the Local Masters elsewhere.

    Attributes:
        bugs: What must never happen: parts that ended, and exceptions that no caller is told as what they are.
    """

    def __init__(self, world: HeddleWorld, name: str = "heddle", *, is_master: bool = False) -> None:
        self.world = world
        self._is_master = is_master
        self.master: GlobalMasterParts | None = None
        self.name = name
        self.lives = 0
        self.bugs: list[str] = []
        self.gate = ProcessGate(name)
        self.gate.kill()
        self.clock = GatedClock(world.clock, self.gate)
        self._use_cases: UseCases | None = None
        self._attempts: AttemptDirectory | None = None
        self._began: asyncio.Task[None] | None = None

    # -- the process -------------------------------------------------------------------------------------------------

    @property
    def is_up(self) -> bool:
        """Return whether it runs, or is stopped."""
        return not self.gate.is_dead

    @property
    def is_ready(self) -> bool:
        """Return whether it has begun to serve."""
        return self.is_up and self._attempts is not None

    @property
    def use_cases(self) -> UseCases:
        """Use cases of the present life; for tests and invariants to look at."""
        assert self._use_cases is not None  # noqa: S101 - nobody looks before the start
        return self._use_cases

    @property
    def scheduler_address(self) -> str:
        """Address at which the present life takes ApplicationMasters; empty while it does not."""
        return f"{self.name}:{_SCHEDULER_PORT + self.lives}" if self.is_ready else ""

    def start(self) -> None:
        """Start the process; it serves when it has polled."""
        if self.is_up:
            return
        self.lives += 1
        step_s = self.clock.step_s
        self.gate = ProcessGate(self.name)
        self.clock = GatedClock(self.world.clock, self.gate)
        self.clock.step_s = step_s
        self._attempts = None
        self._use_cases = self._assembled()
        self._began = self.gate.spawn(self._begin(), f"{self.name} begins")

    def kill(self) -> None:
        """End it (SIGKILL)."""
        self.gate.kill()

    def _assembled(self) -> UseCases:
        runtime = self._runtime()
        self.master = self._made_master(runtime) if self._is_master else None
        return assemble(runtime, global_master=self.master)

    def _made_master(self, runtime: Runtime) -> GlobalMasterParts:
        """As `open_global_master`, on links of the model."""
        links, address = self.world.links, f"{self.name}:{_MASTER_PORT + self.lives}"
        role = global_master_role(self.name)
        master = GlobalMasterParts(self.name, address, runtime, links.dialer(role, self.gate))
        links.listen(address, role, self.gate, master.accept)
        return master

    def _runtime(self) -> Runtime:
        world, gate, network = self.world, self.gate, self.world.network
        clusters = world.federation.clusters
        managers = {name: NetworkedManager(each.web, network, gate) for name, each in clusters.items()}
        return Runtime(
            config=world.config,
            clock=self.clock,
            random=random.Random(f"{world.seed}/{self.name}/{self.lives}"),  # noqa: S311 - repeatable on purpose
            clusters=ReachableClusters(
                managers=managers,
                logins=NetworkedLogins(clusters, network, gate),
                rpcs={name: NetworkedRPC(each.client, network, gate) for name, each in clusters.items()},
                descriptions={name: SubClusterDescription((f"http://rm.{name}:8088",)) for name in clusters},
                ask_node=dict.fromkeys(clusters, _no_node),
            ),
            stores=gated_stores(world.stores, gate, world.faults),
            view=new_view(world.config),
            groups_of=lambda _: frozenset(),
            user="heddle",
            secret=b"s" * 32,
            solve=_solved_at_once,
            shadow_solve=_solved_at_once,
        )

    async def _begin(self) -> None:
        """As `shim.app.bootstrap` does; what fails at the start is tried again, as whoever supervises it would."""
        use_cases, master = self.use_cases, self.master
        if master is not None:
            with suppress(StoreError):  # tried again, for ever
                await master.ownership.round()
            self.gate.spawn(self._watched("ownership", master.ownership.run), "ownership")
        while True:
            try:
                await begin(use_cases)
                break
            except HeddleError as exc:
                _log.info("not started yet", process=self.name, reason=str(exc))
                await self.clock.sleep(1.0)
        await use_cases.spans.check(use_cases.shares.policy())
        works = {**lasting_work(use_cases), "preemption": use_cases.preemption.run, "altruism": self._look_at_jobs}
        for name, work in works.items():
            self.gate.spawn(self._watched(name, work), name)
        self._attempts = self._made_attempts(use_cases)
        if master is not None:
            self._take_masters(master)

    def _take_masters(self, master: GlobalMasterParts) -> None:
        address = self.scheduler_address
        self.world.schedulers[address] = self
        self.gate.spawn(self._watched("addresses", lambda: master.addresses.run(address)), "addresses")

    async def _look_at_jobs(self) -> None:
        """Looks of `AltruismService` and `OutlineReader`, without threads: virtual time waits for none."""
        while True:
            self.use_cases.altruism.look()
            self.use_cases.outlines.look()
            await self.clock.sleep(self.world.config.shares.interval_s)

    def _made_attempts(self, use_cases: UseCases) -> AttemptDirectory:
        backend = use_cases.backend
        return AttemptDirectory(
            backend.routing,
            backend.view,
            backend.managers,
            backend.clock,
            read=use_cases.shares.read,
            was_read=use_cases.spans.service.was_read,
            answer_within_s=self.world.config.server.answer_within_s,
        )

    async def _watched(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """A part that ends by itself is a bug; in production it begins again."""
        try:
            await work()
        except Exception as exc:  # noqa: BLE001 - the boundary of a task
            self.bugs.append(f"{self.name}: {name} ended: {type(exc).__name__}: {exc}")

    # -- clients -----------------------------------------------------------------------------------------------------

    async def issue(self) -> ApplicationId:
        """A new id, as `new-application` gives it.

        Raises:
            HeddleError: It is not given now.
        """
        return await self._serve("client", self.use_cases.backend.ids.issue)

    async def submit(self, application_id: ApplicationId, job: ModelledJob) -> None:
        """Submit a job under an id; a return is a 202.

        Raises:
            HeddleError: It was not acknowledged.
        """
        context = submission_context(application_id, job)
        submission = decode_submission(context, media_type="application/json", user=job.user)
        self.use_cases.shares.graphs.put(application_id, _stages(job))
        await self._serve("client", lambda: self.use_cases.backend.submissions.submit(submission))

    async def kill_application(self, application_id: ApplicationId, user: str) -> None:
        """Kill an application, as a user.

        Raises:
            HeddleError: It was not acknowledged.
        """
        control = self.use_cases.backend.control
        await self._serve("client", lambda: control.kill(application_id, user=user))

    async def _serve(self, client: str, work: Callable[[], Awaitable[T]]) -> T:
        async def run() -> T:
            return await work()

        if not self.is_ready:
            raise NeverReachedError(self.name, "connection refused")
        return await self.world.network.carry((client, self.name), "client", lambda: self.gate.serve(run, client))

    # -- ApplicationMasters ------------------------------------------------------------------------------------------

    async def connect(
        self, sender: str, attempt_id: ApplicationAttemptId, *, was_passed_on: bool = False
    ) -> MasterCalls:
        """A connection of an ApplicationMaster.

        Args:
            sender: Where it comes from, as links of the network name it.
            was_passed_on: Whether another Global Master passes it on; it goes no further then.

        Raises:
            ResourceManagerError: The connection was refused, or ended before the login had.
        """
        attempts = self._attempts
        if attempts is None or not self.is_up:
            raise NeverReachedError(self.name, "connection refused")
        gate, network = self.gate, self.world.network
        link = (sender, self.name)
        try:
            found = await network.carry(
                link,
                "login",
                lambda: gate.serve(lambda: attempts.find(attempt_id), "login"),
                timeout_s=_LOGIN_TIMEOUT_S,
            )
        except ResourceManagerError:
            raise
        except NotFoundError:
            return RefusedLogin(attempt_id)
        except HeddleError as exc:
            raise NoAnswerError(self.name, f"the connection was closed: {exc}") from exc
        owner = self._owner_of(found) if found.is_read and not was_passed_on else None
        calls = (
            self._calls_of(found) if owner is None else await owner.connect(self.name, attempt_id, was_passed_on=True)
        )
        return Connection(gate, network, link, calls, self.bugs)

    def _owner_of(self, found: Attempt) -> SchedulerOfAttempts | None:
        """The other Global Master that owns an attempt's queue, if there is one that can be reached.

        Raises:
            NeverReachedError: Nobody is where its lease tells.
        """
        address = "" if self.master is None else self.master.addresses.address_of(found.queue)
        owner = self.world.scheduler_at(address)
        if address and owner is None:
            raise NeverReachedError(self.name, f"the owner of {found.queue} at {address} refuses connections")
        return owner

    def _calls_of(self, found: Attempt) -> MasterCalls:
        clusters, network = self.world.federation.clusters, self.world.network
        login = NetworkedLogins(clusters, network, self.gate).at(found.home_subcluster, found.id)
        return self.use_cases.spans.service.enter(found, login) if found.is_read else DirectCalls(login)


async def _solved_at_once(name: str, arrays: Mapping[str, object], limit_s: float) -> object | None:  # noqa: ARG001
    """Solve without time going by, and without a limit of real time: a run can be repeated."""
    try:
        return solve_here(name, arrays, _SOLVES_FOR_S)
    except ImportError:  # as in production, where the extra is not installed
        return None


async def _no_node(address: str, request: RestRequest) -> RestAnswer:
    raise UnavailableError(f"{address} does not answer {request.path}")


def _stages(job: ModelledJob) -> StagesOfJob:
    """The plan that a job leaves: its stages without times, and the priorities at which `ModelledMaster` asks."""
    stages = [
        Stage(f"stage {number}", len(each.durations_s), each.size.memory_mib, each.size.vcores, each.needs, each.needs)
        for number, each in enumerate(job.stages)
    ]
    priorities = {number + 1: number for number in range(len(stages))}
    return StagesOfJob(JobGraph.of(job.name, stages), priorities, source="the modelled job's plan")


# Connections of ApplicationMasters to a process of Heddle in virtual time, with the answers that servers give.

_MASTER_TIMEOUT_S = 60.0  # `ipc.client.rpc-timeout.ms` is none, but a dead peer is noticed by pings after this


@dataclass(frozen=True, slots=True)
class Connection:
    """One connection of an ApplicationMaster: implements `MasterCalls` as `InterceptingRelay` answers.

    Attributes:
        link: Sender and receiver.
        bugs: Told of exceptions that no caller is told as what they are.
    """

    gate: ProcessGate
    network: ModelledNetwork
    link: tuple[str, str]
    calls: MasterCalls
    bugs: list[str]

    async def register(self, payload_untrusted: bytes) -> RPCAnswer:
        return await self._call("register", lambda: self.calls.register(payload_untrusted))

    async def allocate(self, payload_untrusted: bytes) -> RPCAnswer:
        return await self._call("allocate", lambda: self.calls.allocate(payload_untrusted))

    async def finish(self, payload_untrusted: bytes) -> RPCAnswer:
        return await self._call("finish", lambda: self.calls.finish(payload_untrusted))

    async def _call(self, name: str, work: Callable[[], Coroutine[Any, Any, RPCAnswer]]) -> RPCAnswer:
        async def run() -> RPCAnswer:
            try:
                return await work()
            except ResourceManagerError:
                raise
            except UserError as exc:
                return RPCAnswer(b"", RPCRefusal(JavaClass.YARN, str(exc)))
            except HeddleError as exc:
                return RPCAnswer(b"", RPCRefusal(JavaClass.RETRIABLE, str(exc)))
            except Exception as exc:  # noqa: BLE001 - a call's boundary
                self.bugs.append(f"{self.gate.name}: {name} failed: {type(exc).__name__}: {exc}")
                return RPCAnswer(b"", RPCRefusal(JavaClass.YARN, f"{name} failed inside Heddle"))

        return await self.network.carry(
            self.link, f"master {name}", lambda: self.gate.serve(run, name), timeout_s=_MASTER_TIMEOUT_S
        )


@dataclass(frozen=True, slots=True)
class RefusedLogin:
    """A login that was refused: no sub-cluster knows the application."""

    attempt: ApplicationAttemptId

    async def register(self, payload_untrusted: bytes) -> RPCAnswer:
        return self._refuse(payload_untrusted)

    async def allocate(self, payload_untrusted: bytes) -> RPCAnswer:
        return self._refuse(payload_untrusted)

    async def finish(self, payload_untrusted: bytes) -> RPCAnswer:
        return self._refuse(payload_untrusted)

    def _refuse(self, _: bytes) -> RPCAnswer:
        told = f"{self.attempt} not found in AMRMTokenSecretManager."
        return RPCAnswer(b"", RPCRefusal(JavaClass.INVALID_TOKEN, told))


# Submission contexts of modelled jobs, as clients of the REST API write them.


def _tags(job: ModelledJob) -> list[str]:
    deadline = [f"{DEADLINE_TAG}=+{job.deadline_s}s"] if job.deadline_s else []
    return [*job.tags, *deadline, *([f"{GANG_TAG}={job.gang}@{job.gang_s}s"] if job.gang else [])]


def submission_context(application_id: ApplicationId, job: ModelledJob) -> bytes:
    """A submission context as a REST client writes it."""
    context = {
        "application-id": str(application_id),
        "application-name": job.name,
        "queue": job.queue,
        "am-container-spec": {"commands": {"command": job.name}},
        "resource": {"memory": job.master.memory_mib, "vCores": job.master.vcores},
        "keep-containers-across-application-attempts": job.keeps_containers,
        "max-app-attempts": job.most_attempts,
        **({"application-tags": {"tag": tags}} if (tags := _tags(job)) else {}),
    }
    return json.dumps(context).encode()


_PORT = 7000


class ModelledLocalMaster:
    """One process for a sub-cluster, active or standing by; `start` it again after `kill`.

    Args:
        name: Of the process, as links of the network name it.

    Attributes:
        bugs: What must never happen: parts that ended.
    """

    def __init__(self, world: HeddleWorld, subcluster: SubClusterId, name: str) -> None:
        self.world = world
        self.subcluster = subcluster
        self.name = name
        self.lives = 0
        self.bugs: list[str] = []
        self.gate = ProcessGate(name)
        self.gate.kill()
        self.clock = GatedClock(world.clock, self.gate)
        self.standing: StandingLocalMaster | None = None

    def start(self) -> None:
        """Start the process; it acts when it has the lease."""
        if not self.gate.is_dead:
            return
        self.lives += 1
        step_s = self.clock.step_s
        self.gate = gate = ProcessGate(self.name)
        self.clock = GatedClock(self.world.clock, gate)
        self.clock.step_s = step_s
        self.standing = standing = self._assembled(gate)
        gate.spawn(self._watched(standing), self.name)

    def kill(self) -> None:
        """End it (SIGKILL)."""
        self.gate.kill()

    def _assembled(self, gate: ProcessGate) -> StandingLocalMaster:
        world, address = self.world, f"{self.name}:{_PORT + self.lives}"
        inner = world.federation.clusters[self.subcluster].web
        standing = local_master(
            world.config,
            NetworkedManager(inner, world.network, gate),
            gated_stores(world.stores, gate, world.faults).leases,
            self.clock,
            random.Random(f"{world.seed}/{self.name}/{self.lives}"),  # noqa: S311 - repeatable on purpose
            address=address,
        )
        world.links.listen(address, local_master_role(self.subcluster), gate, standing.serve)
        return standing

    async def _watched(self, standing: StandingLocalMaster) -> None:
        """A Local Master that ends by itself is a bug; in production it ends the process."""
        try:
            await standing.run()
        except Exception as exc:  # noqa: BLE001 - the boundary of a task
            self.bugs.append(f"{self.name} ended: {type(exc).__name__}: {exc}")
