"""The order of containers in a queue: as its policy says now, among those who can stand in each other's way."""

from dataclasses import replace

import pytest

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId, SubClusterId
from shim.domain.launches import Waiting
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport
from shim.federation.core.federation_view import FederationView
from shim.multicluster.core import ClusterCapacity, Demand
from shim.multicluster.core.matching import MatchSettings
from shim.multicluster.splitters import AttemptMatching
from shim.peers.container_order import ContainerOrders
from shim.peers.launches import AttemptLaunches, LaunchService
from shim.ports.attempt_calls import Attempt
from shim.server.rest.asks_shown import shown_asks
from shim.testing.clock import FakeClock
from shim.testing.reports import a_document, a_report
from tests.unit.multicluster.core.test_matching import KEY

EAST = SubClusterId("east")
DOCUMENTS = {"nodes": b"{}", "scheduler": b"{}"}
SIZE = ResourceVector(8 * 1024, 8)
ROOMS = (ClusterCapacity(EAST, is_home=True, free=SIZE, size=SIZE, largest=SIZE, labels=frozenset({"gpu"})),)
GPU = replace(KEY, label="gpu")
WAITS = Waiting(wanted=2, unpromised=2, subclusters=frozenset({EAST}))


def an_attempt(number, queue="root.default"):
    return Attempt(ApplicationAttemptId(ApplicationId(1, number), 1), EAST, queue, "ada")


class Federation:
    """A cluster with as much room as the test says, and two applications of one queue, or of two."""

    def __init__(self, order="fewest-tasks", free=8):
        self.clock = FakeClock()
        self.order = order
        self.view = FederationView((EAST,))
        self.report(1, free)
        self.service = LaunchService(self.view, self.clock, 30.0)
        self.orders = ContainerOrders(lambda _: self.order, self.clock, 60.0, self.view)
        self.matching = AttemptMatching(self.service, MatchSettings(), self.orders)

    def report(self, number, free):
        used = ResourceVector(1024 * (8 - free), 8 - free)
        nodes = tuple(
            NodeReport(NodeId(name, 1), "/r", "RUNNING", SIZE, used, labels)
            for name, labels in (("e1", ()), ("e2", ("gpu",)))
        )
        report = a_report("east", number, polled_at_s=self.clock.now_s(), nodes=nodes, documents=DOCUMENTS, queues=())
        self.view.apply(report)

    def splitter(self, attempt):
        return self.matching.splitter(attempt, lambda _: attempt.queue, lambda: None)

    def launches(self, attempt):
        turn = self.orders.turn_of(attempt)
        return AttemptLaunches(self.service, str(attempt.id), lambda _: attempt.queue, lambda _: None, turn)


@pytest.fixture
def federation():
    return Federation()


def test_what_an_application_has_taught_is_known_of_its_next_run(federation):
    federation.order = "learnt-work"
    for number, name in ((1, "load 2026-11-21"), (2, "sort"), (3, "load 2026-11-22"), (4, "other")):
        document = a_document(number, "east")
        federation.view.note(replace(document, summary=replace(document.summary, name=name)))
    for number, ran_for_s in ((1, 1000.0), (2, 10.0)):
        attempt = an_attempt(number)
        splitter, container = federation.splitter(attempt), ContainerId(attempt.id, 2)
        splitter.begun(container, None)
        federation.clock.wall_s += ran_for_s
        splitter.ended(container, is_whole=True)
        splitter.clear()
    third, fourth = (federation.launches(an_attempt(number)) for number in (3, 4))
    third.wait(KEY, WAITS)
    fourth.wait(KEY, WAITS)
    assert third.before(EAST, KEY) == ("application_1_0004",), "a load takes long"
    known, unknown = third.estimate(), fourth.estimate()
    assert (known.alike, known.others, unknown.alike, unknown.others) == (1, 2, 0, 2)
    assert known.work_s > unknown.work_s > 0.0


def test_what_runs_since_before_heddle_began_counts_from_then_on(federation):
    federation.order = "learnt-work"
    first = federation.launches(an_attempt(1))
    first.wait(KEY, WAITS)
    expected = []
    for since_s in (federation.clock.wall_s + 60.0, federation.clock.wall_s - 5000.0):
        first.begun(ContainerId(an_attempt(1).id, 2), since_s)
        federation.clock.wall_s += 1.0
        expected.append(first.estimate().container_s)
    assert expected[0] < expected[1]
    assert first.estimate().running == 1, "told twice"


def test_the_order_says_what_it_expects_and_by_what():
    federation = Federation("learnt-work", free=0)
    large, small = an_attempt(1), an_attempt(2)
    of_large, of_small = federation.splitter(large), federation.splitter(small)
    for splitter, attempt, ran_for_s in ((of_large, large, 100.0), (of_small, small, 10.0)):
        for number in range(4):
            container = ContainerId(attempt.id, number)
            splitter.begun(container, None)
            federation.clock.wall_s += ran_for_s
            splitter.ended(container, is_whole=True)
    federation.clock.wall_s += 1.0
    of_small.split(Demand(KEY, 9), ROOMS)
    of_large.split(Demand(KEY, 2), ROOMS)
    (shown,) = shown_asks(federation.matching.decisions(large.id.application))
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
    federation.order = "fifo"
    of_large.split(Demand(KEY, 2), ROOMS)
    (shown,) = shown_asks(federation.matching.decisions(large.id.application))
    assert (shown["expects"], shown["reason"]) == (None, "")


