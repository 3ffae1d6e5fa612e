"""The cycles of queues: when they run, what attempts hear of them, and what Local Masters and books are told."""

import asyncio
from dataclasses import replace
from random import Random

import pytest

from shim.domain.allocations import AskKey, PendingRequest, PlacementConstraint, TagBound
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.launches import Verdict
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.multicluster.core import ClusterCapacity
from shim.multicluster.core.events import LeftQueue
from shim.multicluster.core.splitter import SplitSettings
from shim.multicluster.queue_cycles import CycleSettings, QueueCycles
from shim.peers.launches import LaunchService, LaunchVerification
from shim.ports.attempt_calls import Attempt
from shim.scheduling.reading_costs import NOTHING_SHARED, DataRules
from shim.server.rest.asks_shown import shown_asks
from tests.doubles.clock import FakeClock
from tests.doubles.reports import a_document, a_queue_report, a_report
from tests.doubles.settings import usual
from tests.support.planned import DrivenSplitter

EAST, WEST = SubClusterId("east"), SubClusterId("west")
QUEUE = "root.default"
KEY = AskKey(20, -1, is_opportunistic=False, resource=ResourceVector(1024, 1))


def gib(count):
    return ResourceVector(1024 * count, count)


CAPACITIES = [ClusterCapacity(name, is_home=name == EAST, size=gib(8), largest=gib(8)) for name in (EAST, WEST)]


class LateMasters:
    """Implements `VerifiesLaunches`: Local Masters that answer when the test says so."""

    def __init__(self, view, clock):
        self.books = {name: LaunchVerification(name, view, clock, 30.0) for name in (EAST, WEST)}
        self.may_answer = asyncio.Event()
        self.settled = []

    async def verify_launches(self, subcluster, proposals, news):
        self.settled += news
        await self.may_answer.wait()
        return self.books[subcluster].verify("gm", proposals, news)


class Queue:
    """One queue over two clusters, with the attempts that its test lets in."""

    def __init__(self, order="fifo", elsewhere=None, data=NOTHING_SHARED, **more):
        self.clock = FakeClock()
        self.view = FederationView((EAST, WEST), usual(ViewSettings))
        self.order = order
        self.masters = None if elsewhere is None else elsewhere(self.view, self.clock)
        self.launches = LaunchService(self.view, self.clock, 30.0, self.masters)
        self.cycles = QueueCycles(
            self.launches,
            lambda _: self.order,
            self.view,
            self.clock,
            Random(0),  # noqa: S311
            usual(CycleSettings, cycle_s=0.25, data=data),
            **more,
        )
        self.number = 0

    def report(self, **free):
        self.number += 1
        self.clock.wall_s += 1.0
        for name, count in free.items():
            node = NodeReport(NodeId(f"{name}-0", 1), "/r", "RUNNING", gib(8), gib(8 - count))
            queues = (a_queue_report(QUEUE, maximum=gib(8), used=gib(8 - count)),)
            told = {"polled_at_s": self.clock.wall_s, "documents": {"nodes": b"{}", "scheduler": b"{}"}}
            report = a_report(SubClusterId(name), self.number, nodes=(node,), queues=queues, **told)
            applied = self.view.apply(report)
            self.launches.reported(report, applied)
            self.cycles.reported(report, applied)

    def is_called(self, number, name):
        """An application is known by a name."""
        document = a_document(number, "east")
        self.view.applications.note(document.but(summary=replace(document.summary, name=name)))

    def enters(self, number):
        attempt = Attempt(ApplicationAttemptId(ApplicationId(1, number), 1), EAST, QUEUE, "ada")
        return DrivenSplitter(self.cycles, attempt, lambda _: QUEUE, usual(SplitSettings, move_after_beats=3))


