"""Applications that others of their queue have overtaken elsewhere are named; nobody else is."""

import json
from dataclasses import replace

import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.shares import FederatedQueue, SharePolicy
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.submission.waiting import HomeWaits
from tests.doubles.clock import FakeClock
from tests.doubles.reports import a_document, a_queue_report, a_report
from tests.doubles.settings import usual

EAST, WEST = SubClusterId("east"), SubClusterId("west")


class Federation:
    """Applications at two homes, each submitted so many seconds ago."""

    def __init__(self, *queues):
        self.clock = FakeClock()
        self.view = FederationView((EAST, WEST), usual(ViewSettings))
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
                replace(made, summary=replace(made.summary, queue=queue), raw=json.dumps({"state": state}).encode())
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
