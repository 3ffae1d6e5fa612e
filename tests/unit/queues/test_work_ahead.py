"""What is left in a sub-cluster's queues, measured off a view and what is learnt."""

import json

import pytest

from shim.domain.ids import SubClusterId
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.queues.core.share_load import NO_EXPECTATION, ExpectedWork
from shim.queues.live_table import LiveTable
from shim.queues.work_ahead import WorkAhead
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS, a_submission
from tests.doubles.clock import FakeClock
from tests.doubles.reports import a_document, a_report
from tests.doubles.settings import usual

EAST = SubClusterId("east")


def live(number, state="RUNNING", used=0):
    document = a_document(number, "east", state, timestamp=FEDERATION_TIMESTAMP_MS)
    return document.but(told=json.dumps(json.loads(document.raw) | {"memorySeconds": used}).encode())


class World:
    """A view of one sub-cluster whose applications are all expected to be the same."""

    def __init__(self, *documents, expected=100.0):
        self.clock = FakeClock()
        self.view = FederationView((EAST,), usual(ViewSettings))
        self.looks = 0
        self.report(*documents)
        found = ExpectedWork(expected, 3, 5) if expected else NO_EXPECTATION

        def of_live(_):
            self.looks += 1
            return found.mib_s

        self.ahead = WorkAhead(self.view, self.clock, LiveTable(self.view, self.clock, of_live), lambda _: found)

    def report(self, *documents, sequence=1):
        self.view.apply(a_report("east", sequence, polled_at_s=self.clock.now_s(), applications=documents))

    def left(self):
        seen = self.view.look(EAST, self.clock.now_s())
        return self.ahead.work_in(seen, seen.queues["root.default"])


def test_what_is_left_is_what_is_expected_less_what_was_used_and_of_what_is_above_that_a_part():
    work = World(live(1, used=40), live(2, "ACCEPTED"), live(3, used=1000)).left()
    assert work.left == [60.0, 100.0, 250.0]
    assert work.started == [60.0, 250.0]


def test_what_was_sent_counts_at_once_and_once():
    world = World(live(1))
    assert world.left().left == [100.0]
    world.ahead.note_sent(EAST, a_submission(7))
    assert world.left().left == [100.0, 100.0]
    world.clock.wall_s += 1.5  # it is in no report yet
    assert world.left().left == [100.0, 100.0]
    world.report(live(1), live(7), sequence=2)
    world.clock.wall_s += 1.5
    assert world.left().left == [100.0, 100.0]


def test_what_was_sent_and_never_came_is_forgotten():
    world = World(live(1))
    world.ahead.note_sent(EAST, a_submission(7))
    world.clock.wall_s += 11.0
    assert world.left().left == [100.0]


def test_many_choices_in_a_second_look_once_at_applications():
    world = World(*(live(number) for number in range(1, 11)))
    for _ in range(50):
        world.left()
    assert world.looks == 10


def test_where_nothing_is_known_nothing_is_noted():
    world = World(live(1), expected=0.0)
    world.ahead.note_sent(EAST, a_submission(7))
    assert world.left().left == [1.0]
    assert world.ahead.expected(a_submission(7)).mib_s == 0.0


@pytest.mark.parametrize("told", [b"no json", b'{"memorySeconds": "many"}', b'{"memorySeconds": -5}'])
def test_a_document_that_tells_nothing_of_its_use_counts_as_unused(told):
    assert World(a_document(1, "east").but(told=told)).left().left == [100.0]
