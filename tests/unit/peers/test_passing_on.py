import asyncio

import pytest

from shim.domain.ids import GlobalMasterId, SubClusterId
from shim.domain.submissions import Refusal
from shim.errors import (
    BadRequestError,
    ConflictError,
    NoUsableSubClusterError,
    RemoteProtocolError,
    ResourceRequestError,
    UnavailableError,
)
from shim.peers.ownership import Owner
from shim.peers.passing_on import ForwardedSubmissionService, PassingOn
from shim.protocol.peers import OutcomeFrame, OutcomeKind, ResyncFrame
from shim.submission.entrance import Accepted, Rejected
from tests.doubles.builders import a_submission
from tests.doubles.master_links import MemoryDialer, linked

EAST = SubClusterId("east")
OTHER = Owner(GlobalMasterId("b"), "b:1", is_me=False)
ME = Owner(GlobalMasterId("a"), "a:1", is_me=True)
TAKEN = Accepted(EAST, is_delivered=True)


class Takes:
    """A `TakesSubmissions` that answers what it is told to."""

    def __init__(self, answer=TAKEN):
        self.answer = answer
        self.took = []
        self.is_finished = False

    async def submit(self, submission, *, accept="application/json"):
        self.took.append((submission, accept))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def finish(self):
        self.is_finished = True


class Lists:
    """A `Listing` that remembers."""

    def __init__(self):
        self.listed = {}

    def mark_submitted(self, submission, home):
        self.listed[submission.application_id] = home

    def mark_written(self, application_id):
        pass


class Two:
    """Two Global Masters; submissions come to the first."""

    def __init__(self, owner=OTHER, answer_within_s=10.0):
        self.owner = owner
        self.here, self.there, self.listing = Takes(), Takes(), Lists()
        self.told_here, self.told_there = [], []
        self.dialer = MemoryDialer("gm/a")
        self.service = ForwardedSubmissionService(self.there, me="gm/b", observer=self.told_there.append)
        self.dialer.listeners["b:1"] = self.service.serve
        self.passing = PassingOn(
            self.here,
            me="gm/a",
            listing=self.listing,
            owner_of=lambda _: self.owner,
            dialer=self.dialer,
            answer_within_s=answer_within_s,
            observer=self.told_here.append,
        )


@pytest.fixture
async def two():
    made = Two()
    yield made
    await made.passing.finish()


async def test_the_owner_takes_it_and_the_client_hears_its_answer(two):
    submission = a_submission(1)
    assert await two.passing.submit(submission, accept="application/xml") == TAKEN
    assert two.there.took == [(submission, "application/xml")]
    assert two.here.took == []
    assert two.listing.listed == {submission.application_id: EAST}
    (sent,), (taken,) = two.told_here, two.told_there
    assert (sent.sender, sent.owner, sent.user) == (taken.sender, taken.owner, taken.user) == ("gm/a", "gm/b", "alice")


@pytest.mark.parametrize("owner", [None, ME], ids=["nobody", "me"])
async def test_what_is_owned_here_or_by_nobody_stays_here(two, owner):
    two.owner = owner
    await two.passing.submit(a_submission(1))
    assert (len(two.here.took), two.there.took) == (1, [])


@pytest.mark.parametrize(
    "error",
    [
        ConflictError("known"),
        BadRequestError("to unknown queue"),
        ResourceRequestError("Invalid resource request"),
        NoUsableSubClusterError("east: full"),
        UnavailableError("the store is away"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_the_owners_errors_are_the_same_errors_here(two, error):
    two.there.answer = error
    with pytest.raises(type(error), match=str(error)):
        await two.passing.submit(a_submission(1))
    assert two.here.took == []


async def test_a_refusal_of_the_home_comes_through_as_it_is(two):
    by_rest = Refusal("", "", 403, (("Content-Type", "application/json"),), b'{"RemoteException":{}}')
    by_rpc = Refusal("org.apache.hadoop.security.AccessControlException", "ada may not")
    for number, refusal in enumerate((by_rest, by_rpc), start=1):
        two.there.answer = Rejected(EAST, refusal)
        assert await two.passing.submit(a_submission(number)) == Rejected(EAST, refusal)
    assert two.listing.listed == {}


async def test_an_owner_that_cannot_be_reached_is_done_without(two):
    two.dialer.is_cut.add("b:1")
    assert await two.passing.submit(a_submission(1)) == TAKEN
    assert len(two.here.took) == 1
    assert [passed.outcome for passed in two.told_here] == [None]


async def test_an_owner_that_says_nothing_is_not_waited_for():
    two = Two(answer_within_s=0.05)

    async def says_nothing(link):
        while True:
            await link.receive()

    two.dialer.listeners["b:1"] = says_nothing
    assert await two.passing.submit(a_submission(1)) == TAKEN
    assert len(two.here.took) == 1
    await two.passing.finish()


async def test_an_owner_that_dies_over_it_is_done_without_and_dialled_anew_for_the_next(two):
    async def dies(link):
        await link.receive()
        await link.close()

    two.dialer.listeners["b:1"] = dies
    assert await two.passing.submit(a_submission(1)) == TAKEN
    two.dialer.listeners["b:1"] = two.service.serve
    assert await two.passing.submit(a_submission(2)) == TAKEN
    assert (len(two.here.took), len(two.there.took)) == (1, 1)


async def test_many_at_once_share_one_link_and_each_hears_its_own_answer(two):
    class Echoes(Takes):
        async def submit(self, submission, *, accept="application/json"):
            await super().submit(submission, accept=accept)
            await asyncio.sleep(0.001 * (submission.application_id.sequence % 7))
            return Accepted(SubClusterId(f"c{submission.application_id.sequence}"), is_delivered=True)

    two.dialer.listeners["b:1"] = ForwardedSubmissionService(Echoes(), me="gm/b").serve
    answers = await asyncio.gather(*(two.passing.submit(a_submission(number)) for number in range(1, 200)))
    assert [answer.home_subcluster for answer in answers] == [f"c{number}" for number in range(1, 200)]
    assert len(two.dialer.links) == 1


async def test_finishing_ends_the_links_and_what_was_begun_here(two):
    await two.passing.submit(a_submission(1))
    await two.passing.finish()
    assert [link.closed_for for link in two.dialer.links] == [""]
    assert two.here.is_finished


async def test_answers_that_nobody_asked_for_change_nothing(two):
    async def talks(link):
        asked = await link.receive()
        await link.send(OutcomeFrame(asked.number + 7, OutcomeKind.CONFLICT))
        await link.send(ResyncFrame())
        await link.send(OutcomeFrame(asked.number, OutcomeKind.DELIVERED, "west"))
        await link.receive()

    two.dialer.listeners["b:1"] = talks
    assert await two.passing.submit(a_submission(1)) == Accepted(SubClusterId("west"), is_delivered=True)


async def test_a_bug_at_the_owner_is_answered_too(two):
    two.there.answer = ZeroDivisionError("a bug")
    with pytest.raises(UnavailableError, match="the owner's log"):
        await two.passing.submit(a_submission(1))


async def test_a_service_ends_a_link_that_says_something_else():
    ours, theirs = linked("gm/a", "gm/b")
    await ours.send(ResyncFrame())
    with pytest.raises(RemoteProtocolError, match="ResyncFrame"):
        await ForwardedSubmissionService(Takes(), me="gm/b").serve(theirs)