def test_what_those_before_wait_for_is_not_free_for_others_of_the_queue(federation):
    first, second, stranger = (
        federation.launches(each) for each in (an_attempt(1), an_attempt(2), an_attempt(3, "root.prod"))
    )
    first.wait(KEY, WAITS)
    second.wait(KEY, replace(WAITS, wanted=9, unpromised=9))
    assert (first.room(EAST, KEY), second.room(EAST, KEY), stranger.room(EAST, KEY)) == (8, 6, 8)
    assert second.before(EAST, KEY) == ("application_1_0001",)
    assert stranger.before(EAST, KEY) == ()


def test_those_who_need_another_label_are_in_nobodys_way(federation):
    first, second = (federation.launches(an_attempt(number)) for number in (1, 2))
    first.wait(GPU, WAITS)
    second.wait(KEY, replace(WAITS, wanted=9, unpromised=9))
    assert second.room(EAST, KEY) == 8
    assert second.before(EAST, KEY) == ()
    assert second.room(EAST, GPU) == 6


def test_those_who_will_have_other_nodes_alone_leave_the_rest(federation):
    first, second = (federation.launches(an_attempt(number)) for number in (1, 2))
    first.wait(KEY, replace(WAITS, places=("e2",)))
    second.wait(KEY, replace(WAITS, wanted=9, unpromised=9))
    assert second.room(EAST, KEY) == 8, "of e2 without the label nothing can be had"
    first.wait(KEY, replace(WAITS, places=("e1",)))
    assert second.room(EAST, KEY) == 6
    assert second.room(EAST, KEY, ("e1",)) == 6
    assert second.room(EAST, KEY, ("e3",)) == 0


def test_without_an_order_everybody_is_served_as_the_sub_clusters_see_fit(federation):
    first, second = (federation.launches(an_attempt(number)) for number in (1, 2))
    first.wait(KEY, WAITS)
    second.wait(KEY, replace(WAITS, wanted=9, unpromised=9))
    federation.order = "unordered"
    assert not second.is_ordered
    assert (second.room(EAST, KEY), second.before(EAST, KEY)) == (8, ())
    federation.order = "fifo"
    assert (second.room(EAST, KEY), second.is_ordered) == (6, True), "a policy was applied"
    first.leave()
    assert second.room(EAST, KEY) == 8


def test_what_stands_in_a_scheduler_is_taken_back_when_somebody_goes_first_and_says_so():
    federation = Federation(free=0)
    large, small = an_attempt(1), an_attempt(2)
    of_large, of_small = federation.splitter(large), federation.splitter(small)
    standing = of_large.split(Demand(KEY, 6), ROOMS)
    assert standing == {EAST: 6}
    assert of_small.split(Demand(KEY, 2), ROOMS) == {EAST: 2}, "it is first"
    assert of_large.split(Demand(KEY, 6, standing=standing, starved={EAST: 12}), ROOMS) == {}
    (shown,) = shown_asks(federation.matching.decisions(large.id.application))
    assert (shown["withheld"], shown["behind"]) == (6, ["application_1_0002"])
    assert shown["reason"] == "6 wait in Heddle, as others of the queue go first: application_1_0002"

    federation.clock.wall_s += 1.0
    federation.report(2, 5)
    assert of_large.split(Demand(KEY, 6, starved={EAST: 12}), ROOMS) == {EAST: 3}, "two of five are the other's"
    assert of_small.split(Demand(KEY, 2, standing={EAST: 2}), ROOMS) == {EAST: 2}
    of_small.drop(KEY)
    assert of_large.split(Demand(KEY, 6, standing={EAST: 3}), ROOMS) == {EAST: 6}


def test_who_is_first_and_is_granted_nothing_though_there_is_room_holds_nobody_up():
    federation = Federation(free=4)
    of_first = federation.splitter(an_attempt(1))
    of_second = federation.splitter(an_attempt(2))
    assert of_first.split(Demand(KEY, 2), ROOMS) == {EAST: 2}
    assert of_second.split(Demand(KEY, 9), ROOMS) == {EAST: 2}, "the first has promises, and no container yet"
    of_first.split(Demand(KEY, 2, standing={EAST: 2}, starved={EAST: 10}), ROOMS)
    assert of_second.split(Demand(KEY, 9, standing={EAST: 2}), ROOMS) == {EAST: 9}, "its user may have no more"
    of_first.granted(KEY, EAST)
    of_first.split(Demand(KEY, 5, standing={EAST: 1}, starved={EAST: 0}, held=1), ROOMS)
    assert of_second.split(Demand(KEY, 9, standing={EAST: 9}), ROOMS)[EAST] < 9, "its user may again"