async def test_a_cycle_runs_when_something_changed_and_at_most_every_so_often():
    queue = Queue()
    queue.report(east=0, west=0)
    running = asyncio.create_task(queue.cycles.run())
    await asyncio.sleep(0)
    assert queue.cycles.cycles == 0, "nobody waits"
    splitter = queue.enters(1)
    splitter.split(PendingRequest(KEY, 2), CAPACITIES)
    for _ in range(5):
        await asyncio.sleep(0)
    assert queue.cycles.cycles == 1
    queue.report(east=1)
    queue.report(east=2)
    for _ in range(5):
        await asyncio.sleep(0)
    assert queue.cycles.cycles == 1
    await queue.clock.advance(0.3)
    assert queue.cycles.cycles == 2, "one for both reports"
    assert splitter.split(PendingRequest(KEY, 2), CAPACITIES) == {EAST: 2}
    assert queue.launches.open_allocations() == {EAST: 2, WEST: 0}
    running.cancel()


async def test_an_allocate_measures_no_queues_it_goes_by_what_the_last_cycle_was_told():
    measured = []
    queue = Queue(masters_of=lambda name: measured.append(name) or {})
    queue.report(east=0, west=0)
    splitter = queue.enters(1)
    splitter.split(PendingRequest(KEY, 2), CAPACITIES)
    assert measured == []
    queue.cycles.cycle(QUEUE)
    assert measured == [QUEUE]
    splitter.split(PendingRequest(KEY, 3), CAPACITIES)
    assert measured == [QUEUE]


async def test_what_one_waited_for_is_planned_for_the_next_when_he_leaves_though_nothing_is_reported():
    queue = Queue()
    queue.report(east=1, west=0)
    running = asyncio.create_task(queue.cycles.run())
    first, second = queue.enters(1), queue.enters(2)
    first.split(PendingRequest(KEY, 2), CAPACITIES)
    second.split(PendingRequest(KEY, 1), CAPACITIES)
    await queue.clock.advance(2.0)
    (decision,) = second.decisions
    assert decision.behind == ("application_1_0001",)
    before = queue.cycles.cycles
    await queue.clock.advance(2.0)
    assert queue.cycles.cycles == before, "nothing is left to plan"
    first.plans.carry_out(LeftQueue())
    await queue.clock.advance(0.3)
    (decision,) = second.decisions
    assert decision.behind == ()
    running.cancel()


def test_who_comes_later_is_planned_at_once_by_itself_and_waits_behind_the_first():
    queue = Queue()
    queue.report(east=2, west=1)
    first, second = queue.enters(1), queue.enters(2)
    assert first.split(PendingRequest(KEY, 2), CAPACITIES) in ({EAST: 1, WEST: 1}, {EAST: 2})
    queue.cycles.cycle(QUEUE)
    assert sum(second.split(PendingRequest(KEY, 3), CAPACITIES).values()) == 1
    queue.cycles.cycle(QUEUE)
    (decision,) = second.decisions
    assert decision.withheld == 2
    assert decision.behind == ("application_1_0001",)


def test_between_a_report_and_its_cycle_nobody_takes_what_those_before_wait_for():
    queue = Queue()
    queue.report(east=0, west=0)
    first, second = queue.enters(1), queue.enters(2)
    first.split(PendingRequest(KEY, 2), CAPACITIES)
    queue.cycles.cycle(QUEUE)
    queue.report(east=2, west=0)
    assert second.split(PendingRequest(KEY, 2), CAPACITIES) == {}
    queue.cycles.cycle(QUEUE)
    assert first.split(PendingRequest(KEY, 2), CAPACITIES) == {EAST: 2}


def test_without_an_order_each_attempt_waits_at_schedulers_as_without_heddle():
    queue = Queue("unordered")
    queue.report(east=0, west=0)
    for number in (1, 2):
        assert queue.enters(number).split(PendingRequest(KEY, 2), CAPACITIES) == {EAST: 1, WEST: 1}


