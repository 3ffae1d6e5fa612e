"""One process of Heddle in virtual time: the use cases of production, assembled as there, over modelled clusters.

Instead of servers it has methods: a client submits by `submit`, an ApplicationMaster connects by `connect`. What these
do with errors is what the servers do (`shim.server.rpc`).
"""

import asyncio
import json
import random
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import structlog

from shim.app.background import begin, lasting_work
from shim.app.runtime import Clusters, Runtime, new_view
from shim.app.use_cases import UseCases, assemble
from shim.concurrency.solver_child import solve_here
from shim.config.loader import Config
from shim.domain.deadlines import DEADLINE_TAG
from shim.domain.ids import ApplicationAttemptId, ApplicationId, SubClusterId
from shim.errors import (
    HeddleError,
    NeverReachedError,
    NoAnswerError,
    NotFoundError,
    ResourceManagerError,
    UnavailableError,
    UserError,
)
from shim.federation.inspection import SubClusterDescription
from shim.multicluster.attempts import Attempts
from shim.ports.clock import Clock
from shim.ports.resource_manager import RestAnswer, RestRequest
from shim.ports.resource_manager_rpc import RPCAnswer, RPCRefusal
from shim.protocol.hrpc import JavaClass
from shim.protocol.rest.submission_context import decode_submission
from shim.simulation.cluster.federation import DirectCalls, ModelledFederation
from shim.simulation.cluster.jobs import ModelledJob
from shim.simulation.cluster.masters import MasterCalls
from shim.simulation.yarn_sim.network import ModelledNetwork, NetworkedLogins, NetworkedManager, NetworkedRPC
from shim.simulation.yarn_sim.process import GatedClock, ProcessGate
from shim.simulation.yarn_sim.stores import StoreFaults, gated_stores
from shim.store.stores import Stores

__all__ = ["HeddleWorld", "ModelledHeddle"]

T = TypeVar("T")

_log = structlog.get_logger("heddle.simulation")
_LOGIN_TIMEOUT_S = 20.0
_SOLVES_FOR_S = 60.0
_MASTER_TIMEOUT_S = 60.0  # `ipc.client.rpc-timeout.ms` is none, but a dead peer is noticed by pings after this


@dataclass(frozen=True, slots=True, kw_only=True)
class HeddleWorld:
    """What outlives a process of Heddle.

    Attributes:
        config: Of every process.
        stores: The database.
        faults: What that does.
        seed: Of the run.
    """

    config: Config
    clock: Clock
    federation: ModelledFederation
    network: ModelledNetwork
    stores: Stores
    faults: StoreFaults
    seed: int


