"""A submission with a reservation goes where that was issued, and has its deadline."""

import json

import pytest

from shim.domain.ids import SubClusterId
from shim.domain.resources import ResourceVector
from shim.domain.submissions import Submission
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.protocol.proto.messages import SubmitApplicationRequestProto
from shim.protocol.rest import submission_context
from shim.protocol.yarn import submissions as rpc_context
from shim.protocol.yarn.submissions import RPC_SUBMISSION
from shim.submission.core.home import HomeSettings, choose_home
from shim.submission.homes import Homes
from shim.submission.reservations import Reservations, reservation_of
from tests.doubles.builders import a_submission
from tests.doubles.clock import FakeClock
from tests.doubles.misbehaviours import AnswersGarbage, FailsInternally, IsNeverReached, LosesTheAnswer
from tests.doubles.reports import a_report
from tests.doubles.resource_manager import ScriptedResourceManager
from tests.doubles.settings import usual

EAST, WEST = SubClusterId("east"), SubClusterId("west")
ISSUED = {"reservation_5_0001": WEST, "reservation_6_0001": EAST}
DEADLINE_MS = 1_795_690_000_123
TAG = "heddle-deadline=2026-11-26t10:46:40z"
NOW_S = 101.0


def by_rpc(reservation: tuple[int, int] | None, *tags: str) -> Submission:
    request = SubmitApplicationRequestProto()
    context = request.application_submission_context
    context.application_id.id, context.application_id.cluster_timestamp = 1, 1
    context.queue = "default"
    context.applicationTags.extend(tags)
    if reservation is not None:
        context.reservation_id.cluster_timestamp, context.reservation_id.id = reservation
    payload = request.SerializePartialToString()
    return rpc_context.decode_submission(request, payload, user="alice")


def by_rest(reservation: tuple[int, int] | None, *tags: str) -> Submission:
    context = {"application-id": "application_1_0001", "queue": "default", "application-tags": {"tag": list(tags)}}
    if reservation is not None:
        context["reservation-id"] = f"reservation_{reservation[0]}_{reservation[1]}"
    return submission_context.decode_submission(
        json.dumps(context).encode(), media_type="application/json", user="alice"
    )


def read_again(submission: Submission) -> Submission:
    """What a ResourceManager is sent."""
    if submission.content_type == RPC_SUBMISSION:
        request = SubmitApplicationRequestProto.FromString(submission.body)
        return rpc_context.decode_submission(request, submission.body, user="alice")
    return submission_context.decode_submission(submission.body, media_type=submission.content_type, user="alice")


BOTH = pytest.mark.parametrize("made", [by_rest, by_rpc])


class Site:
    """Two ResourceManagers, and what is known of their reservations."""

    def __init__(self) -> None:
        clock = FakeClock()
        self.managers = {name: ScriptedResourceManager(name, clock=clock) for name in (EAST, WEST)}
        self.west = self.managers[WEST]
        self.west.reservations = {"reservation_5_0001": "default", "reservation_5_0002": "default"}
        self.west.reservation_deadlines = {"reservation_5_0001": DEADLINE_MS}
        self.known = Reservations(ISSUED.get, self.managers)


@pytest.fixture
def site() -> Site:
    return Site()


def a_view(*names: str, at_s: float = NOW_S) -> FederationView:
    """East is empty; west is nearly full."""
    view = FederationView((EAST, WEST), usual(ViewSettings, late_after_s=6.0))
    for name in names:
        used = ResourceVector(92_160, 90) if name == WEST else ResourceVector()
        view.apply(a_report(name, capacity=ResourceVector(102_400, 100), used=used, polled_at_s=at_s))
    return view


@BOTH
def test_a_reservation_is_read_from_either_form_and_from_a_stored_body(made):
    for reservation, told in (((5, 1), "reservation_5_0001"), ((5, 12345), "reservation_5_12345"), (None, "")):
        submission = made(reservation)
        assert reservation_of(submission) == told
        stored = a_submission(body=submission.body, content_type=submission.content_type)
        assert stored.reservation is None
        assert reservation_of(stored) == told
    assert reservation_of(a_submission(body=b"")) == ""