async def test_a_rejection_by_a_local_master_is_an_event_of_the_next_cycle():
    queue = Queue(elsewhere=LateMasters)
    queue.report(east=0, west=4)
    _ = [each.book for each in queue.masters.books.values()]
    queue.masters.books[WEST].book.took("another", queue.enters(9).plans._kind(WEST, KEY, ()), queue.clock.wall_s)
    splitter = queue.enters(1)
    assert splitter.split(PendingRequest(KEY, 4), CAPACITIES) == {}, "not before the verdict"
    queue.masters.may_answer.set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert queue.launches.verdicts == {(WEST, Verdict.REJECTED): 1}
    assert splitter.split(PendingRequest(KEY, 4), CAPACITIES) == {EAST: 1, WEST: 3}, (
        "what was rejected waits at a scheduler"
    )
    queue.report(east=2)
    queue.cycles.cycle(QUEUE)
    assert queue.launches.open_allocations() == {EAST: 1, WEST: 3}
    await queue.launches.close()


def test_what_others_were_granted_is_given_up_and_planned_anew():
    queue = Queue()
    queue.report(east=0, west=2)
    splitter = queue.enters(1)
    assert splitter.split(PendingRequest(KEY, 2), CAPACITIES) == {WEST: 2}
    for _ in range(6):
        queue.report(east=2, west=0)
    queue.cycles.cycle(QUEUE)
    assert splitter.split(PendingRequest(KEY, 2), CAPACITIES) == {EAST: 2}
    assert splitter.repairs == 2


def test_grants_and_containers_are_told_to_the_books():
    queue = Queue("learnt-work")
    queue.report(east=1, west=0)
    splitter = queue.enters(1)
    splitter.split(PendingRequest(KEY, 1), CAPACITIES)
    splitter.granted(KEY, EAST)
    splitter.granted(KEY, WEST)
    container = ContainerId(ApplicationAttemptId(ApplicationId(1, 1), 1), 2)
    splitter.begun(container, None)
    queue.clock.wall_s += 5.0
    splitter.ended(container, is_whole=True)
    splitter.split(PendingRequest(KEY, 1), CAPACITIES)
    queue.cycles.cycle(QUEUE)
    (decision,) = splitter.decisions
    assert decision.estimate.ended == 1
    assert queue.launches.open_allocations() == {EAST: 0, WEST: 0}


def test_who_leaves_is_forgotten_and_what_was_allocated_is_another_s():
    queue = Queue()
    queue.report(east=2, west=0)
    first, second = queue.enters(1), queue.enters(2)
    first.split(PendingRequest(KEY, 2), CAPACITIES)
    queue.cycles.cycle(QUEUE)
    second.split(PendingRequest(KEY, 2), CAPACITIES)
    first.clear()
    queue.cycles.cycle(QUEUE)
    assert second.split(PendingRequest(KEY, 2), CAPACITIES) == {EAST: 2}


def teach(queue, splitter, number, *lasts_s):
    """Containers of an attempt that ran for so long, one after the other."""
    for position, ran_for_s in enumerate(lasts_s):
        container = ContainerId(ApplicationAttemptId(ApplicationId(1, number), 1), position + 2)
        splitter.begun(container, None)
        queue.clock.wall_s += ran_for_s
        splitter.ended(container, is_whole=True)


def test_what_an_application_has_taught_is_known_of_its_next_run():
    queue = Queue("learnt-work")
    for number, name in ((1, "load 2026-11-21"), (2, "sort"), (3, "load 2026-11-22"), (4, "other")):
        queue.is_called(number, name)
    for number, ran_for_s in ((1, 1000.0), (2, 10.0)):
        splitter = queue.enters(number)
        teach(queue, splitter, number, ran_for_s)
        splitter.clear()
    queue.report(east=0, west=0)
    third, fourth = queue.enters(3), queue.enters(4)
    third.split(PendingRequest(KEY, 2), CAPACITIES)
    fourth.split(PendingRequest(KEY, 2), CAPACITIES)
    queue.cycles.cycle(QUEUE)
    (of_third,), (of_fourth,) = third.decisions, fourth.decisions
    assert of_third.behind == ("application_1_0004",), "a load takes long"
    assert (of_third.estimate.alike, of_third.estimate.others) == (1, 2)
    assert (of_fourth.estimate.alike, of_fourth.estimate.others) == (0, 2)
    assert of_third.estimate.work_s > of_fourth.estimate.work_s > 0.0


