"""The use cases behind the server, and the view that they keep."""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial

from shim.calls.control import ControlService
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.queues import SchedulerType
from shim.domain.resources import ResourceVector
from shim.domain.submissions import SubmissionRecord
from shim.domain.wishes import WorkLeft
from shim.errors import HomeUnreachableError, ResourceManagerError, reason_of
from shim.federation.core.federation_view import FederationView, Part
from shim.federation.deadline_outlook import DeadlineOutlook, outlook, outlook_of_waiting
from shim.federation.documents import DocumentReading, PartRead
from shim.federation.reading import ApplicationReading
from shim.federation.routing import Routing
from shim.ports.clock import Clock
from shim.ports.resource_manager import ResourceManager, RestAnswer, RestRequest
from shim.ports.state_store import StateStore
from shim.protocol.rest.errors import JavaError
from shim.protocol.rest.filters import QueueScope
from shim.protocol.rest.merges import PartialDocument
from shim.submission.application_ids import ApplicationIds
from shim.submission.entrance import TakesSubmissions
from shim.submission.waiting import HomeWaits

_LOOK_EVERY_S = 0.1


@dataclass(frozen=True, slots=True)
class Backend:
    """The use cases of a REST client.

    Attributes:
        managers: By sub-cluster, in the configured order.
        ids: Issues them; when their federation was founded is `id` and `startedOn` of `/info`.
        answer_within_s: Nobody waits longer for a sub-cluster.
        maximum_allocation: The largest container that a user may count on.
        waiting: Tells why applications wait.
        work_left: What is left of an application's containers, as far as this process has learnt it.
        slow_answer_within_s: Nor for what takes a ResourceManager its time; and that not for one that is late.
    """

    view: FederationView
    applications: ApplicationReading
    documents: DocumentReading
    routing: Routing
    ids: ApplicationIds
    submissions: TakesSubmissions
    control: ControlService
    store: StateStore
    managers: Mapping[SubClusterId, ResourceManager]
    clock: Clock
    answer_within_s: float
    maximum_allocation: Callable[[str], ResourceVector]
    waiting: HomeWaits
    slow_answer_within_s: float = 30.0
    work_left: Callable[[ApplicationId], WorkLeft | None] = lambda _: None

    def deadline_of(
        self, application_id: ApplicationId, record: SubmissionRecord | None = None
    ) -> DeadlineOutlook | None:
        """Return what is known of an application's deadline; None if it states none."""
        document, now_s = self.view.applications.find(application_id), self.clock.now_s()
        if document is not None:
            return outlook(document, now_s, partial(self.work_left, application_id))
        return None if record is None else outlook_of_waiting(record, now_s)

    def missing(self) -> tuple[SubClusterId, ...]:
        """Sub-clusters whose part in an answer is old or absent."""
        return self.view.late(self.clock.now_s())

    def as_of_s(self, part: Part, missing: Collection[SubClusterId]) -> float:
        """Time when the oldest part of an answer made of the view was asked for; missing sub-clusters do not count."""
        times = [self.view.as_of_s(item, part) for item in self.view.subclusters if item not in missing]
        known = [time_s for time_s in times if time_s is not None]
        return min(known, default=self.clock.now_s())

    def weighted(self, read: PartRead) -> list[PartialDocument]:
        """Documents to merge, with the size of their sub-clusters."""
        now_s = self.clock.now_s()
        return [
            PartialDocument(item, document.told, float(self.view.look(item, now_s).capacity.memory_mib))
            for item, document in read.documents.items()
        ]

    def skews_ms(self) -> dict[SubClusterId, int]:
        """Lead of each sub-cluster's clock over ours."""
        return {item: round(self.view.clock_skew_s(item) * 1000) for item in self.view.subclusters}

    def find_queue(self, text: str) -> QueueScope | None:
        """The queue that a text names in any sub-cluster: a full path, or else the last name of one.

        To a fair scheduler `x` is `root.x`, of which it then shows the live applications.
        """
        now_s = self.clock.now_s()
        looks = [self.view.look(item, now_s) for item in self.view.subclusters]
        known = {path: queue.is_leaf for look in looks for path, queue in look.queues.items()}
        if text in known:
            return _scope(text, known)
        for look in looks:
            if look.scheduler == SchedulerType.FAIR:
                path = f"root.{text}"
                if path in look.queues:
                    return QueueScope(text, is_leaf=False, leaves=frozenset((path, *_leaves_below(path, known))))
            elif named := next((path for path in look.queues if _last_name(path) == text), None):
                return _scope(named, known)
        return None

    def configured(self, named: str) -> SubClusterId:
        """The sub-cluster that `?cluster=` names.

        Raises:
            JavaError: If there is none of that name.
        """
        for item in self.view.subclusters:
            if item == named:
                return item
        known = ", ".join(self.view.subclusters)
        raise JavaError.bad_request(f"Unknown cluster: {named}. It should be one of [{known}]")

    def queue_at(self, text: str) -> tuple[SubClusterId, str] | None:
        """The first sub-cluster that has a queue of this path or last name, and its name there."""
        now_s = self.clock.now_s()
        for item in self.view.subclusters:
            name = self.control.asked_name(item, text)
            if any(name in (path, _last_name(path)) for path in self.view.look(item, now_s).queues):
                return item, name
        return None

    async def exchange(self, subcluster: SubClusterId, request: RestRequest, *, is_slow: bool = False) -> RestAnswer:
        """Pass a request to a sub-cluster's ResourceManager.

        Args:
            is_slow: Whether the answer takes its time: it is waited for as long as the ResourceManager answers polls.

        Raises:
            HomeUnreachableError: If no answer came in time.
        """
        within_s = self.slow_answer_within_s if is_slow else self.answer_within_s
        asking = self.managers[subcluster].forward(request, timeout_s=within_s)
        try:
            async with asyncio.timeout(within_s):
                return await (self._while_heard(subcluster, asking) if is_slow else asking)
        except (ResourceManagerError, TimeoutError) as exc:
            reason = reason_of(exc) or f"no answer within {within_s:g} s"
            raise HomeUnreachableError(f"sub-cluster {subcluster} does not answer: {reason}") from exc

    async def _while_heard(self, subcluster: SubClusterId, asking: Coroutine[None, None, RestAnswer]) -> RestAnswer:
        task = asyncio.create_task(asking)
        try:
            while not task.done():
                await asyncio.wait((task,), timeout=_LOOK_EVERY_S)
                if not task.done() and subcluster in self.missing():
                    raise TimeoutError("nor do polls come back")
            return task.result()
        finally:
            task.cancel()


def _scope(path: str, known: Mapping[str, bool]) -> QueueScope:
    """The queue of a path, with the names of the leaves below it."""
    return QueueScope(path, known[path], frozenset(map(_last_name, _leaves_below(path, known))))


def _leaves_below(path: str, known: Mapping[str, bool]) -> list[str]:
    return [leaf for leaf, is_leaf in known.items() if is_leaf and leaf.startswith(f"{path}.")]


def _last_name(path: str) -> str:
    return path.rpartition(".")[2]
