"""Applications that others of their queue have overtaken elsewhere are named; nobody else is."""

import json
from dataclasses import replace

import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.queues import FederatedQueue, SharePolicy
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.submission.waiting import HomeWaits
from tests.doubles.clock import FakeClock
from tests.doubles.reports import a_document, a_queue_report, a_report
from tests.doubles.settings import usual

EAST, WEST, NORTH = SubClusterId("east"), SubClusterId("west"), SubClusterId("north")


class Federation:
    """Applications at two homes, each submitted so many seconds ago."""

    def __init__(self, *queues):
        self.clock = FakeClock()
        self.view = FederationView((EAST, WEST, NORTH), usual(ViewSettings))
        self.policy = SharePolicy(queues)
        self.waiting = HomeWaits(self.view, self.clock, lambda: self.policy)

    def tell(self, subcluster, *applications, skew_s=0.0):
        """Each application as its number, state, age in seconds and queue."""
        now_s = self.clock.now_s()
        documents = []
        for number, state, age_s, queue in applications:
            at_ms = int((now_s + skew_s - age_s) * 1000)
            made = a_document(number, subcluster, state, started_at_ms=at_ms, as_of_s=now_s)
            documents.append(
                made.but(summary=replace(made.summary, queue=queue), told=json.dumps({"state": state}).encode())
            )
        queues = tuple(
            a_queue_report(path) for path in dict.fromkeys(("root.default", *(row[3] for row in applications)))
        )
        self.view.apply(
            a_report(subcluster, polled_at_s=now_s, applications=documents, queues=queues, clock_skew_s=skew_s)
        )
        return self

    def named(self):
        return [each.application_id.sequence for each in self.waiting.overtaken()]


PROD = "root.prod"


def test_one_that_waits_while_later_ones_of_its_queue_start_elsewhere_is_named():
    federation = Federation().tell("east", (1, "ACCEPTED", 90, PROD))
    federation.tell("west", (2, "RUNNING", 60, PROD), (3, "FINISHED", 50, PROD), (4, "RUNNING", 200, PROD))
    (found,) = federation.waiting.overtaken()
    assert (found.application_id, found.subcluster, found.queue) == (ApplicationId(1, 1), "east", PROD)
    assert (found.others, found.elsewhere, found.waits_s) == (2, (WEST,), pytest.approx(90, abs=1))
    assert found.told == "2 applications of queue root.prod, submitted later, started at west meanwhile"
    assert found.finding.startswith("application_1_0001 of alice waits at east since ")
    assert federation.waiting.overtaken_one(ApplicationId(1, 1)) == found
    assert federation.waiting.overtaken_one(ApplicationId(1, 2)) is None


@pytest.mark.parametrize(
    ("mine", "other"),
    [
        ((1, "ACCEPTED", 20, PROD), (2, "RUNNING", 10, PROD)),
        ((1, "RUNNING", 90, PROD), (2, "RUNNING", 60, PROD)),
        ((1, "ACCEPTED", 90, PROD), (2, "RUNNING", 95, PROD)),
        ((1, "ACCEPTED", 90, PROD), (2, "ACCEPTED", 60, PROD)),
        ((1, "ACCEPTED", 90, PROD), (2, "FAILED", 60, PROD)),
        ((1, "ACCEPTED", 90, PROD), (2, "RUNNING", 60, "root.dev")),
    ],
    ids=["waits briefly", "runs", "came first", "waits too", "never ran", "another queue"],
)
def test_nobody_else_is_named(mine, other):
    assert Federation().tell("east", mine).tell("west", other).named() == []


def test_one_that_others_overtook_at_its_own_home_waits_for_that_home():
    federation = Federation().tell("east", (1, "ACCEPTED", 90, PROD), (2, "RUNNING", 60, PROD))
    assert federation.named() == []


def test_a_queue_is_the_same_by_its_short_name_and_by_another_name():
    queue = FederatedQueue(PROD, names={WEST: "root.batch"})
    federation = Federation(queue).tell("east", (1, "ACCEPTED", 90, PROD))
    federation.tell("west", (2, "RUNNING", 60, "root.batch"))
    assert federation.named() == [1]


def test_times_are_compared_though_clocks_differ_and_the_longest_wait_is_first():
    federation = Federation().tell("east", (1, "ACCEPTED", 60, PROD), (2, "ACCEPTED", 90, PROD), skew_s=3600.0)
    assert federation.tell("west", (3, "RUNNING", 40, PROD)).named() == [2, 1]


@pytest.mark.parametrize(
    ("mine", "other", "is_named"),
    [
        ((1, "ACCEPTED", 30, PROD), (2, "RUNNING", 10, PROD), True),
        ((1, "ACCEPTED", 29.9, PROD), (2, "RUNNING", 10, PROD), False),
        ((1, "ACCEPTED", 90, PROD), (2, "RUNNING", 90, PROD), False),
        ((1, "ACCEPTED", 90, PROD), (2, "RUNNING", 89.9, PROD), True),
    ],
    ids=["as long as patience", "a moment less", "at the same time", "a moment later"],
)
def test_patience_and_times_to_the_moment(mine, other, is_named):
    assert Federation().tell("east", mine).tell("west", other).named() == [1] * is_named


def test_each_counts_those_that_came_after_itself_alone_wherever_they_started():
    federation = Federation().tell("east", (1, "ACCEPTED", 90, PROD), (2, "ACCEPTED", 50, PROD))
    federation.tell("west", (3, "RUNNING", 70, PROD), (4, "RUNNING", 40, PROD), (5, "RUNNING", 60, "root.dev"))
    federation.tell("north", (6, "FINISHED", 30, PROD))
    first, second = federation.waiting.overtaken()
    assert (first.application_id.sequence, first.others, set(first.elsewhere)) == (1, 3, {WEST, NORTH})
    assert (second.application_id.sequence, second.others, set(second.elsewhere)) == (2, 2, {WEST, NORTH})
    assert len(first.elsewhere) == 2
    assert federation.waiting.overtaken_one(ApplicationId(1, 2)) == second
    one = replace(first, others=1, elsewhere=(WEST,))
    assert one.told == "1 application of queue root.prod, submitted later, started at west meanwhile"


def test_of_a_time_that_nobody_told_and_of_what_waits_in_heddle_nothing_is_named():
    federation = Federation().tell("west", (2, "RUNNING", 60, PROD))
    told = a_document(1, EAST, "ACCEPTED", as_of_s=1.0).but(told=b'{"state":"ACCEPTED"}')
    for changes in ({"started_at_ms": 0}, {"started_at_ms": -1}):
        federation.view.apply(
            a_report(
                "east",
                polled_at_s=federation.clock.now_s(),
                applications=[told.but(summary=replace(told.summary, queue=PROD, **changes))],
                queues=(a_queue_report(PROD),),
            )
        )
        assert federation.named() == []


def test_an_application_of_a_home_that_is_known_no_more_is_asked_about_nowhere():
    federation = Federation()
    document = a_document(1, "south", "ACCEPTED").but(told=b'{"state":"ACCEPTED","diagnostics":"soon"}')
    assert "waits in Heddle" in federation.waiting.why(document)