def test_what_runs_since_before_heddle_began_counts_from_then_on():
    queue = Queue("learnt-work")
    queue.report(east=0, west=0)
    splitter, expected = queue.enters(1), []
    container = ContainerId(ApplicationAttemptId(ApplicationId(1, 1), 1), 2)
    for since_s in (queue.clock.wall_s + 60.0, queue.clock.wall_s - 5000.0):
        splitter.begun(container, since_s)
        queue.clock.wall_s += 1.0
        splitter.split(PendingRequest(KEY, 2), CAPACITIES)
        queue.cycles.cycle(QUEUE)
        (decision,) = splitter.decisions
        expected.append(decision.estimate.container_s)
    assert expected[0] < expected[1]
    assert decision.estimate.running == 1, "told twice"


def test_the_order_says_what_it_expects_and_by_what():
    queue = Queue("learnt-work")
    large, small = queue.enters(1), queue.enters(2)
    teach(queue, large, 1, *[100.0] * 4)
    teach(queue, small, 2, *[10.0] * 4)
    queue.report(east=0, west=0)
    small.split(PendingRequest(KEY, 9), CAPACITIES)
    large.split(PendingRequest(KEY, 2), CAPACITIES)
    queue.cycles.cycle(QUEUE)
    (shown,) = shown_asks(large.decisions)
    assert shown["reason"] == (
        "2 wait in Heddle, as others of the queue go first: application_1_0002; it is expected to need 200.0 s of "
        "containers yet, 100.0 s each by 4 that have ended, 0 that run and 2 applications, 0 of them like it"
    )
    assert shown["expects"] == {
        "work_s": 200.0,
        "container_s": 100.0,
        "ended": 4,
        "running": 0,
        "alike": 0,
        "others": 2,
    }
    queue.order = "fifo"
    queue.clock.wall_s += 1.0
    queue.cycles.cycle(QUEUE)
    (shown,) = shown_asks(large.decisions)
    assert (shown["expects"], shown["reason"]) == (None, ""), "the older one goes first"


def test_what_stands_in_a_scheduler_is_taken_back_when_somebody_goes_first():
    queue = Queue("fewest-tasks")
    queue.report(east=0, west=0)
    large, small = queue.enters(1), queue.enters(2)
    assert large.split(PendingRequest(KEY, 6), CAPACITIES) == {EAST: 1, WEST: 1}, (
        "nobody knows that more comes free soon"
    )
    small.split(PendingRequest(KEY, 2), CAPACITIES)
    queue.report(east=0, west=0)
    queue.cycles.cycle(QUEUE)
    assert large.split(PendingRequest(KEY, 6), CAPACITIES) == {}
    assert sum(small.split(PendingRequest(KEY, 2), CAPACITIES).values()) == 2
    (decision,) = large.decisions
    assert (decision.withheld, decision.behind) == (6, ("application_1_0002",))

    queue.report(east=5, west=0)
    queue.cycles.cycle(QUEUE)
    assert large.split(PendingRequest(KEY, 6), CAPACITIES) == {EAST: 3}, "two of five are the other's"
    assert small.split(PendingRequest(KEY, 2), CAPACITIES)[EAST] == 2
    small.drop(KEY)
    queue.cycles.cycle(QUEUE)
    assert sum(large.split(PendingRequest(KEY, 6), CAPACITIES).values()) == 6, (
        "five and one more, as there is room for five"
    )


