import json
from dataclasses import replace

import pytest

from shim.domain.ids import SubClusterId
from shim.domain.launches import HomeVerdict, PlacedKind, Verdict
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.peers.verification import HomeVerification
from shim.protocol.proto.messages import SubmitApplicationRequestProto
from shim.protocol.rest.submission_context import decode_submission
from shim.protocol.yarn import RPC_SUBMISSION
from shim.protocol.yarn import decode_submission as decode_rpc
from shim.submission.core.home import HomeSettings
from shim.submission.homes import Homes, out_of_reach, put_into
from tests.doubles.builders import a_submission
from tests.doubles.clock import FakeClock
from tests.doubles.reports import a_report
from tests.doubles.settings import usual

EAST, WEST = SubClusterId("east"), SubClusterId("west")


class SaysInTurn:
    """Local Masters that answer what they are told to, whoever is asked."""

    def __init__(self, *verdicts):
        self.verdicts = list(verdicts)
        self.me = "gm-1"
        self.asked = []
        self.repairs = 0

    async def verify(self, home, proposal):
        self.asked.append((home, proposal.at_least))
        said = self.verdicts.pop(0) if len(self.verdicts) > 1 else self.verdicts[0]
        return replace(said, subcluster=home)

    def repaired(self):
        self.repairs += 1


class Verify:
    """The Local Masters of both sub-clusters, each with a view of its own that knows of everybody's placements."""

    def __init__(self, clock):
        self.me = "gm-1"
        self.parts = {}
        self.repairs = 0
        for subcluster in (EAST, WEST):
            own = FederationView((subcluster,), usual(ViewSettings))
            own.apply(a_report(subcluster, polled_at_s=clock.now_s()))
            self.parts[subcluster] = HomeVerification(subcluster, own, clock)

    async def verify(self, home, proposal):
        return self.parts[home].verify(proposal)

    def repaired(self):
        self.repairs += 1


ACCEPTS = HomeVerdict(EAST, Verdict.ACCEPTED, "room", 0.9, 0.1)
REJECTS = HomeVerdict(EAST, Verdict.REJECTED, "filled", 0.1, 0.1, (PlacedKind("root.default", 1024, 1, 6),))
FORBIDS = HomeVerdict(EAST, Verdict.REJECTED, "queue STOPPED", None, 0.1)
SILENT = HomeVerdict(EAST, Verdict.UNVERIFIED, "says nothing")


@pytest.fixture
def clock():
    return FakeClock()


def homes_of(clock, local_masters, *, west="3.4.2", **settings):
    view = FederationView((EAST, WEST), usual(ViewSettings))
    for subcluster, version in ((EAST, "3.4.2"), (WEST, west)):
        view.apply(a_report(subcluster, polled_at_s=clock.now_s(), version=version))
    return Homes(view, clock, HomeSettings(**settings), {}, local_masters)


def only_west_by_rpc(clock):
    """East is known by its web services alone."""
    return homes_of(clock, None, out_of_reach=out_of_reach({WEST: object()}))


def wanted(number=1):
    return a_submission(number, queue="root.default")


async def test_an_accepted_proposal_is_the_home_and_says_so(clock):
    masters = SaysInTurn(ACCEPTS)
    decision = await homes_of(clock, masters).agree(wanted())
    assert (decision.home_subcluster, [v.verdict for v in decision.verdicts]) == (EAST, [Verdict.ACCEPTED])
    assert (masters.asked, decision.decided_by) == ([(EAST, 1.0)], "gm-1")


async def test_a_rejection_corrects_the_view_and_another_home_is_chosen(clock):
    masters = SaysInTurn(REJECTS, ACCEPTS)
    decision = await homes_of(clock, masters).agree(wanted())
    assert [v.subcluster for v in decision.verdicts] == [EAST, WEST]
    assert (decision.home_subcluster, masters.repairs) == (WEST, 1)
    (east, _) = decision.candidates
    assert "6 on the way" in east.reason


async def test_a_subcluster_that_may_not_have_it_is_not_proposed_again(clock):
    masters = SaysInTurn(FORBIDS)
    decision = await homes_of(clock, masters).agree(wanted())
    assert [home for home, _ in masters.asked] == [EAST, WEST]
    assert decision.home_subcluster is None
    assert {candidate.reason for candidate in decision.candidates} == {"queue STOPPED"}


async def test_where_all_are_filled_the_last_choice_is_taken_as_it_is(clock):
    masters = SaysInTurn(REJECTS, REJECTS, REJECTS, ACCEPTS)
    decision = await homes_of(clock, masters).agree(wanted())
    assert decision.home_subcluster is not None
    assert [at_least is None for _, at_least in masters.asked] == [False, False, False, True]


