"""A federation in memory: scripted ResourceManagers, a held clock, one store, and any number of Heddles in front.

A `ScriptedHeddle` is what one process holds: a view of its own, and the services of submission and repair. To kill it
is to drop it: what it knew is gone, the store and the ResourceManagers stay. Limits: polls happen when a test says so,
and homes are chosen in the configured order.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from itertools import count
from random import Random
from typing import Any, TypeVar

from shim.app.assembly import Overrides
from shim.app.runtime import ReachableClusters, Runtime, new_view
from shim.app.use_cases import assemble
from shim.config.loader import Config, parse
from shim.domain.applications import ApplicationSummary, FinalStatus, YarnApplicationState
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission, ApplicationDocument, HaState, SubClusterReport
from shim.domain.submissions import Candidate, HomeDecision, Submission
from shim.errors import NeverReachedError, ResourceManagerError, UnavailableError
from shim.federation.core.federation_view import FederationView
from shim.federation.inspection import SubClusterDescription
from shim.ports.clock import Clock
from shim.ports.history_store import HistoryStore
from shim.ports.resource_manager import ResourceManager, RestAnswer, RestRequest
from shim.ports.scheduler_login import SchedulerLogin, SchedulerLogins
from shim.ports.state_store import StateStore
from shim.simulation.stores import InMemoryMultiClusterStore, in_memory_stores
from shim.store.stores import Stores
from shim.submission.core.home import HomeSettings
from shim.submission.crash_points import CrashPoints, nothing_happens
from shim.submission.gate import Gate, OpenGate
from shim.submission.homes import Homes, VerifiesHomes
from shim.submission.lost_time import NOTHING_LOST
from tests.doubles.clock import FakeClock
from tests.doubles.resource_manager import ScriptedResourceManager
from tests.doubles.rm_documents import an_application

T = TypeVar("T")

_BASE = "/ws/v1/cluster"
_THREADS_S = 20.0
_CONFIG = "[server]\nanswer_within_s = 2.2222\n"  # nine tenths of it are for homes: two seconds


class ChoosesInOrder(Homes):
    """Takes the first sub-cluster that answers, is open and is not excluded.

    Attributes:
        is_turning: Whether each choice begins with the next sub-cluster instead: two choices for one application then
            seldom agree.
    """

    def __init__(
        self,
        view: FederationView,
        clock: Clock,
        settings: HomeSettings,
        admissions: Mapping[SubClusterId, Admission],
        local_masters: VerifiesHomes | None = None,
    ) -> None:
        super().__init__(view, clock, settings, admissions, local_masters)
        self._seen = view
        self._time = clock
        self._turn = 0
        self.is_turning = False

    def choose(self, submission: Submission, *, excluded: Mapping[SubClusterId, str] | None = None) -> HomeDecision:
        """The first that is left."""
        decision = self.preview(submission, excluded=excluded)
        self._turn = (self._turn + self.is_turning) % len(self._seen.subclusters)
        return decision

    def preview(self, submission: Submission, *, excluded: Mapping[SubClusterId, str] | None = None) -> HomeDecision:
        """The same, without taking turns."""
        del submission
        order = self._seen.subclusters[self._turn :] + self._seen.subclusters[: self._turn]
        reasons = dict.fromkeys(self._seen.late(self._time.now_s()), "does not answer")
        reasons |= {subcluster: word.value for subcluster, word in self.admissions.items()}
        reasons |= dict(excluded or {})
        candidates = tuple(
            Candidate(subcluster, None if subcluster in reasons else 1.0, reasons.get(subcluster, "in order"), 0.0)
            for subcluster in order
        )
        home = next((candidate.subcluster for candidate in candidates if candidate.score is not None), None)
        return HomeDecision(home, "in order" if home else "no sub-cluster takes it now", candidates)


class ListsInTheView:
    """A `Listing` that only tells the view."""

    def __init__(self, view: FederationView, clock: FakeClock) -> None:
        self._view = view
        self._clock = clock

    def mark_submitted(self, submission: Submission, home: SubClusterId) -> None:
        """Show it as SUBMITTED."""
        shown = an_application(
            submission.application_id,
            "SUBMITTED",
            user=submission.user,
            name=submission.name,
            queue=submission.queue or "default",
            allocatedMB=0,
            allocatedVCores=0,
        )
        self._view.applications.submit(_document(shown, home, self._clock.now_s()))

    def mark_written(self, application_id: ApplicationId) -> None:
        """Mark its documents as out of date."""
        self._view.applications.write(application_id, at_s=self._clock.now_s())


class ScriptedHeddle:
    """Use cases of production in one process of Heddle, with the choice of homes in order."""

    def __init__(
        self,
        managers: Mapping[SubClusterId, ResourceManager],
        stores: Stores,
        clock: FakeClock,
        crash_points: CrashPoints = nothing_happens,
        gate: Gate | None = None,
        *,
        has_past: bool = False,
        seed: str = "heddle",
    ) -> None:
        runtime = a_runtime(
            in_memory_clusters(managers), clock, stores=stores, config=_CONFIG, crash_points=crash_points, seed=seed
        )
        self.view, self.store, self.spans, self.clock = runtime.view, stores.state, stores.spans, clock
        self.listing = ListsInTheView(self.view, clock)
        past = None if has_past else NOTHING_LOST
        overrides = Overrides(homes=ChoosesInOrder, listing=self.listing, gate=gate or OpenGate(), past=past)
        self.use_cases = made = assemble(runtime, overrides=overrides)
        self.managers, self.tools = made.tools.managers, made.tools
        assert isinstance(made.tools.homes, ChoosesInOrder)
        self.homes = made.tools.homes
        self.administration, self.routing, self.control = (
            made.administration,
            made.backend.routing,
            made.backend.control,
        )
        self.submissions, self.repair, self.reconciliation = made.submissions, made.repair, made.reconciliation
        self.retirement, self.lost_time = made.retirement, made.lost_time
        self._sequence = 0

    async def poll(self) -> None:
        """Ask every ResourceManager and apply what it tells. Needs the clock to move if one of them is paused."""
        await asyncio.gather(*(self._poll(subcluster) for subcluster in self.managers))

    async def _poll(self, subcluster: SubClusterId) -> None:
        manager = self.managers[subcluster]
        polled_at_s = self.clock.now_s()
        known = self.view.applications.live(subcluster)
        try:
            info = (await _get(manager, "info"))["clusterInfo"]
            applications = (await _get(manager, "apps"))["apps"].get("app", [])
        except (ResourceManagerError, ValueError) as exc:
            self.view.note_failure(subcluster, str(exc), at_s=polled_at_s)
            return
        self._sequence += 1
        is_active = info["haState"] == "ACTIVE"
        told = [_document(app, subcluster, polled_at_s) for app in applications] if is_active else []
        documents = {document.summary.application_id: document for document in told}
        nothing = ResourceVector()
        self.view.apply(
            SubClusterReport(
                subcluster=subcluster,
                sequence=self._sequence,
                polled_at_s=polled_at_s,
                ha_state=HaState(info["haState"]),
                started_on_ms=info["startedOn"],
                version="3.4.2",
                capacity=nothing,
                used=nothing,
                maximum_allocation=nothing,
                applications=documents,
                forgotten=tuple(sorted(known - documents.keys())) if is_active else (),
                is_complete=is_active,
            )
        )


class ScriptedFederation:
    """The world that outlives a Heddle: ResourceManagers, store and time."""

    def __init__(
        self,
        names: Sequence[str] = ("east", "west"),
        *,
        store: StateStore | None = None,
        history: HistoryStore | None = None,
    ) -> None:
        self.clock = FakeClock()
        self.stores = in_memory_stores(self.clock, state=store, history=history)
        self.store, self.spans = self.stores.state, InMemoryMultiClusterStore()
        self.stores = replace(self.stores, spans=self.spans)
        self._has_past = history is not None
        self._lives = count(1)
        self.managers = {SubClusterId(name): ScriptedResourceManager(name, clock=self.clock) for name in names}

    def __getitem__(self, name: str) -> ScriptedResourceManager:
        """A ResourceManager by the name of its sub-cluster."""
        return self.managers[SubClusterId(name)]

    async def start(self, crash_points: CrashPoints = nothing_happens, gate: Gate | None = None) -> ScriptedHeddle:
        """A new Heddle that has polled once."""
        heddle = ScriptedHeddle(
            self.managers,
            self.stores,
            self.clock,
            crash_points,
            gate,
            has_past=self._has_past,
            seed=f"process {next(self._lives)}",
        )
        await self.wait_for(heddle.poll())
        if self._has_past:
            await heddle.lost_time.begin()
        return heddle

    async def wait_for(self, work: Coroutine[Any, Any, T], *, most_s: float = 60.0) -> T:
        """Await something while the time moves on as far as it takes; what is done in a thread takes real time.

        Raises:
            TimeoutError: It takes longer than `most_s`.
        """
        task = asyncio.create_task(work)
        waited_s = 0.0
        await self.clock.settle()
        while not task.done():
            if waited_s >= most_s:
                await asyncio.wait({task}, timeout=_THREADS_S)
                if task.done():
                    break
                task.cancel()
                raise TimeoutError(f"not done within {most_s} s of held time")
            await self.clock.advance(0.25)
            waited_s += 0.25
        return task.result()

    def who_has(self, application_id: ApplicationId) -> list[SubClusterId]:
        """The sub-clusters that have an application."""
        return [name for name, manager in self.managers.items() if application_id in manager.applications]


async def _get(manager: ResourceManager, path: str) -> Any:
    answer = await manager.query(f"{_BASE}/{path}", timeout_s=1.0)
    return json.loads(answer.body)


def _document(shown: Mapping[str, object], home: SubClusterId, as_of_s: float) -> ApplicationDocument:
    summary = ApplicationSummary(
        application_id=ApplicationId.parse(str(shown["id"])),
        home_subcluster=home,
        user=str(shown["user"]),
        name=str(shown["name"]),
        queue=str(shown["queue"]),
        state=YarnApplicationState(str(shown["state"])),
        final_status=FinalStatus(str(shown["finalStatus"])),
        application_type="YARN",
        tags=tuple(filter(None, str(shown.get("applicationTags", "")).split(","))),
        started_at_ms=int(str(shown["startedTime"])),
        finished_at_ms=int(str(shown["finishedTime"])),
    )
    return ApplicationDocument(summary, json.dumps(shown).encode(), as_of_s)


# A `Runtime` in memory: what the use cases are assembled on where there is no socket, no database and no chance.

_SECRET = b"s" * 32


class NoSchedulers:
    """Implements `SchedulerLogins`: no scheduler's address is known."""

    def log_in(self, subcluster: SubClusterId, token: bytes) -> SchedulerLogin:
        """See `SchedulerLogins`."""
        del token
        raise NeverReachedError(subcluster, "the address of its scheduler is not known")


