"""Whatever stands for an application elsewhere ends when the application does, whoever was there to see it."""

import pytest

from shim.domain.ids import ApplicationAttemptId, ApplicationId, SubClusterId
from shim.federation.core.federation_view import FederationView
from shim.federation.rm_questions import ask_application
from shim.multicluster.capacity import Epochs
from shim.multicluster.watch import SessionWatch
from shim.ports.multicluster_store import RegisteredAttempt, RemoteSession
from shim.protocol.yarn.unmanaged import expected_id
from shim.simulation.stores import InMemoryMultiClusterStore
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS
from tests.doubles.federation import ScriptedFederation
from tests.doubles.misbehaviours import FailsInternally

EAST, WEST = SubClusterId("east"), SubClusterId("west")
AN_ID = ApplicationId(FEDERATION_TIMESTAMP_MS, 1)
SESSION = RemoteSession(AN_ID, EAST, WEST, "ada", b"token")


class Ends:
    """Implements `UnmanagedAMs.end`: notes what it is asked to end."""

    def __init__(self, store: InMemoryMultiClusterStore) -> None:
        self.ended: list[RemoteSession] = []
        self._store = store

    async def end(self, session: RemoteSession, _why: str) -> bool:
        self.ended.append(session)
        await self._store.remove_session(session.application, session.subcluster)
        return True


class ScriptedMultiClusterService:
    """Implements what the watch needs of `MultiClusterService`."""

    def __init__(self) -> None:
        self.applications: tuple[ApplicationId, ...] = ()
        self.ended: list[ApplicationId] = []

    async def end(self, application: ApplicationId) -> None:
        self.ended.append(application)


@pytest.fixture
def federation() -> ScriptedFederation:
    return ScriptedFederation()


async def a_watch(
    federation: ScriptedFederation,
) -> tuple[SessionWatch, Ends, InMemoryMultiClusterStore, FederationView]:
    heddle = await federation.start()
    store = InMemoryMultiClusterStore()
    await store.save_session(SESSION)
    await store.save_attempt(RegisteredAttempt(ApplicationAttemptId(AN_ID, 1), b"r"))
    ends = Ends(store)
    watch = SessionWatch(
        ScriptedMultiClusterService(),  # type: ignore[arg-type]  # as far as it is needed
        ends,  # type: ignore[arg-type]
        store,
        heddle.view,
        federation.managers,
        Epochs(federation.managers),
        federation.clock,
    )
    return watch, ends, store, heddle.view


async def test_a_session_of_an_application_that_runs_is_left_alone(federation):
    federation["west"].add_application(AN_ID)
    watch, ends, _, _ = await a_watch(federation)
    await watch.sweep()
    assert ends.ended == []


@pytest.mark.parametrize("state", ["KILLED", "FAILED", "FINISHED"])
async def test_a_session_of_an_application_that_has_ended_is_ended(federation, state):
    federation["west"].add_application(AN_ID, state=state)
    watch, ends, store, _ = await a_watch(federation)
    await watch.sweep()
    assert ends.ended == [SESSION]
    assert list(await store.sessions()) == []
    assert await store.find_attempt(ApplicationAttemptId(AN_ID, 1)) is None


async def test_a_session_in_a_cluster_that_is_away_ends_when_it_is_back(federation):
    federation["west"].add_application(AN_ID, state="KILLED")
    watch, ends, store, view = await a_watch(federation)
    view.note_failure(EAST, "away", at_s=federation.clock.now_s() + 1)
    await watch.sweep()
    assert ends.ended == []
    assert list(await store.sessions()) == [SESSION]


async def test_a_session_in_a_cluster_that_was_retired_is_forgotten_when_its_application_ends(federation):
    federation["west"].add_application(AN_ID)
    watch, ends, store, view = await a_watch(federation)
    view.retire({EAST})
    await watch.sweep()
    assert list(await store.sessions()) == [SESSION]
    federation["west"].add_application(AN_ID, state="KILLED")
    view.applications.note(await document_of(federation, AN_ID))
    await watch.sweep()
    assert (ends.ended, list(await store.sessions())) == ([], [])


async def test_what_is_left_of_an_application_whose_home_was_retired_is_ended(federation):
    watch, ends, _, view = await a_watch(federation)
    view.retire({WEST})
    await watch.sweep(asks_homes=False)
    assert ends.ended == [SESSION]


async def document_of(federation, application_id):
    west, now_s = federation.managers[WEST], federation.clock.now_s()
    document = await ask_application(west, application_id, as_of_s=now_s, timeout_s=1)
    assert document is not None
    return document


async def test_an_application_that_its_home_does_not_know_has_ended(federation):
    watch, ends, _, _ = await a_watch(federation)
    await watch.sweep(asks_homes=False)
    assert ends.ended == []
    await watch.sweep()
    assert ends.ended == [SESSION]


def test_only_a_complaint_about_ids_tells_what_is_expected():
    said = "Invalid responseId in AllocateRequest from application attempt: x, expect responseId to be 7 but get 3"
    assert expected_id(said) == 7
    assert expected_id("expect responseId to be seven") is None


async def test_a_home_that_does_not_say_ends_nothing(federation):
    """It answers polls, and fails the question."""
    watch, ends, store, _ = await a_watch(federation)
    federation["west"].behave(FailsInternally())
    await watch.sweep()
    assert ends.ended == []
    assert list(await store.sessions()) == [SESSION]
