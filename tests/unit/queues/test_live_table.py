"""Groups of live applications, made of columns: the same as those of one application after the other."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shim.domain.ids import SubClusterId
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import ApplicationAmounts
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.queues.live_table import LiveTable
from tests.doubles.clock import FakeClock
from tests.doubles.live_applications import LiveApplication, live_groups
from tests.doubles.reports import a_document
from tests.doubles.settings import usual
from tests.support.examples import examples

HOMES = "east", "west"
STATES = "SUBMITTED", "ACCEPTED", "RUNNING", "FINISHED"


class World:
    """A view and a table of it; each application is expected to be as much work as its number says."""

    def __init__(self, **limits):
        self.clock = FakeClock()
        self.view = FederationView(tuple(map(SubClusterId, HOMES)), usual(ViewSettings))
        self.worth = 100.0
        self.asked = []
        self.table = LiveTable(self.view, self.clock, self.expected, **limits)

    def expected(self, summary):
        self.asked.append(summary.application_id.sequence)
        return self.worth * summary.application_id.sequence

    def told(self, document):
        self.view.applications.note(document)

    def groups(self):
        return {(group.home, group.queue): group for some in self.table.groups().values() for group in some}


def an_application(number, home="east", state="RUNNING", *, user="ada", queue="root.dev", as_of_s=100.0, **told):
    document = a_document(number, home, state, as_of_s=as_of_s)
    raw = json.dumps(json.loads(document.raw) | told).encode()
    return document.but(told=raw, summary=replace(document.summary, user=user, queue=queue))


@st.composite
def applications(draw):
    number, memory = draw(st.integers(1, 9)), draw(st.integers(0, 3))
    document = an_application(
        number,
        HOMES[number % 2],
        draw(st.sampled_from(STATES)),
        user=draw(st.sampled_from("ab")),
        queue=draw(st.sampled_from(("root.dev", "dev"))),
        as_of_s=draw(st.floats(1.0, 9.0)),
        allocatedMB=memory,
        allocatedVCores=memory * 2,
        memorySeconds=draw(st.sampled_from((0, 10, 999_999))),
        runningContainers=draw(st.integers(0, 2)),
        elapsedTime=draw(st.sampled_from((0, 60_001))),
    )
    told = json.loads(document.raw)
    is_beginning = told["runningContainers"] <= 1 and told["elapsedTime"] <= 60_000
    amounts = ApplicationAmounts(memory, memory * 2, told["memorySeconds"], is_beginning)
    return document.but(amounts=amounts) if draw(st.booleans()) else document


def alone(document):
    """The application of a document, by what the document says."""
    summary, told = document.summary, json.loads(document.raw)
    spent = told["memorySeconds"]
    return LiveApplication(
        summary.home_subcluster,
        summary.queue,
        summary.user,
        has_started=summary.state.value == "RUNNING" or told["allocatedMB"] > 0,
        used=ResourceVector(told["allocatedMB"], told["allocatedVCores"]),
        left_mib_s=max(1.0, 100.0 * summary.application_id.sequence - spent, 0.25 * spent),
        since_s=summary.started_at_ms / 1000.0,
        is_beginning=told["runningContainers"] <= 1 and told["elapsedTime"] <= 60_000,
    )


@given(st.lists(st.lists(applications(), max_size=9), max_size=4), st.integers(1, 9))
@settings(max_examples=examples(100), deadline=None)
def test_groups_are_those_of_one_application_after_the_other(told, at_once):
    world = World(at_once=at_once)
    for some in told:
        for document in some:
            world.told(document)
        known = sorted(world.view.applications.unfinished(), key=lambda each: each.summary.application_id)
        wanted = {(group.home, group.queue): group for group in live_groups(map(alone, known))}
        found = world.groups()
        assert found.keys() == wanted.keys()
        for key, group in found.items():
            other = wanted[key]
            assert (dict(group.users), dict(group.user_used)) == (other.users, other.user_used)
            assert (group.left, group.held_mib, group.has_started) == (other.left, other.held_mib, other.has_started)
            assert sorted(group.beginning) == sorted(other.beginning)
            assert sorted(group.unstarted_since_s) == sorted(other.unstarted_since_s)


def test_what_waits_in_heddle_is_in_no_group():
    world = World()
    world.view.applications.wait(an_application(1, state="ACCEPTED"))
    assert world.groups() == {}


def test_what_was_made_in_turns_is_given_once():
    world = World()
    world.told(an_application(1))
    list(world.table.renew_steps())
    world.told(an_application(2))
    assert [world.groups()["east", "root.dev"].running for _ in range(2)] == [1, 2]


def test_turns_are_short():
    world = World(at_once=10)
    for number in range(100):
        world.told(an_application(number, queue=f"root.q{number % 10}"))
    assert len(list(world.table.renew_steps())) >= 200, "each is read, and asked of, and has its group"


def test_an_expectation_is_asked_for_anew_by_turns_and_at_once_when_the_application_is_another():
    world = World(at_once=2)
    for number in range(1, 6):
        world.told(an_application(number))
    world.groups()
    assert sorted(set(world.asked)) == [1, 2, 3, 4, 5]
    world.worth, world.asked = 1.0, []
    for _ in range(3):
        world.groups()
    assert set(world.asked) == {1, 2, 3, 4, 5}
    assert len(world.asked) == 6
    world.asked = []
    world.told(an_application(2, state="RUNNING", user="bob", as_of_s=200.0))
    world.groups()
    assert 2 in world.asked


@pytest.mark.parametrize(("later_s", "running"), [(0.5, 1), (1.5, 2)])
def test_who_asks_for_one_cluster_gets_what_was_made_lately(later_s, running):
    world = World()
    world.told(an_application(1))
    world.groups()
    world.told(an_application(2))
    world.clock.wall_s += later_s
    assert sum(group.running for group in world.table.latest(SubClusterId("east"))) == running


@pytest.mark.parametrize(("later_s", "running"), [(1.5, 1), (2.5, 2)])
def test_who_asks_while_new_ones_are_made_waits_for_them_not_for_ever(later_s, running):
    world = World(at_once=1)
    world.told(an_application(1))
    world.groups()
    world.told(an_application(2))
    world.clock.wall_s += later_s
    making = world.table.renew_steps()
    next(making)
    assert sum(group.running for group in world.table.latest(SubClusterId("east"))) == running
    making.close()
    assert not world.table.is_renewed
