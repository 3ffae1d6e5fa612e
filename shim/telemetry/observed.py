"""Ports with a stop-watch: each wraps another and tells the metrics how long its calls took and how they ended."""

from collections.abc import Callable
from functools import partial, wraps
from inspect import iscoroutinefunction
from types import TracebackType
from typing import Any, Protocol, cast

from shim.domain.ids import SubClusterId
from shim.domain.submissions import Submission, SubmitReply
from shim.ports.clock import Clock
from shim.ports.resource_manager import ResourceManager, RestAnswer, RestRequest
from shim.ports.resource_manager_rpc import ResourceManagerRPC, RPCAnswer, RPCCall
from shim.ports.state_store import StateStore
from shim.telemetry.metrics import Metrics
from shim.telemetry.tracing import Kind, Span, span


class _Timed:
    """Tells how a block ended (`well`, or the name of its error) and how long it took."""

    __slots__ = ("_began_s", "_clock", "_span", "_tell", "_well")

    def __init__(self, clock: Clock, well: str, tell: Callable[[str, float], None], span: Span) -> None:
        self._clock, self._well, self._tell, self._span = clock, well, tell, span
        self._began_s = 0.0

    def __enter__(self) -> None:
        self._began_s = self._clock.monotonic_s()
        self._span.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._span.__exit__(kind, error, trace)
        self._tell(self._well if kind is None else kind.__name__, self._clock.monotonic_s() - self._began_s)


class CountsExchanges(Protocol):
    """Counts exchanges with ResourceManagers, as `Metrics` does."""

    def exchange(self, subcluster: str, outcome: str, duration_s: float) -> None:
        """Count one: whose, `answered` or the name of the error, how long it took."""
        ...


class ObservedResourceManager(ResourceManager):
    """A `ResourceManager` whose exchanges are counted."""

    def __init__(self, inner: ResourceManager, metrics: CountsExchanges, clock: Clock) -> None:
        self._inner, self._metrics, self._clock = inner, metrics, clock

    @property
    def subcluster(self) -> SubClusterId:
        return self._inner.subcluster

    async def submit(
        self, submission: Submission, *, timeout_s: float | None = None, accept: str = "application/json"
    ) -> SubmitReply:
        with self._timed("submit", "heddle.application", submission.application_id):
            return await self._inner.submit(submission, timeout_s=timeout_s, accept=accept)

    async def forward(self, request: RestRequest, *, timeout_s: float | None = None) -> RestAnswer:
        with self._timed(request.method, "url.path", request.path):
            return await self._inner.forward(request, timeout_s=timeout_s)

    def _timed(self, name: str, key: str, value: object) -> _Timed:
        subcluster = self._inner.subcluster
        asked = span(f"ResourceManager {name}", Kind.CLIENT, {"heddle.cluster": subcluster, key: value})
        return _Timed(self._clock, "answered", partial(self._metrics.exchange, subcluster), asked)

    async def close(self) -> None:
        await self._inner.close()


class TracedRPC(ResourceManagerRPC):
    """A `ResourceManagerRPC` whose calls are spans of traces."""

    def __init__(self, inner: ResourceManagerRPC) -> None:
        self._inner = inner

    @property
    def subcluster(self) -> SubClusterId:
        return self._inner.subcluster

    async def call(self, call: RPCCall, *, timeout_s: float | None = None) -> RPCAnswer:
        name = f"ResourceManager {call.method}"
        told = {"heddle.cluster": self._inner.subcluster, "rpc.system": "hadoop"}
        with span(name, Kind.CLIENT, told) as asked:
            answer = await self._inner.call(call, timeout_s=timeout_s)
            asked.tell(failed="" if answer.refusal is None else answer.refusal.message)
        return answer

    async def close(self) -> None:
        await self._inner.close()


class _ObservedStateStore:
    """A store whose operations are counted; those are all the coroutines of `StateStore` but the last one, `close`."""

    def __init__(self, inner: StateStore, metrics: Metrics, clock: Clock) -> None:
        self._inner, self._metrics, self._clock = inner, metrics, clock

    def operation(self, name: str) -> _Timed:
        asked = span(f"store {name}", Kind.CLIENT, {"db.operation.name": name})
        return _Timed(self._clock, "done", partial(self._metrics.store, name), asked)

    async def close(self) -> None:
        await self._inner.close()


def _observed(name: str, declared: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(declared)
    async def operation(self: _ObservedStateStore, *args: object, **kwargs: object) -> object:
        with self.operation(name):
            return await getattr(self._inner, name)(*args, **kwargs)

    return operation


for _name, _declared in vars(StateStore).items():
    if iscoroutinefunction(_declared) and _name not in vars(_ObservedStateStore):
        setattr(_ObservedStateStore, _name, _observed(_name, _declared))


def observed_state_store(inner: StateStore, metrics: Metrics, clock: Clock) -> StateStore:
    """A `StateStore` whose operations are counted, whichever the port declares."""
    return cast("StateStore", _ObservedStateStore(inner, metrics, clock))
