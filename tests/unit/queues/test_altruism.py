"""Altruism at work on attempts that only hold and ask."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from altruism import LeftoverOrder
from shim.domain.allocations import AskKey, Grant
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.queues import FederatedQueue, SharePolicy
from shim.domain.resources import ResourceVector
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.multicluster.core import AttemptHoldings, HeldBack
from shim.multicluster.core.containers import Container, ContainerState
from shim.ports.attempt_calls import Attempt
from shim.queues.admission import AdmissionQueue
from shim.queues.altruism import AltruismService, AltruismWorld, rules_of
from shim.queues.core.entitle import ShareSettings
from shim.queues.credits import CreditBook
from shim.queues.engines import EngineGraphs
from shim.simulation.engine import seeded
from shim.simulation.state_stores import InMemoryStateStore
from tests.doubles.clock import FakeClock
from tests.doubles.reports import a_document, a_report
from tests.doubles.settings import usual

EAST = SubClusterId("east")
UNIT = ResourceVector(1024, 1)
JOB = ApplicationAttemptId(ApplicationId(1_700_000_000_000, 1), 1)
MAP, REDUCE = (AskKey(priority, -1, is_opportunistic=False, resource=UNIT) for priority in (20, 10))


@dataclass
class ListedJob:
    """`MultiClusterAttempt` as altruism sees it."""

    attempt: Attempt = field(default_factory=lambda: Attempt(JOB, EAST, "root.etl", "ada"))
    asks: dict[AskKey, int] = field(default_factory=dict)
    held: dict[int, AskKey] = field(default_factory=dict)
    told: list[HeldBack] = field(default_factory=list)
    heard: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def holdings(self) -> AttemptHoldings:
        containers = tuple(
            Container(
                ContainerId(self.attempt.id, number),
                EAST,
                ContainerState.GIVEN,
                key,
                Grant(ContainerId(self.attempt.id, number), NodeId("n1", 1), key.priority, -1, UNIT),
            )
            for number, key in self.held.items()
        )
        return AttemptHoldings(containers, asks=self.asks)

    def tell(self, event: HeldBack) -> None:
        self.told.append(event)
        self.heard.set()


class MapReduceGraphs(EngineGraphs):
    """Every job is one of MapReduce: no poll tells of applications here."""

    def stages(self, application, engine):  # noqa: ARG002 - the form of the port
        return super().stages(application, "MAPREDUCE")


class OneQueue:
    """A cluster of eight containers, and a job whose maps ran ten seconds."""

    def __init__(self, *tags: str, **settings) -> None:
        self.tags = tags
        self.clock, self.job, self.sequence = FakeClock(1000.0), ListedJob(), 0
        self.others: list[ListedJob] = []
        self.view = FederationView((EAST,), usual(ViewSettings, late_after_s=5.0))
        policy = SharePolicy((FederatedQueue("root.etl", **({"altruism": 1.0} | settings)),), version=1)
        room = AdmissionQueue(
            policy=lambda: policy,
            view=self.view,
            admissions={},
            store=InMemoryStateStore(self.clock.now_s),
            clock=self.clock,
            groups_of=lambda _: frozenset(),
            settings=usual(ShareSettings),
        )
        self.book = CreditBook(lambda: "a")
        chance = seeded(1, "altruism")
        world = AltruismWorld(lambda: policy, self.view, room, MapReduceGraphs(), chance, self.clock, self.book, 1.0)
        self.service = AltruismService(world, lambda: [self.job, *self.others])  # type: ignore[list-item]

    def wait(self, seconds):
        self.clock.wall_s += seconds

    def look(self, *, is_fresh=True):
        if is_fresh:
            self.sequence += 1
            told = a_document(1, EAST, timestamp=1_700_000_000_000)
            known = told.but(summary=replace(told.summary, tags=self.tags))
            self.view.apply(a_report(EAST, self.sequence, polled_at_s=self.clock.now_s(), applications=[known]))
        self.service.look()
        return self.job.told[-1].counts if self.job.told else None

    def run_maps(self):
        """Four maps run for ten seconds, and six take their places; three reduces are asked for."""
        self.job.held, self.job.asks = dict.fromkeys(range(2, 6), MAP), {MAP: 6}
        self.look()
        self.wait(10.0)
        self.job.held, self.job.asks = dict.fromkeys(range(6, 12), MAP), {REDUCE: 3}
        return self.look()


def test_reduces_are_held_back_until_their_maps_are_about_to_end():
    queue = OneQueue()
    assert queue.run_maps() == {REDUCE: 3}
    queue.wait(6.0)
    assert queue.look() == {}, "a container takes a while to start"


@pytest.mark.parametrize(
    ("tags", "altruism", "expected"),
    [
        (("heddle-altruism=0",), 1.0, None),
        (("heddle-altruism=1",), 1e-9, {REDUCE: 3}),
        (("heddle-altruism=much",), 1.0, {REDUCE: 3}),
        (("heddle-altruism=1",), 0.0, None),
    ],
)
def test_a_job_yields_as_often_as_its_tag_says_in_a_queue_where_jobs_yield_at_all(tags, altruism, expected):
    assert OneQueue(*tags, altruism=altruism).run_maps() == expected


def test_a_first_wave_is_not_held_back():
    queue = OneQueue()
    queue.job.asks = {MAP: 6}
    assert queue.look() is None
    assert "not known" in queue.service.shown(JOB.application)["unknown"]


def test_a_queue_says_how_its_jobs_yield():
    rules = rules_of(
        FederatedQueue("root.etl", altruism_order="packing", altruism_packer="graphene", altruism_slack=0.2)
    )
    assert (rules.order, rules.slack, rules.is_ranked) == (LeftoverOrder.PACKING, 0.2, True)
    assert not rules_of(FederatedQueue("root.etl")).is_ranked


def test_an_old_view_gives_everything_back():
    queue = OneQueue()
    assert queue.run_maps() == {REDUCE: 3}
    queue.wait(2.0)
    assert queue.look() == {REDUCE: 3}
    queue.wait(30.0)
    queue.job.held = dict.fromkeys(range(2, 30), MAP)
    assert queue.look(is_fresh=False) == {}


@pytest.mark.parametrize("settings", [{"altruism": 0.0}, {"altruism_shadow": True}])
def test_a_queue_that_is_not_altruistic_or_only_watches_holds_nothing_back(settings):
    queue = OneQueue(**settings)
    assert queue.run_maps() is None


def test_what_is_put_off_is_shown_and_counted():
    queue = OneQueue()
    queue.run_maps()
    queue.wait(2.0)
    queue.look()
    shown = queue.service.shown(JOB.application)
    assert [(row["stage"], row["containers"], row["waits_for"]) for row in shown["puts_off"]] == [
        ("reduce", 3, ["map"])
    ]
    assert shown["given_s"] == pytest.approx(2.0 * 2 / 8, abs=0.05), "two of eight were free within its share"
    counted = queue.book.counted["queue", "root.etl"]
    assert counted.given_s == pytest.approx(shown["given_s"], abs=0.05)
    assert counted.given_mib_s == pytest.approx(counted.given_s * 8 * 1024), "seconds of eight containers of 1 GiB"


def test_nothing_is_told_of_a_job_of_another_queue():
    assert OneQueue().service.shown(ApplicationId(1, 7)) is None


def test_accounts_of_too_many_jobs_are_forgotten_the_oldest_first():
    queue = OneQueue()
    for number in range(5000):
        attempt = ApplicationAttemptId(ApplicationId(1, number), 1)
        queue.job.attempt = Attempt(attempt, EAST, "root.etl", "ada")
        queue.look(is_fresh=not number)
    assert queue.service.shown(ApplicationId(1, 0)) is None
    assert queue.service.shown(ApplicationId(1, 4999)) is not None


async def test_it_looks_for_ever_and_plans_beside_the_loop():
    queue = OneQueue()
    queue.run_maps()
    queue.job.told.clear()
    queue.job.heard.clear()
    looking = asyncio.create_task(queue.service.run())
    await queue.job.heard.wait()
    assert queue.job.told[-1].counts == {REDUCE: 3}
    looking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await looking


def test_the_stages_of_a_job_are_told_with_what_each_waits_for_and_how_sure_that_is():
    queue = OneQueue()
    queue.run_maps()
    shown = queue.service.shown(JOB.application)
    assert shown["graph_from"] == "every MapReduce job has these"
    rows = [(row["stage"], row["waits_for"], row["waiting"], row["running"], row["sure"]) for row in shown["stages"]]
    assert rows == [
        ("map", [], 0, 6, "times of its own tasks (4)"),
        ("reduce", ["map"], 3, 0, "times of other stages (4)"),
    ]


def test_what_a_job_is_lent_by_another_is_told_and_known():
    queue = OneQueue()
    queue.run_maps()
    other = ListedJob(Attempt(ApplicationAttemptId(ApplicationId(1, 9), 1), EAST, "root.etl", "bob"))
    queue.others.append(other)
    for count in (3, 7):
        other.asks, other.held = {MAP: 9}, dict.fromkeys(range(2, 2 + count), MAP)
        queue.job.held, queue.job.asks = {6: MAP}, {REDUCE: 3}
        queue.wait(1.0)
        queue.look()
    shown = queue.service.shown(other.attempt.id.application)
    assert shown["lent_containers"] == len(queue.service.lent()) > 0
    assert queue.service.shown(JOB.application)["lent_containers"] == 0
    assert not queue.service.needs(), "nothing that it asks for is due"
    queue.job.held, queue.job.asks = {}, {REDUCE: 3}
    queue.wait(20.0)
    queue.look()
    (need,) = queue.service.needs()
    assert (need.attempt, need.queue, need.unit, need.count) == (JOB, "root.etl", UNIT, 3)
    assert queue.service.shares() == dict.fromkeys((JOB, other.attempt.id), UNIT.times(4)), "half of eight each"


def test_debits_of_a_job_are_told_after_its_account_was_forgotten():
    queue = OneQueue()
    queue.run_maps()
    queue.wait(2.0)
    queue.look()
    before = queue.service.shown(JOB.application)
    for number in range(100, 4300):
        queue.job.attempt = Attempt(ApplicationAttemptId(ApplicationId(1, number), 1), EAST, "root.etl", "ada")
        queue.look(is_fresh=number == 100)
    shown = queue.service.shown(JOB.application)
    assert before is not None
    assert shown is not None
    assert shown["given_s"] == before["given_s"] > 0.0
    assert (shown["unknown"], shown["stages"]) == ("this Heddle does not read its calls now", [])
