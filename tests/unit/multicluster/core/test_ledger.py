"""The ledger's rules one by one; all of them together are in tests/property/test_relay_ledger.py."""

from dataclasses import replace

import pytest

from shim.domain.allocations import ANY, LOST_EXIT_STATUS, AllocateAnswer, AllocateCall, Ask, AskKey, Ended
from shim.domain.ids import ContainerId, NodeId
from shim.domain.resources import ResourceVector
from shim.multicluster.core import (
    AMCalled,
    AMRegistered,
    AskRunning,
    Beat,
    CallSession,
    CloseSession,
    Finished,
    NotRunning,
    RefuseAM,
    ReleaseOrder,
    SessionAnswered,
    SessionLost,
    SessionOpened,
    SessionRefused,
)
from tests.support.ledger_talk import ATTEMPT, CAPACITIES, EAST, KEY, WEST, LedgerTalk, a_grant


@pytest.fixture
def talk():
    begun = LedgerTalk()
    begun.wants(3)
    assert begun.opened == [WEST]
    begun.opens()
    assert begun.asked() == [3], "at once: it need not wait for a beat"
    return begun


def test_a_container_that_is_lost_before_it_was_given_is_wanted_again(talk):
    talk.beats()
    talk.hears(WEST, a_grant())
    talk.tell(SessionLost(WEST, "silent"))
    assert talk.wants().grants == ()
    talk.opens()
    assert talk.asked() == [3], "all three, not the two that were left"


@pytest.mark.parametrize(
    ("gone", "wanted", "speaks_again"),
    [
        (SessionLost(WEST, "silent"), 3, LedgerTalk.opens),
        (ReleaseOrder((a_grant(1).container,)), 1, LedgerTalk.beats),
    ],
)
def test_so_it_is_while_the_call_that_would_have_given_it_is_under_way(talk, gone, wanted, speaks_again):
    talk.beats()
    talk.hears(WEST, *map(a_grant, (1, 2, 3)))
    talk.tell(AMCalled(AllocateCall(talk.answered.response_id), CAPACITIES))
    talk.tell(gone)
    talk.hears(EAST)
    assert len(talk.answered.grants) == 3 - wanted
    talk.wants()
    speaks_again(talk)
    assert talk.asked() == [wanted]


def test_what_was_given_is_reported_as_lost_once(talk):
    talk.beats()
    talk.hears(WEST, a_grant())
    assert len(talk.wants().grants) == 1
    talk.tell(SessionLost(WEST, "silent"))
    told = talk.wants()
    assert [(ended.container, ended.exit_status) for ended in told.ended] == [(a_grant().container, LOST_EXIT_STATUS)]
    assert [(news.node, news.is_lost) for news in told.news] == [(NodeId("w1", 1), True)]
    assert talk.wants().ended == ()


def test_an_ask_from_before_is_found_out_by_its_grant_and_taken_back(talk):
    stranger = AskKey(7, -1, is_opportunistic=False, resource=ResourceVector(2048, 2))
    talk.beats()
    talk.hears(WEST, a_grant(9, stranger))
    assert talk.wants().grants == (), "nobody wants it"
    request = talk.beats()
    assert request.releases == (a_grant(9).container,)
    assert [(ask.key.priority, ask.place, ask.count) for ask in request.asks] == [(7, ANY, 0)]


def test_a_container_that_is_not_wanted_any_more_when_it_arrives_is_given_back_unheard(talk):
    talk.beats()
    talk.hears(WEST, a_grant(1), a_grant(2))
    told = talk.wants(1)
    assert [grant.container for grant in told.grants] == [a_grant(1).container], "the first that came"
    assert a_grant(2).container in talk.beats().releases
    talk.hears(WEST, ended=[Ended(a_grant(2).container, LOST_EXIT_STATUS)])
    assert talk.wants().ended == ()


def after_a_restart_in_the_west(talk):
    """One container is not listed, and its ResourceManager is to be asked about it."""
    talk.beats()
    talk.hears(WEST, a_grant())
    talk.wants()
    talk.opens()
    talk.beats()
    talk.hears(WEST)
    assert talk.asked_about == []
    talk.beats()
    talk.hears(WEST)
    assert talk.asked_about == [AskRunning(WEST, (a_grant().container,))]
    assert talk.wants().ended == (), "nobody knows yet"


def test_a_container_that_a_restarted_resource_manager_does_not_know_in_time_is_lost(talk):
    after_a_restart_in_the_west(talk)
    talk.tell(NotRunning(WEST, (a_grant().container,)))
    talk.beats()
    talk.hears(WEST)
    assert talk.wants().ended == (), "the news of its end may be under way"
    talk.beats()
    talk.hears(WEST)
    assert [ended.exit_status for ended in talk.wants().ended] == [LOST_EXIT_STATUS]
    assert a_grant().container in talk.beats().releases, "its node may yet come back with it"