class ModelledHeddle:
    """`heddle serve` as one process; `start` it again after `kill`.

    Args:
        world: What it stands on.
        name: Of the process, as links of the network name it.

    Attributes:
        bugs: What must never happen: parts that ended, and exceptions that no caller is told as what they are.
    """

    def __init__(self, world: HeddleWorld, name: str = "heddle") -> None:
        self.world = world
        self.name = name
        self.lives = 0
        self.bugs: list[str] = []
        self.gate = ProcessGate(name)
        self.gate.kill()
        self.clock = GatedClock(world.clock, self.gate)
        self._use_cases: UseCases | None = None
        self._attempts: Attempts | None = None
        self._began: asyncio.Task[None] | None = None

    # -- the process -------------------------------------------------------------------------------------------------

    @property
    def is_up(self) -> bool:
        """Whether it runs, or is stopped."""
        return not self.gate.is_dead

    @property
    def is_ready(self) -> bool:
        """Whether it has begun to serve."""
        return self.is_up and self._attempts is not None

    @property
    def use_cases(self) -> UseCases:
        """What it does; for tests and invariants to look at."""
        assert self._use_cases is not None  # noqa: S101 - nobody looks before the start
        return self._use_cases

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
        return assemble(self._runtime())

    def _runtime(self) -> Runtime:
        world, gate, network = self.world, self.gate, self.world.network
        clusters = world.federation.clusters
        managers = {name: NetworkedManager(each.web, network, gate) for name, each in clusters.items()}
        return Runtime(
            config=world.config,
            clock=self.clock,
            random=random.Random(f"{world.seed}/{self.name}/{self.lives}"),  # noqa: S311 - repeatable on purpose
            clusters=Clusters(
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
        )

    async def _begin(self) -> None:
        """As `shim.app.bootstrap` does; what fails at the start is tried again, as whoever supervises it would."""
        use_cases = self.use_cases
        while True:
            try:
                await begin(use_cases)
                break
            except HeddleError as exc:
                _log.info("not started yet", process=self.name, reason=str(exc))
                await self.clock.sleep(1.0)
        await use_cases.spans.check(use_cases.shares.policy())
        for name, work in {**lasting_work(use_cases), "preemption": use_cases.preemption.run}.items():
            self.gate.spawn(self._watched(name, work), name)
        self._attempts = self._made_attempts(use_cases)

    def _made_attempts(self, use_cases: UseCases) -> Attempts:
        backend = use_cases.backend
        return Attempts(
            backend.routing,
            backend.view,
            backend.managers,
            backend.clock,
            read=use_cases.shares.read,
            was_read=use_cases.spans.service.was_read,
            answer_within_s=self.world.config.server.answer_within_s,
        )

    async def _watched(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """A part that ends by itself is a bug; in production it ends the process."""
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
        submission = decode_submission(_context(application_id, job), media_type="application/json", user=job.user)
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

    async def connect(self, cluster: SubClusterId, attempt_id: ApplicationAttemptId) -> MasterCalls:
        """A connection of an ApplicationMaster that runs in a cluster.

        Raises:
            ResourceManagerError: The connection was refused, or ended before the login had.
        """
        attempts = self._attempts
        if attempts is None or not self.is_up:
            raise NeverReachedError(self.name, "connection refused")
        gate, world = self.gate, self.world
        link = (f"{cluster} nodes", self.name)
        try:
            found = await world.network.carry(
                link,
                "login",
                lambda: gate.serve(lambda: attempts.find(attempt_id), "login"),
                timeout_s=_LOGIN_TIMEOUT_S,
            )
        except ResourceManagerError:
            raise
        except NotFoundError:
            return _Refused(attempt_id)
        except HeddleError as exc:
            raise NoAnswerError(self.name, f"the connection was closed: {exc}") from exc
        login = NetworkedLogins(world.federation.clusters, world.network, gate).at(found.home_subcluster, attempt_id)
        if not found.is_read:
            return _Connection(self, gate, link, DirectCalls(login))
        return _Connection(self, gate, link, self.use_cases.spans.service.enter(found, login))


@dataclass(frozen=True, slots=True)
class _Connection:
    """One connection of an ApplicationMaster: implements `MasterCalls` as `InterceptingRelay` answers."""

    heddle: ModelledHeddle
    gate: ProcessGate
    link: tuple[str, str]
    calls: MasterCalls

    async def register(self, payload_untrusted: bytes) -> RPCAnswer:
        """See `MasterCalls`."""
        return await self._call("register", lambda: self.calls.register(payload_untrusted))

    async def allocate(self, payload_untrusted: bytes) -> RPCAnswer:
        """See `MasterCalls`."""
        return await self._call("allocate", lambda: self.calls.allocate(payload_untrusted))

    async def finish(self, payload_untrusted: bytes) -> RPCAnswer:
        """See `MasterCalls`."""
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
                self.heddle.bugs.append(f"{self.heddle.name}: {name} failed: {type(exc).__name__}: {exc}")
                return RPCAnswer(b"", RPCRefusal(JavaClass.YARN, f"{name} failed inside Heddle"))

        return await self.heddle.world.network.carry(
            self.link, f"master {name}", lambda: self.gate.serve(run, name), timeout_s=_MASTER_TIMEOUT_S
        )


@dataclass(frozen=True, slots=True)
class _Refused:
    """A login that was refused: no sub-cluster knows the application."""

    attempt: ApplicationAttemptId

    async def register(self, payload_untrusted: bytes) -> RPCAnswer:
        """See `MasterCalls`."""
        return self._refuse(payload_untrusted)

    async def allocate(self, payload_untrusted: bytes) -> RPCAnswer:
        """See `MasterCalls`."""
        return self._refuse(payload_untrusted)

    async def finish(self, payload_untrusted: bytes) -> RPCAnswer:
        """See `MasterCalls`."""
        return self._refuse(payload_untrusted)

    def _refuse(self, _: bytes) -> RPCAnswer:
        told = f"{self.attempt} not found in AMRMTokenSecretManager."
        return RPCAnswer(b"", RPCRefusal(JavaClass.INVALID_TOKEN, told))


async def _solved_at_once(name: str, arrays: Mapping[str, object], limit_s: float) -> object | None:  # noqa: ARG001
    """Solve without time going by, and without a limit of real time: a run can be repeated."""
    try:
        return solve_here(name, arrays, _SOLVES_FOR_S)
    except ImportError:  # as in production, where the extra is not installed
        return None


async def _no_node(address: str, request: RestRequest) -> RestAnswer:
    raise UnavailableError(f"{address} does not answer {request.path}")


def _context(application_id: ApplicationId, job: ModelledJob) -> bytes:
    """A submission context as a REST client writes it."""
    context = {
        "application-id": str(application_id),
        "application-name": job.name,
        "queue": job.queue,
        "am-container-spec": {"commands": {"command": job.name}},
        "resource": {"memory": job.master.memory_mib, "vCores": job.master.vcores},
        "keep-containers-across-application-attempts": job.keeps_containers,
        "max-app-attempts": job.most_attempts,
        **({"application-tags": {"tag": [f"{DEADLINE_TAG}=+{job.deadline_s}s"]}} if job.deadline_s else {}),
    }
    return json.dumps(context).encode()
