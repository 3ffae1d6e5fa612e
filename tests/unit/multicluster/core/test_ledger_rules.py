"""Events that come too early, too late or twice, and what they leave behind in a ledger."""

import pytest

from shim.domain.allocations import (
    ANY,
    LOST_EXIT_STATUS,
    AllocateAnswer,
    AllocateCall,
    Ask,
    AskKey,
    Ended,
    NodeToken,
    UpdateRequest,
)
from shim.domain.ids import ContainerId, NodeId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.multicluster.core import (
    AMCalled,
    AMRegistered,
    AnswerAM,
    AskLedger,
    Beat,
    CallSession,
    CapacityChanged,
    CapacitySplitter,
    CloseSession,
    DemandCap,
    Finished,
    OpenSession,
    RefuseAM,
    SessionAnswered,
    SessionForgotten,
    SessionLost,
    SessionOpened,
    SessionRefused,
)
from shim.multicluster.core.containers import ContainerState
from shim.multicluster.core.events import Fate, Proceed, Remember
from shim.multicluster.core.ledger import NOT_REGISTERED
from shim.multicluster.core.session import SessionState
from tests.support.ledger_talk import ATTEMPT, CAPACITIES, EAST, KEY, WEST, LedgerTalk, WatchingSplitter, a_grant

SOUTH = SubClusterId("south")


@pytest.fixture
def talk():
    """Three containers are asked for in the west."""
    begun = LedgerTalk()
    begun.wants(3)
    begun.opens()
    begun.hears(WEST)
    return begun


def call(talk, *asks, **more):
    """The ApplicationMaster calls, and nobody answers yet."""
    talk.tell(AMCalled(AllocateCall(talk.answered.response_id, asks, **more), CAPACITIES))
    return talk.effects


# ---------------------------------------------------------------------- registration


def test_a_ledger_refuses_calls_until_its_master_has_registered():
    ledger = AskLedger(ATTEMPT, EAST, CapacitySplitter())
    assert ledger.needs_registration
    (refusal,) = ledger.handle(AMCalled(AllocateCall(0), CAPACITIES))
    assert refusal == RefuseAM(NOT_REGISTERED, f"AM is not registered for known application attempt: {ATTEMPT}")
    ledger.handle(AMRegistered(home_response_id=4))
    assert (ledger.needs_registration, ledger.home_response_id) == (False, 4)
    assert ledger.sessions == {EAST: SessionState.OPEN}


def test_a_master_that_registers_again_says_everything_anew(talk):
    talk.wants(blacklist_additions=("bad",))
    assert talk.beats().blacklist_additions == ("bad",)
    talk.hears(WEST)
    talk.tell(AMRegistered())
    talk.answered, talk.response_ids[EAST] = None, 0
    assert talk.ledger.holdings.asks == {}
    assert talk.beats().blacklist_additions == ()
    talk.hears(WEST)
    talk.tell(CapacityChanged(CAPACITIES))
    assert talk.effects == [], "nothing is known of its asks"
    talk.wants(2)
    assert (talk.said[EAST].blacklist_additions, talk.said[WEST].blacklist_removals) == ((), ("bad",))
    assert talk.asked() == [2]


def test_a_call_that_the_home_may_answer_with_an_old_answer_asks_for_nothing():
    talk = LedgerTalk()
    talk.tell(AMRegistered(home_response_id=5, is_resumed=True))
    talk.response_ids[EAST] = 5
    talk.wants(3, blacklist_additions=("bad",))
    quiet = talk.said[EAST]
    assert (quiet.response_id, quiet.asks, quiet.blacklist_additions) == (5, (), ())
    talk.wants()
    assert talk.said[EAST].blacklist_additions == ("bad",)


# ---------------------------------------------------------------------- calls


def test_a_call_without_an_answer_is_said_again_to_its_home_in_the_same_words(talk):
    call(talk)
    request = talk.said[EAST]
    assert call(talk) == [CallSession(EAST, request)]


def test_a_call_whose_answer_was_lost_has_the_same_answer(talk):
    talk.wants(5)
    last = talk.answered
    talk.tell(AMCalled(AllocateCall(last.response_id - 1), CAPACITIES))
    assert talk.effects == [AnswerAM(last)]


def test_a_call_out_of_order_is_refused_in_the_words_of_a_resource_manager(talk):
    talk.tell(AMCalled(AllocateCall(77), CAPACITIES))
    (refusal,) = talk.effects
    assert refusal.java_class.endswith("InvalidApplicationMasterRequestException")
    expected = talk.answered.response_id
    assert refusal.message.endswith(f"{ATTEMPT}, expect responseId to be {expected} but get 77")


# ---------------------------------------------------------------------- answers that nobody waits for