def test_one_that_ended_as_it_was_asked_about_has_ended_as_it_did(talk):
    """A ResourceManager does not list it any more, and tells of it in its next answer."""
    after_a_restart_in_the_west(talk)
    talk.tell(NotRunning(WEST, (a_grant().container,)))
    talk.beats()
    talk.hears(WEST, ended=(Ended(a_grant().container, 0, ""),))
    for _ in range(3):
        talk.beats()
        talk.hears(WEST)
    assert [ended.exit_status for ended in talk.wants().ended] == [0]


def test_what_a_resource_manager_says_that_restarts_meanwhile_is_not_believed(talk):
    """It knows nothing before its nodes are back, and its scheduler forgets the session with the next call."""
    after_a_restart_in_the_west(talk)
    talk.tell(NotRunning(WEST, (a_grant().container,)))
    talk.opens()
    for _ in range(2):
        talk.beats()
        talk.hears(WEST)
    assert talk.wants().ended == ()


def test_the_end_of_what_a_new_attempt_was_not_told_of_is_not_told_to_it(talk):
    """It is released, and its scheduler tells of it, as it does of every container."""
    stranger = replace(a_grant(), container=ContainerId(ATTEMPT, (200 << 40) | 9)).container
    talk.tell(SessionOpened(WEST, (), (), frozenset(), orphans=frozenset({stranger})))
    talk.hears(WEST, ended=(Ended(stranger, -100, ""),))
    assert talk.wants().ended == ()


def test_one_whose_node_came_back_meanwhile_lives_on(talk):
    after_a_restart_in_the_west(talk)
    talk.tell(NotRunning(WEST, ()))
    for _ in range(20):
        talk.beats()
        talk.hears(WEST)
    assert talk.wants().ended == ()
    assert len(talk.asked_about) == 1


def test_an_answer_from_before_another_restart_takes_nothing(talk):
    after_a_restart_in_the_west(talk)
    talk.opens()
    talk.tell(NotRunning(WEST, (a_grant().container,)))
    assert talk.wants().ended == ()


@pytest.mark.parametrize("is_given_back", [False, True])
def test_the_home_that_has_restarted_is_asked_what_runs_there_too(talk, is_given_back):
    """What it granted and nobody started it knows no more, nor does it ever say so."""
    lost = replace(a_grant(), container=ContainerId(ATTEMPT, (100 << 40) | 1))
    talk.tell(AMCalled(AllocateCall(talk.answered.response_id, (Ask(KEY, ANY, 3),)), CAPACITIES))
    talk.hears(EAST, lost)
    assert talk.answered.grants == (lost,)
    talk.tell(AMRegistered())
    talk.answered, talk.response_ids[EAST] = None, 0
    talk.wants(releases=(lost.container,) if is_given_back else ())
    for _ in range(2):
        assert talk.wants().ended == ()
    assert talk.asked_about == [AskRunning(EAST, (lost.container,))]
    talk.tell(NotRunning(EAST, (lost.container,)))
    assert talk.wants().ended == ()
    assert [ended.container for ended in talk.wants().ended] == [lost.container]
    assert not talk.watch.has


def test_one_that_turns_up_in_time_is_not_lost(talk):
    talk.beats()
    talk.hears(WEST, a_grant())
    talk.wants()
    talk.opens(a_grant())
    for _ in range(40):
        talk.beats()
        talk.hears(WEST)
    assert talk.wants().ended == ()


def test_a_count_is_raised_only_by_what_nobody_else_may_grant(talk):
    """The home is asked for what the west has given up, once the west has heard that it is asked for less."""
    talk.wants(4)
    assert talk.asked() == [4]
    talk.tell(SessionRefused(WEST, talk.said[WEST].serial, "Invalid", "no such resource"))
    talk.wants()
    assert [ask.count for ask in talk.said[EAST].asks] == [1], "the west still believes in three"
    assert talk.asked() == [0]
    talk.hears(WEST)
    talk.wants()
    assert [ask.count for ask in talk.said[EAST].asks] == [4]


def test_what_a_home_refuses_is_forgotten(talk):
    huge = AskKey(5, -1, is_opportunistic=False, resource=ResourceVector(10**9, 1))
    talk.tell(AMCalled(AllocateCall(talk.answered.response_id, (Ask(huge, ANY, 1),)), CAPACITIES))
    talk.tell(SessionRefused(EAST, talk.said[EAST].serial, "InvalidResourceRequestException", "too large"))
    assert RefuseAM("InvalidResourceRequestException", "too large") in talk.effects
    talk.wants()
    assert all(ask.key != huge for ask in talk.said[EAST].asks)


def test_a_scheduler_that_expects_another_id_is_told_the_same_with_that_one(talk):
    before = talk.beats()
    talk.tell(SessionRefused(WEST, before.serial, "Invalid", "expect", expected_id=7))
    assert talk.said[WEST].response_id == 7
    assert talk.said[WEST].asks == before.asks


