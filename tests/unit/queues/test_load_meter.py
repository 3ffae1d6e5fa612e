"""What queues hold, measured off a view."""

import json

import pytest

from shim.domain.application_columns import ApplicationColumns
from shim.domain.ids import SubClusterId
from shim.domain.queues import FederatedQueue, SharePolicy
from shim.domain.resources import ResourceVector
from shim.federation.core.application_index import ApplicationIndex
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.queues.load_meter import LoadMeter
from tests.doubles.builders import a_submission
from tests.doubles.clock import FakeClock
from tests.doubles.reports import a_document, a_report
from tests.doubles.settings import usual

EAST = SubClusterId("east")


class CountsLooks(ApplicationIndex):
    """A view that knows how often somebody went through its applications."""

    looks = 0

    @property
    def columns(self) -> ApplicationColumns:
        self.looks += 1
        return super().columns


@pytest.fixture
def view() -> FederationView:
    view = FederationView((EAST,), usual(ViewSettings))
    view.applications = CountsLooks((EAST,), most_finals=9)
    view.apply(a_report("east", polled_at_s=FakeClock().now_s(), applications=[a_document(1, "east")]))
    return view


def test_a_policy_without_queues_needs_no_look_at_applications(view):
    load = LoadMeter(view, {}, FakeClock(), absent_after_s=60.0).measure(SharePolicy())
    assert (load.capacity, dict(load.queues), view.applications.looks) == (ResourceVector(8192, 8), {}, 0)


def test_applications_are_counted_for_the_queues_of_a_policy(view):
    policy = SharePolicy((FederatedQueue("root.default", weight=1),))
    load = LoadMeter(view, {}, FakeClock(), absent_after_s=60.0).measure(policy)
    assert (load.queues["root.default"].running, view.applications.looks) == (1, 1)


def test_starts_of_a_queue_that_the_policy_has_no_more_are_forgotten(view):
    clock = FakeClock()
    meter = LoadMeter(view, {}, clock, absent_after_s=60.0)
    queue = FederatedQueue("root.old", weight=1)
    for sequence in range(10):
        meter.note_start(queue, a_submission(sequence))
        clock.wall_s += 1.0
    assert meter.rate("root.old") is not None
    meter.measure(SharePolicy((queue,)))
    assert meter.rate("root.old") is not None
    meter.measure(SharePolicy((FederatedQueue("root.new", weight=1),)))
    assert meter.rate("root.old") is None


@pytest.mark.parametrize(
    ("told", "is_beginning"),
    [
        ({"runningContainers": 1, "elapsedTime": 59_000}, True),
        ({"runningContainers": 1, "elapsedTime": 61_000}, False),  # a notebook that asks for nothing
        ({"runningContainers": 2, "elapsedTime": 1_000}, False),
        ({"runningContainers": 1, "startedTime": 1, "launchTime": 60_001, "elapsedTime": 100_000}, True),
        ({"runningContainers": "many", "elapsedTime": None}, True),
    ],
)
def test_what_has_nothing_but_its_master_for_long_does_not_begin_any_more(view, told, is_beginning):
    document = a_document(1, "east", as_of_s=200.0)
    raw = json.dumps(json.loads(document.raw) | told).encode()
    view.apply(
        a_report("east", 2, polled_at_s=FakeClock().now_s(), applications=[document.but(told=raw, amounts=None)])
    )
    policy = SharePolicy((FederatedQueue("root.default", order="work"),))
    load = LoadMeter(view, {}, FakeClock(), absent_after_s=60.0).measure(policy)
    assert len(load.queues["root.default"].beginning) == is_beginning


@pytest.mark.parametrize(("used", "left"), [(0, 1000.0), (600, 400.0), (999, 249.75), (8000, 2000.0)])
def test_of_what_an_application_has_used_a_quarter_is_left_at_least(view, used, left):
    document = a_document(1, "east", as_of_s=200.0)
    document = document.but(told=json.dumps(json.loads(document.raw) | {"memorySeconds": used}).encode())
    view.apply(a_report("east", 2, polled_at_s=FakeClock().now_s(), applications=[document]))
    meter = LoadMeter(view, {}, FakeClock(), absent_after_s=60.0, expected=lambda _: 1000.0)
    load = meter.measure(SharePolicy((FederatedQueue("root.default", order="work"),)))
    assert load.queues["root.default"].left == [pytest.approx(left)]


@pytest.mark.parametrize(
    ("later_s", "renewed", "stands"), [(0.4, False, True), (0.7, False, False), (0.7, True, True), (1.2, True, False)]
)
async def test_what_was_measured_stands_for_a_while_and_longer_while_it_is_renewed(view, later_s, renewed, stands):
    clock = FakeClock()
    meter = LoadMeter(view, {}, clock, absent_after_s=60.0)
    policy = SharePolicy((FederatedQueue("root.default", weight=1),))
    before = meter.current(policy)
    await clock.advance(later_s)
    meter.live.is_renewed = renewed
    assert (meter.current(policy) is before) is stands