@pytest.mark.parametrize("name", [EAST, WEST, SOUTH])
def test_late_answers_refusals_and_words_of_forgetting_change_nothing(talk, name):
    before = talk.ledger.sessions, talk.ledger.containers, talk.ledger.holdings
    for event in (
        SessionAnswered(name, 99, AllocateAnswer(50, (a_grant(),))),
        SessionRefused(name, 99, "X", "late"),
        SessionRefused(name, 99, "X", "late", expected_id=7),
        SessionForgotten(name, 99),
    ):
        talk.tell(event)
        assert talk.effects == []
    assert (talk.ledger.sessions, talk.ledger.containers, talk.ledger.holdings) == before


@pytest.mark.parametrize("name", [EAST, SOUTH])
def test_a_beat_is_for_open_sessions_beyond_the_home(talk, name):
    talk.tell(Beat(name))
    assert talk.effects == []
    talk.tell(SessionLost(WEST, "silent"))
    talk.tell(Beat(WEST))
    assert talk.effects == []


@pytest.mark.parametrize("name", [EAST, SOUTH])
def test_only_a_session_beyond_the_home_can_be_lost(talk, name):
    talk.tell(SessionLost(name, "silent"))
    assert talk.effects == []
    assert talk.ledger.sessions == {EAST: SessionState.OPEN, WEST: SessionState.OPEN}


def test_news_of_capacity_count_only_while_the_master_is_there_and_has_said_its_asks(talk):
    larger = (CAPACITIES[0],)
    talk.tell(CapacityChanged(larger))
    assert talk.asked() == [0], "the west is gone: it is asked for nothing"
    talk.tell(Finished())
    talk.tell(CapacityChanged(CAPACITIES))
    assert talk.effects == []


# ---------------------------------------------------------------------- sessions that begin again


def test_a_scheduler_that_forgot_the_attempt_is_opened_again_and_told_everything(talk):
    talk.beats()
    talk.hears(WEST, a_grant(1))
    talk.wants()
    update = UpdateRequest(a_grant(1).container, b"raw")
    talk.wants(updates=(update,))
    talk.tell(SessionForgotten(WEST, talk.said[WEST].serial))
    assert talk.effects == [OpenSession(WEST)]
    assert talk.ledger.sessions[WEST] is SessionState.OPENING
    talk.tell(SessionForgotten(WEST, talk.said[WEST].serial))
    assert talk.effects == [], "it is being opened"
    talk.tell(SessionOpened(WEST, (a_grant(1),)))
    request = talk.said[WEST]
    assert (request.response_id, request.updates) == (0, (update,))
    assert [ask.count for ask in request.asks] == [2]


def test_a_home_that_forgot_the_attempt_is_registered_with_again(talk):
    call(talk)
    serial = talk.said[EAST].serial
    talk.tell(SessionForgotten(EAST, serial))
    assert talk.effects == [RefuseAM(NOT_REGISTERED, f"AM is not registered for known application attempt: {ATTEMPT}")]
    assert talk.ledger.needs_registration
    talk.tell(SessionForgotten(EAST, serial))
    assert talk.effects == []
    assert call(talk)[0].java_class == NOT_REGISTERED


def test_a_session_that_is_opened_takes_what_the_master_has_and_releases_the_rest(talk):
    has, strange, done = a_grant(1), a_grant(2), a_grant(3)
    talk.tell(SessionLost(WEST, "silent"))
    token = NodeToken(NodeId("w1", 1), b"token")
    talk.tell(SessionOpened(WEST, (has, strange), (token,), frozenset([has.container, done.container])))
    assert talk.said[WEST].releases == (strange.container,)
    assert talk.ledger.containers == {
        has.container: ContainerState.GIVEN,
        done.container: ContainerState.GIVEN,
        strange.container: ContainerState.SURPLUS,
    }
    assert [each.id for each in talk.ledger.holdings.held] == [has.container], "of known size"
    talk.hears(WEST)
    told = talk.wants()
    assert (told.node_tokens, told.grants) == ((token,), ())
    talk.tell(Beat(WEST))
    talk.hears(WEST, ended=[Ended(strange.container, LOST_EXIT_STATUS)])
    assert talk.wants().ended == ()


def test_a_cluster_that_is_back_is_told_of_and_one_that_was_never_there_is_not(talk):
    assert talk.wants().news == ()
    talk.beats()
    talk.hears(WEST, a_grant())
    talk.wants()
    talk.tell(SessionLost(WEST, "silent"))
    assert [news.is_lost for news in talk.wants().news] == [True]
    talk.opens()
    assert [news.is_lost for news in talk.wants().news] == [False]
    assert talk.wants().news == ()


# ---------------------------------------------------------------------- refusals


