"""Routing of applications, attempts, containers, nodes and reservations to sub-clusters."""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import structlog

from shim.domain.applications import SPAN_TAG
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.submissions import NOWHERE, SubmissionState
from shim.errors import HomeUnreachableError, NotFoundError, NotPlacedError, StoreError, StoreUnavailableError
from shim.federation.core.federation_view import FederationView
from shim.federation.home_questions import HomeKnows, ask_home
from shim.federation.unplaced import unplaced_document
from shim.ports.clock import Clock
from shim.ports.multicluster_store import MultiClusterStore
from shim.ports.resource_manager import ResourceManager
from shim.ports.state_store import StateStore

# Clusters on which a spanning application has containers: reads and signals of containers are routed by them.

_log = structlog.get_logger("heddle.span")


class ContainerPlaces:
    """Reads what Heddle keeps of spanning applications. Without the store, every container is taken for its home's."""

    def __init__(self, store: MultiClusterStore) -> None:
        self._store = store

    async def of_container(self, container: ContainerId) -> SubClusterId | None:
        """The sub-cluster of a live container that an ApplicationMaster was given; None for one that nobody knows."""
        given = await self.of_application(container.attempt.application)
        return next((place for place, containers in given.items() if container in containers), None)

    async def of_attempt(
        self, attempt: ApplicationAttemptId
    ) -> Mapping[SubClusterId, tuple[ApplicationAttemptId, ...]]:
        """Find the clusters on which an application's newest attempt has live containers, with its ids there.

        An earlier attempt has none. Sub-clusters count attempts for themselves, so the number is not the home's.
        """
        try:
            is_newest = await self._store.find_attempt(attempt) is not None
        except StoreError as exc:
            _log.warning("containers are shown as far as the home has them", attempt=str(attempt), reason=str(exc))
            return {}
        given = await self.of_application(attempt.application) if is_newest else {}
        named = {place: {container.attempt for container in containers} for place, containers in given.items()}
        return {place: tuple(sorted(attempts)) for place, attempts in named.items() if attempts}

    async def of_application(self, application: ApplicationId) -> Mapping[SubClusterId, frozenset[ContainerId]]:
        """Live containers of a spanning application by sub-cluster; nothing of one that does not span."""
        try:
            return await self._store.containers(application)
        except StoreError as exc:
            _log.warning("containers are looked for at the home", application=str(application), reason=str(exc))
            return {}


# Issuers of reservations: a reservation is one ResourceManager's, a start of which its id names.


class ReservationIssuers:
    """Knows the sub-cluster of a reservation by its id.

    Args:
        view: Tells when each ResourceManager started; one that restarts keeps its plans.
    """

    def __init__(self, view: FederationView) -> None:
        self._view = view

    def issuer_of(self, reservation_id: str) -> SubClusterId | None:
        """Return the issuer of an id, the sub-cluster that started at its time stamp; None if there is none.

        Of an id that none of those that have answered has issued it is one that was not, if there is one: whatever is
        asked of it waits until it is. A retired one issued nothing.
        """
        if not reservation_id:
            return None
        timestamp = reservation_id.removeprefix("reservation_").partition("_")[0]
        started_ms = int(timestamp) if timestamp.isascii() and timestamp.isdigit() else -1
        serving = [each for each in self._view.subclusters if not self._view.is_retired(each)]
        issuer = next((each for each in serving if self._view.has_lived(each, started_ms)), None)
        return issuer or next((each for each in serving if not self._view.started_on_ms(each)), None)


@dataclass(frozen=True, slots=True)
class RoutingSettings:
    """Limits of routing.

    Attributes:
        answer_within_s: Nobody waits longer for a sub-cluster that is asked whether it knows an id.
        remembered: How many homes are remembered beside the view.
        unknown_for_s: An id that no sub-cluster knew is not asked for again within this time.
    """

    answer_within_s: float
    remembered: int = 100_000
    unknown_for_s: float = 1.0


