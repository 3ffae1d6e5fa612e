"""Ports with a stop-watch: each wraps another and tells the metrics how long its calls took and how they ended."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Protocol

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import Admission, AdmissionWord
from shim.domain.submissions import (
    DeliveryFailure,
    Submission,
    SubmissionProgress,
    SubmissionRecord,
    SubmissionState,
    SubmitReply,
)
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


class ObservedStateStore:
    """A `StateStore` whose operations are counted."""

    def __init__(self, inner: StateStore, metrics: Metrics, clock: Clock) -> None:
        self._inner, self._metrics, self._clock = inner, metrics, clock

    def _operation(self, name: str) -> _Timed:
        asked = span(f"store {name}", Kind.CLIENT, {"db.operation.name": name})
        return _Timed(self._clock, "done", partial(self._metrics.store, name), asked)

    async def federation_timestamp_ms(self) -> int:
        with self._operation("federation_timestamp_ms"):
            return await self._inner.federation_timestamp_ms()

    async def begin_epoch(self, listed: Collection[ApplicationId]) -> int:
        with self._operation("begin_epoch"):
            return await self._inner.begin_epoch(listed)

    async def reserve_sequences(self, count: int) -> range:
        with self._operation("reserve_sequences"):
            return await self._inner.reserve_sequences(count)

    async def insert_intent(self, record: SubmissionRecord) -> SubmissionRecord:
        with self._operation("insert_intent"):
            return await self._inner.insert_intent(record)

    async def settle(self, application_id: ApplicationId, state: SubmissionState, *, rejection: str = "") -> None:
        with self._operation("settle"):
            await self._inner.settle(application_id, state, rejection=rejection)

    async def note_taken(self, application_ids: Collection[ApplicationId]) -> None:
        with self._operation("note_taken"):
            await self._inner.note_taken(application_ids)

    async def rehome(self, record: SubmissionRecord, *, was: SubmissionProgress) -> None:
        with self._operation("rehome"):
            await self._inner.rehome(record, was=was)

    async def confirm(
        self, application_ids: Collection[ApplicationId], subcluster: SubClusterId, started_on_ms: int
    ) -> None:
        with self._operation("confirm"):
            await self._inner.confirm(application_ids, subcluster, started_on_ms)

    async def find(self, application_id: ApplicationId) -> SubmissionRecord | None:
        with self._operation("find"):
            return await self._inner.find(application_id)

    async def described(self, application_ids: Collection[ApplicationId]) -> Mapping[ApplicationId, Submission]:
        with self._operation("described"):
            return await self._inner.described(application_ids)

    async def intended(self) -> Sequence[SubmissionRecord]:
        with self._operation("intended"):
            return await self._inner.intended()

    async def unfinished(self, subcluster: SubClusterId) -> Sequence[SubmissionProgress]:
        with self._operation("unfinished"):
            return await self._inner.unfinished(subcluster)

    async def waiting(self) -> Sequence[SubmissionProgress]:
        with self._operation("waiting"):
            return await self._inner.waiting()

    async def waited(self) -> dict[ApplicationId, int]:
        with self._operation("waited"):
            return await self._inner.waited()

    async def withdraw(self, application_id: ApplicationId, *, reason: str) -> None:
        with self._operation("withdraw"):
            await self._inner.withdraw(application_id, reason=reason)

    async def reject(self, was: SubmissionProgress, *, reason: str) -> None:
        with self._operation("reject"):
            await self._inner.reject(was, reason=reason)

    async def give_up(self, progress: SubmissionProgress, *, reason: str) -> None:
        with self._operation("give_up"):
            await self._inner.give_up(progress, reason=reason)

    async def mark_final(self, application_ids: Collection[ApplicationId]) -> None:
        with self._operation("mark_final"):
            await self._inner.mark_final(application_ids)

    async def note_delivery_failure(self, failure: DeliveryFailure) -> None:
        with self._operation("note_delivery_failure"):
            await self._inner.note_delivery_failure(failure)

    async def delivery_failures(self, application_ids: Collection[ApplicationId]) -> Sequence[DeliveryFailure]:
        with self._operation("delivery_failures"):
            return await self._inner.delivery_failures(application_ids)

    async def forget_delivery_failures(self, application_ids: Collection[ApplicationId]) -> None:
        with self._operation("forget_delivery_failures"):
            await self._inner.forget_delivery_failures(application_ids)

    async def purge(self, *, final_before_ms: int, keep: int) -> int:
        with self._operation("purge"):
            return await self._inner.purge(final_before_ms=final_before_ms, keep=keep)

    async def set_admission(self, subcluster: SubClusterId, admission: Admission, *, by: str, reason: str = "") -> None:
        with self._operation("set_admission"):
            await self._inner.set_admission(subcluster, admission, by=by, reason=reason)

    async def admissions(self) -> dict[SubClusterId, Admission]:
        with self._operation("admissions"):
            return await self._inner.admissions()

    async def admission_words(self) -> dict[SubClusterId, AdmissionWord]:
        with self._operation("admission_words"):
            return await self._inner.admission_words()

    async def close(self) -> None:
        await self._inner.close()