def test_a_call_that_its_home_refuses_leaves_no_trace(talk):
    stranger, own = ContainerId(ATTEMPT, 5), a_grant().container
    talk.beats()
    talk.hears(WEST, a_grant())
    talk.wants()
    huge = AskKey(5, -1, is_opportunistic=False, resource=ResourceVector(10**9, 1))
    call(talk, Ask(huge, ANY, 1), Ask(KEY, ANY, 9), releases=(stranger, own), blacklist_additions=("bad",))
    talk.tell(SessionRefused(EAST, talk.said[EAST].serial, "Invalid", "too large"))
    assert RefuseAM("Invalid", "too large") in talk.effects
    assert talk.ledger.holdings.asks == {KEY: 2}
    talk.wants()
    assert (talk.said[EAST].releases, talk.said[EAST].blacklist_additions) == ((), ())


def test_a_refusal_after_an_answer_takes_nothing_of_the_earlier_call_back(talk):
    talk.wants(7, blacklist_additions=("bad",))
    call(talk)
    talk.tell(SessionRefused(EAST, talk.said[EAST].serial, "Invalid", "not now"))
    assert talk.ledger.holdings.asks == {KEY: 7}
    talk.answered = AllocateAnswer(talk.answered.response_id)
    call(talk)
    assert talk.said[EAST].blacklist_removals == ()


def test_the_home_hears_the_same_with_the_id_that_it_expects_and_a_new_serial(talk):
    call(talk)
    before = talk.said[EAST]
    talk.tell(SessionRefused(EAST, before.serial, "Invalid", "expect", expected_id=40))
    assert talk.effects == [CallSession(EAST, talk.said[EAST])]
    assert (talk.said[EAST].response_id, talk.ledger.home_response_id) == (40, 40)
    assert talk.said[EAST].serial > before.serial


# ---------------------------------------------------------------------- what is remembered for a later ledger


def test_what_is_given_and_what_has_ended_elsewhere_is_remembered_once(talk):
    first, second = a_grant(1), a_grant(2)
    talk.beats()
    talk.hears(WEST, first, second)
    talk.wants()
    given = [effect for effect in talk.effects if isinstance(effect, Remember)]
    assert given == [Remember(WEST, Fate.GIVEN, (first.container, second.container), talk.answered.response_id)]
    talk.beats()
    talk.hears(WEST, ended=[Ended(first.container, 0)])
    talk.wants()
    assert [effect for effect in talk.effects if isinstance(effect, Remember)] == []
    effects = call(talk)
    assert Remember(WEST, Fate.ENDED, (first.container,)) in effects
    assert first.container not in talk.ledger.containers


# ---------------------------------------------------------------------- plans that are waited for


class Planned(WatchingSplitter):
    """A splitter whose calls wait for a plan while it says so."""

    awaits_plan = True


def test_a_call_that_waits_for_its_plan_is_passed_on_once():
    talk = LedgerTalk(Planned())
    talk.tell(AMCalled(AllocateCall(0, (Ask(KEY, ANY, 3),)), CAPACITIES))
    assert talk.effects == []
    talk.tell(Beat(WEST))
    assert talk.effects == []
    talk.tell(Proceed())
    assert [type(effect) for effect in talk.effects] == [OpenSession, CallSession]
    talk.tell(Proceed())
    assert talk.effects == []


def test_a_call_that_waited_when_its_master_registered_again_is_not_passed_on():
    talk = LedgerTalk(Planned())
    talk.tell(AMCalled(AllocateCall(0, (Ask(KEY, ANY, 3),)), CAPACITIES))
    talk.tell(AMRegistered())
    talk.tell(Proceed())
    assert talk.effects == []
    Planned.awaits_plan = True
    talk.watch.awaits_plan = False
    talk.tell(AMCalled(AllocateCall(0, (Ask(KEY, ANY, 3),)), CAPACITIES))
    assert OpenSession(WEST) in talk.effects


# ---------------------------------------------------------------------- the end


def test_the_end_closes_sessions_that_are_open_or_being_opened_and_no_others():
    talk = LedgerTalk()
    talk.tell(Finished())
    assert talk.effects == []
    for is_open in (False, True):
        talk = LedgerTalk()
        talk.wants(3)
        if is_open:
            talk.opens()
        talk.tell(Finished())
        assert talk.effects == [CloseSession(WEST)]
        assert talk.ledger.sessions[WEST] is SessionState.CLOSED
        talk.tell(Finished())
        assert talk.effects == []


@pytest.mark.parametrize(
    "event", [DemandCap(None), CapacityChanged(CAPACITIES), Beat(WEST), Proceed(), SessionLost(WEST, "silent")]
)
def test_nothing_is_opened_or_asked_after_the_end(event):
    """The west was never needed, as the queue might have nothing: now it might."""
    talk = LedgerTalk()
    talk.tell(DemandCap(ResourceVector()))
    talk.wants(3)
    assert talk.opened == []
    talk.tell(Finished())
    talk.tell(event)
    assert talk.effects == []
    talk.tell(DemandCap(None))
    assert talk.effects == []