def test_changes_and_releases_go_to_whoever_gave_the_container_and_unknown_ones_home(talk):
    talk.beats()
    talk.hears(WEST, a_grant())
    talk.wants()
    unknown = ContainerId(ATTEMPT, 5)
    talk.wants(releases=(a_grant().container, unknown))
    assert talk.said[EAST].releases == (unknown,)
    assert talk.said[WEST].releases == (a_grant().container,), "at once: it need not wait for a beat"


def test_a_blacklist_is_everybodys(talk):
    talk.wants(blacklist_additions=("bad", "worse"))
    assert talk.said[EAST].blacklist_additions == ("bad", "worse")
    assert talk.beats().blacklist_additions == ("bad", "worse")
    talk.hears(WEST)
    talk.wants(blacklist_removals=("bad",))
    assert talk.beats().blacklist_removals == ("bad",)


def test_headroom_and_nodes_are_those_of_all_clusters(talk):
    answer = AllocateAnswer(talk.response_ids[WEST] + 1, headroom=ResourceVector(2048, 2), nodes=4)
    talk.tell(SessionAnswered(WEST, talk.beats().serial, answer))
    talk.response_ids[WEST] += 1
    talk.tell(AMCalled(AllocateCall(talk.answered.response_id), CAPACITIES))
    home = AllocateAnswer(talk.response_ids[EAST] + 1, headroom=ResourceVector(1024, 1), nodes=3)
    talk.tell(SessionAnswered(EAST, talk.said[EAST].serial, home))
    assert talk.answered is not None
    assert (talk.answered.headroom.memory_mib, talk.answered.nodes) == (3072, 7)


def test_the_end_closes_every_session_and_opens_none(talk):
    talk.tell(Finished())
    assert talk.effects == [CloseSession(WEST)]
    talk.tell(SessionOpened(WEST))
    assert talk.effects == [CloseSession(WEST)]
    talk.tell(Beat(WEST))
    assert talk.effects == []


def test_how_long_containers_run_is_learnt_from_those_that_nobody_cut_short(talk):
    by_itself, by_its_master, failed, returned, unused, preempted, lost = (a_grant(number) for number in range(1, 8))
    talk.wants(7)
    talk.beats()
    talk.hears(WEST, by_itself, by_its_master, failed, returned, preempted, lost)
    talk.wants()
    talk.beats()
    talk.hears(WEST, unused)
    talk.wants()
    assert talk.watch.has == {
        each.container for each in (by_itself, by_its_master, failed, returned, unused, preempted, lost)
    }
    talk.wants(releases=(returned.container, unused.container))
    talk.beats()
    statuses = {by_itself: 0, by_its_master: -105, failed: 1, returned: -100, unused: -100, preempted: -102}
    talk.hears(WEST, ended=[Ended(grant.container, status) for grant, status in statuses.items()])
    talk.tell(SessionLost(WEST, "silent"))
    told = {grant: talk.watch.ran[grant.container] for grant in (*statuses, lost)}
    assert {grant for grant, is_whole in told.items() if is_whole} == {by_itself, by_its_master, returned}
    assert talk.watch.has == set()


def test_what_nobody_wants_any_more_was_never_used(talk):
    talk.beats()
    talk.hears(WEST, a_grant())
    assert talk.watch.has == {a_grant().container}
    talk.wants(0)
    talk.beats()
    talk.hears(WEST, ended=[Ended(a_grant().container, 0)])
    assert talk.watch.ran == {a_grant().container: False}


def test_what_was_granted_before_a_new_count_is_taken_off_it_at_once():
    """A count is absolute: said over containers that no answer has given yet, it asks for these once more."""
    talk = LedgerTalk()
    talk.wants(3)
    talk.opens()
    talk.beats()
    talk.hears(WEST)
    talk.wants(4)
    assert talk.said[WEST].asks == (Ask(KEY, ANY, 4),)
    talk.hears(WEST, a_grant(1), a_grant(2), a_grant(3))
    assert talk.effects == [CallSession(WEST, talk.said[WEST])], "and not at the next beat: it may grant three more"
    assert talk.said[WEST].asks == (Ask(KEY, ANY, 1),)
    talk.hears(WEST)
    assert talk.effects == []
    talk.hears(WEST, a_grant(4))
    assert talk.effects == [], "what a scheduler counts off itself is not said"


def test_releases_of_a_request_that_was_refused_are_said_again(talk):
    talk.beats()
    talk.hears(WEST, a_grant(1), a_grant(2))
    talk.wants()
    talk.wants(releases=(a_grant(1).container,))
    assert talk.said[WEST].releases == (a_grant(1).container,)
    talk.tell(SessionRefused(WEST, talk.said[WEST].serial, "YarnException", "not now"))
    talk.wants(releases=(a_grant(2).container,))
    assert talk.said[WEST].releases == (a_grant(1).container, a_grant(2).container), "in their order"
