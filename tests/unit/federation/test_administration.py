"""Operators' words."""

import asyncio

import pytest

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, SubClusterId
from shim.domain.subclusters import Admission
from shim.errors import NotFoundError, UnavailableError
from shim.ports.multicluster_store import RemoteSession
from shim.submission.entrance import Accepted
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS, a_record, a_submission
from tests.doubles.failing_stores import SwitchableStore
from tests.doubles.federation import ScriptedFederation

EAST, WEST = SubClusterId("east"), SubClusterId("west")


@pytest.fixture
def store() -> SwitchableStore:
    return SwitchableStore()


@pytest.fixture
def federation(store: SwitchableStore) -> ScriptedFederation:
    return ScriptedFederation(store=store)


async def test_a_cordoned_sub_cluster_gets_nothing_new_until_it_is_undrained(federation: ScriptedFederation) -> None:
    heddle = await federation.start()
    drainage = await heddle.administration.cordon(EAST, by="root")
    assert drainage.is_drained
    assert await heddle.submissions.submit(a_submission(1)) == Accepted(WEST, is_delivered=True)
    assert not (await heddle.administration.undrain(EAST, by="root")).is_drained
    assert await heddle.submissions.submit(a_submission(2)) == Accepted(EAST, is_delivered=True)


async def test_draining_tells_what_still_runs_and_what_is_on_its_way(federation: ScriptedFederation) -> None:
    heddle = await federation.start()
    running, ended, coming = (ApplicationId(FEDERATION_TIMESTAMP_MS, number) for number in (1, 2, 3))
    federation["east"].add_application(running)
    federation["east"].add_application(ended, "FINISHED")
    federation["west"].add_application(ApplicationId(FEDERATION_TIMESTAMP_MS, 9))
    await heddle.poll()
    record = a_record(3)
    heddle.listing.mark_submitted(record.submission, EAST)
    drainage = await heddle.administration.drain(EAST, by="root")
    assert drainage.admission is Admission.DRAINING
    assert drainage.still_running == (running, coming)
    assert not drainage.is_drained


async def test_draining_tells_what_applications_of_other_homes_have_there(federation: ScriptedFederation) -> None:
    heddle = await federation.start()
    spanning, idle = (ApplicationId(FEDERATION_TIMESTAMP_MS, number) for number in (7, 8))
    for application in (idle, spanning):
        federation["west"].add_application(application)
        await heddle.spans.save_session(RemoteSession(application, EAST, WEST, "ada"))
    await heddle.spans.save_session(RemoteSession(spanning, WEST, EAST, "ada"))  # of another cluster: not east's
    executors = [ContainerId(ApplicationAttemptId(spanning, 1), number) for number in (1, 2)]
    await heddle.spans.give(spanning, EAST, executors, "1")
    await heddle.poll()
    drainage = await heddle.administration.drain(EAST, by="root")
    assert drainage.still_running == (spanning, idle)
    assert drainage.spanning == {spanning: 2, idle: 0}
    assert not drainage.is_drained
    for application in (spanning, idle):
        await heddle.spans.remove_session(application, EAST)
    assert (await heddle.administration.drainage(EAST)).is_drained


async def test_listeners_hear_of_a_word_once_whoever_said_it(federation: ScriptedFederation) -> None:
    one, other = await federation.start(), await federation.start()
    heard: list[str] = []
    one.administration.listen(lambda: heard.append("one"))
    other.administration.listen(lambda: heard.append("other"))
    await one.administration.drain(EAST, by="root")
    await other.administration.refresh()
    await other.administration.refresh()
    assert heard == ["one", "other"]


async def test_a_word_survives_and_reaches_every_heddle(federation: ScriptedFederation) -> None:
    one = await federation.start()
    await one.administration.cordon(WEST, by="root")
    other = await federation.start()
    following = asyncio.create_task(other.administration.run())
    await federation.clock.advance(0.1)
    assert other.administration.current == {WEST: Admission.CORDONED}
    await one.administration.undrain(WEST, by="root")
    await federation.clock.advance(6.0)
    assert other.administration.current == {}
    following.cancel()


async def test_without_the_store_the_last_known_words_hold(
    federation: ScriptedFederation, store: SwitchableStore
) -> None:
    heddle = await federation.start()
    await heddle.administration.cordon(EAST, by="root")
    store.writes_fail = store.reads_fail = True
    following = asyncio.create_task(heddle.administration.run())
    await federation.clock.advance(20.0)
    assert heddle.administration.current == {EAST: Admission.CORDONED}
    with pytest.raises(UnavailableError, match="stays as it was"):
        await heddle.administration.undrain(EAST, by="root")
    assert heddle.administration.current == {EAST: Admission.CORDONED}
    assert not following.done()
    following.cancel()


async def test_a_sub_cluster_that_is_not_there_is_said(federation: ScriptedFederation) -> None:
    heddle = await federation.start()
    with pytest.raises(NotFoundError, match="there are: east, west"):
        await heddle.administration.cordon(SubClusterId("nowhere"), by="root")


async def test_who_said_it_when_and_why_is_known_in_every_heddle_until_it_is_undrained(
    store: SwitchableStore, federation: ScriptedFederation
) -> None:
    heddle, other = await federation.start(), await federation.start()
    await heddle.administration.set_admission(EAST, Admission.DRAINING, by="root", reason="kernel")
    said = heddle.administration.words[EAST]
    assert (said.admission, said.by, said.reason) == (Admission.DRAINING, "root", "kernel")
    await other.administration.refresh()
    assert (other.administration.words[EAST].by, other.administration.words[EAST].reason) == ("root", "kernel")
    await heddle.administration.set_admission(EAST, Admission.CORDONED, by="eve")
    assert (heddle.administration.words[EAST].by, heddle.administration.words[EAST].reason) == ("eve", "")
    await heddle.administration.undrain(EAST, by="root")
    await other.administration.refresh()
    assert (heddle.administration.words, other.administration.words) == ({}, {})
    assert await store.admission_words() == {}


async def test_a_word_is_kept_with_who_said_it_when_and_why(federation: ScriptedFederation) -> None:
    heddle = await federation.start()
    said_ms = int(federation.clock.now_s() * 1000)
    await heddle.administration.set_admission(EAST, Admission.DRAINING, by="ada", reason="new racks")
    word = heddle.administration.words[EAST]
    assert (word.admission, word.by, word.at_ms, word.reason) == (Admission.DRAINING, "ada", said_ms, "new racks")
    await heddle.administration.undrain(EAST, by="ada")
    assert EAST not in heddle.administration.words