class Routing:
    """From an id to its sub-cluster: by the view, by the store, and by asking every sub-cluster once."""

    def __init__(
        self,
        view: FederationView,
        managers: Mapping[SubClusterId, ResourceManager],
        store: StateStore,
        clock: Clock,
        settings: RoutingSettings,
        *,
        places: ContainerPlaces | None = None,
        reservations: ReservationIssuers | None = None,
    ) -> None:
        self._view = view
        self._managers = managers
        self._store = store
        self._clock = clock
        self._settings = settings
        self._places = places
        self.reservations = reservations or ReservationIssuers(view)
        self._homes: OrderedDict[ApplicationId, SubClusterId] = OrderedDict()
        self._unknown: OrderedDict[ApplicationId, float] = OrderedDict()
        self._searches: dict[ApplicationId, asyncio.Task[SubClusterId]] = {}

    async def home_of(self, application_id: ApplicationId) -> SubClusterId:
        """Find the home of an application, also of one that was submitted to a sub-cluster directly.

        Raises:
            NotFoundError: Every sub-cluster says that it does not know it.
            HomeUnreachableError: Nobody who answers knows it, and a sub-cluster that might does not answer; or it waits
                for its queue's turn, or was ended while it did: it has no home.
        """
        if self._view.applications.home_of(application_id) == NOWHERE:
            raise _no_home(application_id)
        known = self._view.applications.home_of(application_id) or self._homes.get(application_id)
        if known is not None:
            return known
        search = self._searches.get(application_id)
        if search is None:
            search = asyncio.create_task(self._search(application_id))
            self._searches[application_id] = search
            search.add_done_callback(lambda done: self._end_search(application_id, done))
        return await asyncio.shield(search)

    async def place_of_container(self, container: ContainerId) -> SubClusterId:
        """Find a container's sub-cluster: its application's home, or another that it spans to; raises as `home_of`."""
        place = await self._places.of_container(container) if self._places is not None else None
        if place is None or place not in self._managers:
            return await self.home_of(container.attempt.application)
        return place

    async def containers_of(self, application: ApplicationId) -> Mapping[SubClusterId, frozenset[ContainerId]]:
        """Live containers of a spanning application by sub-cluster; nothing of one that does not span."""
        return {} if self._places is None else await self._places.of_application(application)

    async def beyond_home(self, attempt: ApplicationAttemptId) -> Sequence[tuple[SubClusterId, ApplicationAttemptId]]:
        """Find an attempt's live containers beyond its home, with its ids there; raises as `home_of`."""
        if self._places is None:
            return ()
        places = await self._places.of_attempt(attempt)
        home = await self.home_of(attempt.application) if places else None
        return [(place, each) for place in self._managers if place != home for each in places.get(place, ())]

    def subcluster_of_node(self, node: NodeId) -> SubClusterId:
        """Return the sub-cluster of a NodeManager; the first in the configured order if two have one of that name.

        Raises:
            NotFoundError: No sub-cluster has told of it.
        """
        now_s = self._clock.now_s()
        for subcluster in self._view.subclusters:
            if any(report.node == node for report in self._view.look(subcluster, now_s).nodes):
                return subcluster
        raise NotFoundError(f"nodeId, {node}, is not found")

    def is_told(self, application_id: ApplicationId) -> bool:
        known = self._view.applications
        return known.find(application_id) is not None and not known.is_synthetic(application_id)

    def usable(self) -> tuple[SubClusterId, ...]:
        """Sub-clusters that answered their last poll, in the configured order."""
        now_s = self._clock.now_s()
        late = frozenset(self._view.late(now_s))
        return tuple(subcluster for subcluster in self._view.subclusters if subcluster not in late)

    async def _search(self, application_id: ApplicationId) -> SubClusterId:
        record = None
        with suppress(StoreUnavailableError):  # the sub-clusters can be asked without it
            record = await self._store.find(application_id)
        if record is not None and record.home_subcluster == NOWHERE:
            document = unplaced_document(record, record.rejection or record.decision.reason, self._clock.now_s())
            note = self._view.applications.note if document.summary.state.is_final else self._view.applications.wait
            note(document)
            raise _no_home(application_id)
        if record is not None and record.state is SubmissionState.INTENDED:
            return record.home_subcluster  # which may change: not to be remembered
        home = await self._ask_everybody(application_id) if record is None else record.home_subcluster
        remember(self._homes, application_id, home, self._settings.remembered)
        return home

    async def _ask_everybody(self, application_id: ApplicationId) -> SubClusterId:
        now_s = self._clock.monotonic_s()
        if now_s - self._unknown.get(application_id, -self._settings.unknown_for_s) < self._settings.unknown_for_s:
            raise NotFoundError(f"app with id: {application_id} not found")
        within_s = self._settings.answer_within_s
        answers = await asyncio.gather(
            *(ask_home(manager, [application_id], timeout_s=within_s) for manager in self._managers.values())
        )
        silent = []
        for subcluster, answer in zip(self._managers, answers, strict=True):
            if not isinstance(answer, HomeKnows):
                silent.append(subcluster)
            elif (seen := answer.applications.get(application_id)) is not None and SPAN_TAG not in seen.tags:
                return subcluster
        if silent:
            raise HomeUnreachableError(
                f"{application_id} may be known to {', '.join(silent)}, which cannot tell now; try again"
            )
        remember(self._unknown, application_id, now_s, self._settings.remembered)
        raise NotFoundError(f"app with id: {application_id} not found")

    def _end_search(self, application_id: ApplicationId, done: "asyncio.Task[SubClusterId]") -> None:
        self._searches.pop(application_id, None)
        if not done.cancelled():
            done.exception()  # whoever waited has heard it


def _no_home(application_id: ApplicationId) -> NotPlacedError:
    return NotPlacedError(f"{application_id} waits for its queue's turn, or was ended while it did: no home has it")


# Memory of what came last, up to a number.

K = TypeVar("K")
V = TypeVar("V")


def remember(memory: "OrderedDict[K, V]", key: K, value: V, most: int) -> None:
    """Keep the newest `most` entries."""
    memory[key] = value
    memory.move_to_end(key)
    while len(memory) > most:
        memory.popitem(last=False)