@BOTH
def test_the_issuer_is_the_home_however_full_it_is(made, site):
    settings = HomeSettings(reserved_at=site.known.issuer_of)
    view = a_view("east", "west")
    decision = choose_home(made((5, 1)), view, {}, NOW_S, settings)
    assert decision.home_subcluster == WEST
    assert [each.reason for each in decision.candidates if each.score is None] == ["its reservation is at west"]
    assert choose_home(made(None), view, {}, NOW_S, settings).home_subcluster == EAST
    assert choose_home(made((7, 1)), view, {}, NOW_S, settings).home_subcluster == EAST  # nobody's: it is refused there


def test_while_the_issuer_is_away_it_has_no_home_but_may_get_one(site):
    decision = choose_home(by_rest((5, 1)), a_view("east"), {}, NOW_S, HomeSettings(reserved_at=site.known.issuer_of))
    assert decision.home_subcluster is None
    assert not decision.is_lasting


def test_what_fits_nowhere_is_refused_by_the_issuer_in_its_own_words(site):
    submission = submission_context.decode_submission(
        b'{"application-id":"application_1_0001","queue":"nosuch","reservation-id":"reservation_5_1"}',
        media_type="application/json",
        user="alice",
    )
    clock = FakeClock()
    view = a_view("east", "west", at_s=clock.now_s())
    homes = Homes(view, clock, HomeSettings(reserved_at=site.known.issuer_of), {})
    decision = homes.choose(submission)
    assert decision.is_lasting
    assert decision.home_subcluster == WEST


@BOTH
async def test_its_deadline_is_that_of_the_reservation(made, site):
    told = await site.known.with_deadline(made((5, 1), "nightly"))
    assert told.tags == (TAG, "nightly")
    assert read_again(told).tags == told.tags
    assert reservation_of(read_again(told)) == "reservation_5_0001"


@BOTH
@pytest.mark.parametrize(
    ("reservation", "tags"),
    [
        (None, ()),
        ((7, 1), ()),
        ((5, 2), ()),
        ((5, 1), ("heddle-deadline=+5m",)),
        ((5, 1), tuple(f"tag-{number}" for number in range(10))),
    ],
    ids=["no reservation", "nobody's", "without a definition", "a deadline of its own", "as many tags as may be"],
)
async def test_else_it_stays_as_it_came(made, reservation, tags, site):
    submission = made(reservation, *tags)
    assert await site.known.with_deadline(submission) is submission


@pytest.mark.parametrize("behaviour", [AnswersGarbage, FailsInternally, IsNeverReached, LosesTheAnswer])
async def test_an_issuer_that_does_not_tell_is_not_waited_for(site, behaviour):
    site.west.behave(behaviour())
    submission = by_rest((5, 1))
    assert await site.known.with_deadline(submission) is submission


@pytest.mark.parametrize("deadline", [-1, 10**13, 10**400])
async def test_what_is_no_instant_is_no_deadline(site, deadline):
    site.west.reservation_deadlines = {"reservation_5_0001": deadline}
    submission = by_rest((5, 1))
    assert await site.known.with_deadline(submission) is submission


async def test_a_queue_by_its_path_is_asked_for_by_its_last_part_too(site):
    submission = submission_context.decode_submission(
        b'{"application-id":"application_1_0001","queue":"root.default","reservation-id":"reservation_5_1"}',
        media_type="application/json",
        user="alice",
    )
    assert TAG in (await site.known.with_deadline(submission)).tags


async def test_it_is_asked_for_by_the_name_that_the_issuer_has_for_the_queue(site):
    site.west.reservations["reservation_5_0001"] = "plan"
    known = Reservations(ISSUED.get, site.managers, name_at=lambda at, queue: "root.plan" if at == WEST else queue)
    assert TAG in (await known.with_deadline(by_rest((5, 1)))).tags
    assert TAG not in (await site.known.with_deadline(by_rest((5, 1)))).tags


async def test_it_is_asked_for_in_the_queue_that_the_submission_is_mapped_to(site):
    site.west.reservations["reservation_5_0001"] = "plan"
    assert TAG in (await site.known.with_deadline(by_rest((5, 1)), lambda _: "plan")).tags