@pytest.mark.parametrize(
    ("order", "bound", "owed"),
    [
        ("medea", {}, ["busy: 0 db in node"]),
        ("medea", {"is_rack": True, "whose": "not-self"}, ["busy: 0 db in rack"]),
        ("medea", {"whose": "self"}, []),
        ("medea", {"most": 1}, []),
        ("fair", {}, []),
    ],
)
def test_what_a_service_keeps_away_is_imposed_on_those_that_come_later(order, bound, owed):
    """A ResourceManager asks the newcomer alone what it wants."""
    queue = Queue(order)
    queue.report(east=4, west=4)
    splitter = queue.enters(1)
    away = TagBound("busy", **({"most": 0, "whose": "all"} | bound))
    for choices in (((away,),), ((away,), (TagBound("x", most=0),))):
        placement = PlacementConstraint(frozenset({"db"}), b"away", is_local=True, choices=choices)
        splitter.split(PendingRequest(replace(KEY, placement=placement), 2), CAPACITIES)
        found = [
            f"{'+'.join(each.subject)}: {wish.most} {'+'.join(wish.tags)} in {wish.group}"
            for each in queue.cycles.imposed_on(QUEUE).constraints
            for (wish,) in each.any_of
            if each.is_hard
        ]
        assert found == owed, "one of two choices cannot be told the other way round"
    assert queue.cycles.imposed_on("root.other").constraints == ()


def test_a_policy_that_is_applied_orders_those_that_wait_already():
    queue = Queue("unordered")
    queue.report(east=0, west=0)
    first, second = queue.enters(1), queue.enters(2)
    for splitter in (first, second):
        assert sum(splitter.split(PendingRequest(KEY, 2), CAPACITIES).values()) == 2
    queue.order = "fifo"
    queue.clock.wall_s += 1.0
    queue.cycles.cycle(QUEUE)
    assert second.split(PendingRequest(KEY, 2), CAPACITIES) == {}
    first.clear()
    queue.cycles.cycle(QUEUE)
    assert sum(second.split(PendingRequest(KEY, 2), CAPACITIES).values()) == 2


def test_what_waits_near_its_data_says_so_though_its_scheduler_is_asked_for_all_of_it():
    queue = Queue(data=DataRules(read_across_s=10.0))
    queue.report(east=4, west=0)
    splitter = queue.enters(1)
    demand = PendingRequest(KEY, 1, named={"west-0": 1})
    known = [replace(each, racks={f"{each.subcluster}-0": "/r"}) for each in CAPACITIES]
    for _ in range(3):
        queue.clock.wall_s += 1.0
        queue.cycles.cycle(QUEUE)
        asked = splitter.split(demand, known)
    assert asked == {WEST: 1}
    (told,) = shown_asks(splitter.decisions)
    assert told["withheld"] == 0
    assert told["reason"].startswith("by fifo: read_across_s: it waits up to ")
    assert told["reason"].endswith(" s for room near its data (west)")


async def test_a_request_that_waits_on_purpose_wakes_its_cycle_when_its_time_is_over():
    queue = Queue("delay")
    queue.report(east=2, west=0)
    running = asyncio.create_task(queue.cycles.run())
    splitter = queue.enters(1)
    demand = PendingRequest(KEY, 1, named={"west-0": 1})
    assert splitter.split(demand, CAPACITIES) == {}
    (told,) = shown_asks(splitter.decisions)
    assert (told["rule"], told["withheld"]) == ("delay", 1)
    assert "1 wait in Heddle by delay: it waits for one of its named places" in told["reason"]
    for _ in range(4):
        await queue.clock.advance(1.0)
    before = queue.cycles.cycles
    await queue.clock.advance(0.9)
    assert queue.cycles.cycles == before
    for _ in range(5):
        await queue.clock.advance(0.5)
    assert queue.cycles.cycles > before, "its rack may count now, though nothing was reported"
    for _ in range(6):
        await queue.clock.advance(1.0)
    assert splitter.split(demand, CAPACITIES) == {EAST: 1}
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
