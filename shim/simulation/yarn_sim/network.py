"""The network of a run in virtual time: how long messages take, which are lost, and how many there were.

A request that is lost never arrives; one whose answer is lost was carried out. To its sender both are the same: no
answer within the time limit. A cut link loses everything until it is mended.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from shim.domain.ids import ApplicationAttemptId, SubClusterId
from shim.errors import NoAnswerError
from shim.ports.attempt_calls import ALLOCATE
from shim.ports.resource_manager import ResourceManager, RestAnswer, RestRequest
from shim.ports.resource_manager_rpc import ResourceManagerRPC, RPCAnswer, RPCCall
from shim.ports.scheduler_login import SchedulerLogin
from shim.protocol.yarn.unmanaged import token_parts
from shim.simulation.cluster.federation import ModelledCluster
from shim.simulation.cluster.master_service import MasterService
from shim.simulation.virtual_time import ProcessGate

T = TypeVar("T")

_TIMEOUT_S = 10.0
_REPEATABLE = frozenset({"poll", "submission", "rpc", "allocate", "client"})
"""What may arrive twice: a registration that did would be refused by YARN itself."""


@dataclass(slots=True)
class ModelledNetwork:
    """All links of a run.

    Attributes:
        rng: Where losses and delays are drawn from.
        hop_s: How long a message takes at least.
        loss: Part of the messages that is lost.
        repeats: Part of the requests that arrive twice; the second answer is dropped.
        cut: Links that lose everything, as (sender, receiver).
    """

    rng: random.Random
    hop_s: float = 0.0005
    jitter_s: float = 0.0
    loss: float = 0.0
    repeats: float = 0.0
    cut: set[tuple[str, str]] = field(default_factory=set)
    messages: Counter[str] = field(default_factory=Counter)
    _strays: set["asyncio.Task[Any]"] = field(default_factory=set)

    async def carry(
        self,
        link: tuple[str, str],
        kind: str,
        work: Callable[[], Coroutine[Any, Any, T]],
        *,
        timeout_s: float | None = None,
    ) -> T:
        """Bring a request to where `work` is done, and its answer back.

        Args:
            link: Sender and receiver.
            timeout_s: How long the sender waits; None for as long as it takes.

        Raises:
            NoAnswerError: No answer came in time.
            ResourceManagerError: What the receiver's end of the connection says.
        """
        try:
            async with asyncio.timeout(timeout_s):
                return await self._exchange(link, kind, work)
        except TimeoutError as exc:
            raise NoAnswerError(link[1], f"no answer within {timeout_s} s") from exc

    async def ask(
        self,
        gate: ProcessGate,
        receiver: SubClusterId,
        kind: str,
        work: Callable[[], Coroutine[Any, Any, T]],
        timeout_s: float | None,
    ) -> T:
        """Carry a request of a process that may be stopped or dead, before it is sent and when it is answered.

        Args:
            timeout_s: How long it waits; None for as long as its calls wait at most.
        """
        await gate.through()
        answer = await self.carry((gate.name, receiver), kind, work, timeout_s=timeout_s or _TIMEOUT_S)
        await gate.through()
        return answer

    async def _exchange(self, link: tuple[str, str], kind: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        await self._travel(link, kind)
        if self.repeats and kind in _REPEATABLE and self.rng.random() < self.repeats:
            self._stray(work())
        # the receiver goes on when the sender gives up
        answer = await asyncio.shield(self._stray(work()))
        await self._travel((link[1], link[0]), f"{kind} answer")
        return answer

    async def _travel(self, link: tuple[str, str], kind: str) -> None:
        self.messages[kind] += 1
        if link in self.cut or (self.loss and self.rng.random() < self.loss):
            await asyncio.get_running_loop().create_future()  # for ever: whoever waits has a time limit
        await asyncio.sleep(self.hop_s + (self.rng.uniform(0.0, self.jitter_s) if self.jitter_s else 0.0))

    def _stray(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        task = asyncio.get_running_loop().create_task(work)
        self._strays.add(task)
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: "asyncio.Task[Any]") -> None:
        self._strays.discard(task)
        if not task.cancelled():
            task.exception()  # seen, also if its sender has gone


class NetworkedManager(ResourceManager):
    """The web services of a cluster, as one process reaches them."""

    def __init__(self, inner: ResourceManager, network: ModelledNetwork, gate: ProcessGate) -> None:
        self._inner = inner
        self._network = network
        self._gate = gate

    @property
    def subcluster(self) -> SubClusterId:
        return self._inner.subcluster

    async def forward(self, request: RestRequest, *, timeout_s: float | None = None) -> RestAnswer:
        kind = "poll" if request.method == "GET" else "submission"
        return await self._network.ask(
            self._gate, self.subcluster, kind, lambda: self._inner.forward(request), timeout_s
        )

    async def close(self) -> None:
        """Close nothing, as nothing is open."""


@dataclass(frozen=True, slots=True)
class NetworkedRPC:
    """Implements `ResourceManagerRPC` likewise."""

    inner: ResourceManagerRPC
    network: ModelledNetwork
    gate: ProcessGate

    @property
    def subcluster(self) -> SubClusterId:
        return self.inner.subcluster

    async def call(self, call: RPCCall, *, timeout_s: float | None = None) -> RPCAnswer:
        return await self.network.ask(self.gate, self.subcluster, "rpc", lambda: self.inner.call(call), timeout_s)

    async def close(self) -> None:
        """Close nothing, as nothing is open."""


@dataclass(frozen=True, slots=True)
class _Login:
    """Implements `SchedulerLogin`, and `HomeSession`."""

    service: MasterService
    subcluster: SubClusterId
    attempt: ApplicationAttemptId
    network: ModelledNetwork
    gate: ProcessGate

    @property
    def is_open(self) -> bool:
        """Until the process ends."""
        return not self.gate.is_dead

    async def call(self, method: str, payload: bytes, *, timeout_s: float | None = None) -> RPCAnswer:
        kind = "allocate" if method == ALLOCATE else "session"
        return await self.network.ask(
            self.gate, self.subcluster, kind, lambda: self.service.call(self.attempt, method, payload), timeout_s
        )

    async def close(self) -> None:
        """Close nothing, as nothing is open."""


@dataclass(frozen=True, slots=True)
class NetworkedLogins:
    """Implements `SchedulerLogins` over modelled clusters."""

    clusters: Mapping[SubClusterId, ModelledCluster]
    network: ModelledNetwork
    gate: ProcessGate

    def log_in(self, subcluster: SubClusterId, token: bytes) -> SchedulerLogin:
        identifier, _ = token_parts(token)
        return self.at(subcluster, ApplicationAttemptId.parse(identifier.decode()))

    def at(self, subcluster: SubClusterId, attempt: ApplicationAttemptId) -> _Login:
        return _Login(self.clusters[subcluster].masters, subcluster, attempt, self.network, self.gate)
