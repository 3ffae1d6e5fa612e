"""What every `MultiClusterStore` promises: in memory, on SQLite and on PostgreSQL, whose rows show no secret."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, SubClusterId
from shim.errors import StoreUnavailableError
from shim.ports.multicluster_store import MultiClusterStore, RegisteredAttempt, RemoteSession
from shim.simulation.stores import InMemoryMultiClusterStore
from shim.store.sealing import Sealer
from shim.store.sql_state_store import SqlStateStore
from tests.support.databases import an_empty_store

APPLICATION = ApplicationId(1_700_000_000_000, 7)
EAST, WEST, NORTH = SubClusterId("east"), SubClusterId("west"), SubClusterId("north")
SESSION = RemoteSession(APPLICATION, WEST, EAST, "ada", b"a very secret token", b"tokens of nodes")
ATTEMPT = RegisteredAttempt(ApplicationAttemptId(APPLICATION, 1), b"a key is in here", 3, 2)
CONTAINERS = [ContainerId(ATTEMPT.attempt, (200 << 40) | number) for number in range(1, 900)]
SECRET = b"of the configuration"


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[MultiClusterStore]:
    if request.param == "memory":
        yield InMemoryMultiClusterStore()
        return
    async with an_empty_store(request) as opened:
        yield opened.stores(SECRET).spans


@pytest.fixture(params=["sqlite", "postgresql"])
async def opened(request: pytest.FixtureRequest) -> AsyncIterator[SqlStateStore]:
    async with an_empty_store(request) as store:
        yield store


async def test_a_session_is_kept_with_its_token_until_it_is_removed(store: MultiClusterStore) -> None:
    await store.save_session(replace(SESSION, token=b""))
    await store.save_session(SESSION)
    await store.save_session(replace(SESSION, application=ApplicationId(1, 1)))
    assert list(await store.sessions(APPLICATION)) == [SESSION]
    assert len(await store.sessions()) == 2
    await store.remove_session(APPLICATION, WEST)
    await store.remove_session(APPLICATION, WEST)
    assert list(await store.sessions(APPLICATION)) == []
    assert len(await store.sessions()) == 1


async def test_an_attempt_is_kept_as_it_was_said_last(store: MultiClusterStore) -> None:
    assert await store.find_attempt(ATTEMPT.attempt) is None
    await store.save_attempt(replace(ATTEMPT, home_response_id=0, registrations=0))
    await store.save_attempt(ATTEMPT)
    assert await store.find_attempt(ATTEMPT.attempt) == ATTEMPT
    await store.remove_attempts(APPLICATION)
    assert await store.find_attempt(ATTEMPT.attempt) is None


async def test_containers_are_there_from_given_to_taken_however_often_it_is_said(store: MultiClusterStore) -> None:
    for _ in range(2):
        await store.give(APPLICATION, WEST, CONTAINERS, "1.1.1")
        await store.give(APPLICATION, NORTH, [ContainerId(CONTAINERS[0].attempt, 5)], "1.1.1")
    await store.give(APPLICATION, WEST, [], "1.1.2")
    for _ in range(2):
        await store.take(APPLICATION, WEST, CONTAINERS[10:])
    assert (await store.containers(APPLICATION))[WEST] == frozenset(CONTAINERS[:10])
    await store.remove_session(APPLICATION, WEST)
    assert await store.containers(APPLICATION) == {NORTH: frozenset({ContainerId(CONTAINERS[0].attempt, 5)})}


async def test_an_answer_that_did_not_arrive_takes_back_what_it_gave_first_and_nothing_else(
    store: MultiClusterStore,
) -> None:
    first, second = ATTEMPT.answer_id(1), ATTEMPT.answer_id(2)
    assert first != replace(ATTEMPT, registrations=ATTEMPT.registrations + 1).answer_id(1)
    await store.give(APPLICATION, WEST, CONTAINERS[:2], first)
    await store.give(APPLICATION, WEST, CONTAINERS[1:3], second)
    other = ApplicationId(APPLICATION.cluster_timestamp, 99)
    await store.give(other, WEST, CONTAINERS[:1], second)
    for _ in range(2):
        await store.withdraw(APPLICATION, second)
    assert await store.containers(APPLICATION) == {WEST: frozenset(CONTAINERS[:2])}
    assert await store.containers(other) == {WEST: frozenset(CONTAINERS[:1])}


async def test_the_database_does_not_show_a_secret_and_another_key_does_not_open_it(opened: SqlStateStore) -> None:
    store = opened.stores(SECRET).spans
    await store.save_session(SESSION)
    await store.save_attempt(ATTEMPT)
    with pytest.raises(StoreUnavailableError, match="secret_file"):
        await opened.stores(b"another").spans.sessions()
    with pytest.raises(StoreUnavailableError, match="secret_file"):
        await opened.stores(b"another").spans.find_attempt(ATTEMPT.attempt)


def test_what_is_sealed_opens_at_its_place_alone_and_never_looks_the_same_twice() -> None:
    sealer = Sealer(SECRET)
    sealed = sealer.seal(b"token", "here")
    assert b"token" not in sealed
    assert sealed != sealer.seal(b"token", "here")
    assert Sealer(SECRET).open(sealed, "here") == b"token"
    assert sealer.open(sealer.seal(b"", "here"), "here") == b""
    for broken, place in ((sealed, "there"), (sealed[:-1], "here"), (sealed[:5], "here")):
        with pytest.raises(StoreUnavailableError):
            sealer.open(broken, place)


async def test_what_was_given_at_home_goes_with_the_attempts_and_what_was_given_elsewhere_with_the_session(
    store: MultiClusterStore,
) -> None:
    await store.save_attempt(ATTEMPT)
    await store.save_session(SESSION)
    await store.give(APPLICATION, SESSION.home, CONTAINERS[:2], "1.1")
    await store.give(APPLICATION, WEST, CONTAINERS[2:4], "1.1")
    await store.remove_attempts(APPLICATION)
    assert await store.containers(APPLICATION) == {WEST: frozenset(CONTAINERS[2:4])}
    await store.remove_session(APPLICATION, WEST)
    assert await store.containers(APPLICATION) == {}