def a_configuration(names: Mapping[SubClusterId, object], text: str = "") -> Config:
    """A configuration of some sub-clusters.

    Args:
        names: Of the sub-clusters.
        text: More of it, in TOML.
    """
    subclusters = "".join(f'\n[[subcluster]]\nid = "{name}"\nweb = "http://rm.{name}:8088"\n' for name in names)
    return parse(text + subclusters, source="heddle.toml", environment={})


def in_memory_clusters(
    managers: Mapping[SubClusterId, ResourceManager],
    *,
    logins: SchedulerLogins | None = None,
    guarded: frozenset[SubClusterId] = frozenset(),
) -> ReachableClusters:
    """Sub-clusters that are reached without a socket; none of their NodeManagers answers."""
    return ReachableClusters(
        managers=managers,
        logins=logins or NoSchedulers(),
        descriptions={name: SubClusterDescription((f"http://rm.{name}:8088",)) for name in managers},
        guarded=guarded,
        ask_node=dict.fromkeys(managers, _no_node),
    )


def a_runtime(
    clusters: ReachableClusters,
    clock: Clock,
    *,
    stores: Stores | None = None,
    config: str = "",
    groups_of: Callable[[str], frozenset[str]] = lambda _: frozenset(),
    crash_points: CrashPoints = nothing_happens,
    seed: str = "heddle",
) -> Runtime:
    """A runtime for the use cases of one process.

    Args:
        clusters: The sub-clusters.
        clock: For all times.
        stores: Outlive the process; new ones if None.
        config: Sections of the configuration, in TOML.
        groups_of: The groups of a user.
        crash_points: Called at each step of each submission.
        seed: Of all chance; two processes need two.
    """
    configuration = a_configuration(clusters.managers, config)
    return Runtime(
        config=configuration,
        clock=clock,
        random=Random(seed),  # noqa: S311 - repeatable on purpose
        clusters=clusters,
        stores=stores or in_memory_stores(clock),
        view=new_view(configuration),
        groups_of=groups_of,
        user="heddle",
        secret=_SECRET,
        crash_points=crash_points,
    )


async def _no_node(address: str, request: RestRequest) -> RestAnswer:
    raise UnavailableError(f"{address} does not answer {request.path}")