async def test_local_masters_that_say_nothing_do_not_stand_in_the_way(clock):
    masters = SaysInTurn(SILENT)
    decision = await homes_of(clock, masters).agree(wanted())
    assert (decision.home_subcluster, len(masters.asked)) == (EAST, 1)
    assert decision.verdicts[0].reason == "says nothing"


async def test_without_local_masters_elsewhere_the_choice_stands_alone(clock):
    assert (await homes_of(clock, None).agree(wanted())).verdicts == ()


async def test_two_that_do_not_know_of_each_other_fill_both_alike(clock):
    masters = Verify(clock)
    both = homes_of(clock, masters), homes_of(clock, masters)
    chosen = [
        (await homes.agree(wanted(2 * turn + i))).home_subcluster for turn in range(6) for i, homes in enumerate(both)
    ]
    assert chosen.count(EAST) == chosen.count(WEST) == 6
    assert masters.repairs > 0


def test_what_came_by_rpc_goes_where_rpc_goes(clock):
    homes = only_west_by_rpc(clock)
    by_rest, by_rpc = wanted(), replace(wanted(2), content_type=RPC_SUBMISSION)
    assert homes.choose(by_rest).home_subcluster == EAST
    decision = homes.choose(by_rpc)
    assert decision.home_subcluster == WEST
    assert decision.candidates[0].reason.startswith("has no client_rpc")


def test_what_came_by_rpc_and_fits_nowhere_is_refused_by_who_understands_it(clock):
    decision = only_west_by_rpc(clock).choose(replace(wanted(), queue="root.none", content_type=RPC_SUBMISSION))
    assert (decision.home_subcluster, decision.is_lasting) == (WEST, True)


JSON = (
    b'{"application-id":"application_1_0001","queue":"a","new":{"x":[1.50,1e3]},'
    b'"application-name":"\xc3\xa4","am-container-spec":{"commands":{"command":"sleep 1"}}}'
)
XML = (
    b'<?xml version="1.0"?><application-submission-context><application-id>application_1_0001</application-id>'
    b"<queue>a</queue><new><x>1</x></new><application-name>\xc3\xa4</application-name></application-submission-context>"
)


@pytest.mark.parametrize(("body", "kind"), [(JSON, "application/json"), (XML, "application/xml")], ids=["json", "xml"])
def test_the_queue_is_another_and_the_rest_is_the_same(body: bytes, kind: str):
    before = decode_submission(body, media_type=kind, user="alice")
    after = put_into(before, "root.prod")
    again = decode_submission(after.body, media_type=kind, user="alice")
    assert (after.queue, again.queue) == ("root.prod", "root.prod")
    assert (again.application_id, again.name) == (before.application_id, "ä")
    assert put_into(after, "root.prod") is after


def test_json_keeps_what_is_not_known_here_byte_for_byte():
    after = put_into(decode_submission(JSON, media_type="application/json", user="alice"), "root.prod")
    assert b'"new":{"x":[1.50,1e3]}' in after.body
    assert json.loads(after.body)["am-container-spec"] == {"commands": {"command": "sleep 1"}}


def test_a_context_without_a_queue_gets_one():
    body = b'{"application-id":"application_1_0001"}'
    after = put_into(decode_submission(body, media_type="application/json", user="alice"), "root.prod")
    assert json.loads(after.body) == {"application-id": "application_1_0001", "queue": "root.prod"}


def test_rpc_keeps_fields_that_are_not_known_here():
    request = SubmitApplicationRequestProto()
    request.application_submission_context.application_id.id = 7
    request.application_submission_context.application_id.cluster_timestamp = 1
    request.application_submission_context.queue = "a"
    unknown = b"\xfa\x3e\x03new"  # field 1007, three bytes
    payload = request.SerializeToString() + unknown
    before = decode_rpc(SubmitApplicationRequestProto.FromString(payload), payload, user="alice")
    after = put_into(before, "root.prod")
    assert unknown in after.body
    assert SubmitApplicationRequestProto.FromString(after.body).application_submission_context.queue == "root.prod"


def test_a_home_of_an_older_hadoop_is_told_the_queue_by_its_last_name(clock):
    homes = homes_of(clock, None, west="3.2.4")
    before = decode_submission(JSON, media_type="application/json", user="alice")
    asked = put_into(before, "root.default")
    assert homes.as_sent_to(EAST, asked) is asked
    assert homes.as_sent_to(WEST, asked).queue == "default"
