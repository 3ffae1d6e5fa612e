"""Rows that no Heddle wrote: whoever can write to the database hides nothing of the others, and ends nothing."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

import asyncpg
import pytest
import structlog
from sqlalchemy import create_engine, text

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import Admission
from shim.domain.submissions import NOWHERE, SubmissionState, Waited
from shim.errors import StoreError, StoreUnavailableError
from shim.ports import StateStore
from shim.ports.multicluster_store import RemoteSession
from shim.store import SqlStateStore, open_state_store
from tests.doubles.builders import a_record
from tests.support.databases import SECRET, an_empty_database

EAST, WEST = SubClusterId("east"), SubClusterId("west")
HUGE = "x" * (1 << 20)
ODD_JSON = ("[7]", "{}", "null", '"x"', "5", '{"memory_mib": "x", "vcores": null, "others": []}', '[{"a": 1}]')
JSON = ("resource", "tags", "decision", "waited", "acls")
ODD = {
    "state": ("", "SUBMITTED?", HUGE[:16], "intended"),
    "resource": ODD_JSON,
    "tags": (*ODD_JSON, json.dumps([HUGE])),
    "decision": (
        *ODD_JSON,
        '{"home": 5, "reason": 7, "candidates": 9}',
        '{"home": "", "reason": "", "candidates": [[]]}',
    ),
    "waited": (*ODD_JSON, '{"since_ms": "soon", "until_ms": 1, "reason": ""}', '{"since_ms": 1}'),
    "acls": (*ODD_JSON, '{"view": 5, "modify": []}', '{"other": "x"}'),
    "user_name": ("", HUGE),
    "queue": ("", "..", HUGE),
    "home_subcluster": ("", "nowhere"),
    "intended_at_ms": (-(2**63), 2**63 - 1),
    "home_started_on_ms": (-(2**63), 2**63 - 1),
    "sequence": (-(2**31), 2**31 - 1, 0),
    "intent_id": ("", "x" * 32),
    "body": (b"", b"\0hs1" + bytes(50)),
}
"""Values by column, such as the database takes."""


class Database:
    """An open store, and another way to its rows."""

    def __init__(self, store: SqlStateStore, url: str) -> None:
        self.store, self._url, self.is_sqlite = store, url, url.startswith("sqlite")

    async def say(self, statement: str, *values: object) -> None:
        """Run a statement behind the store's back; places of values are `$1`, `$2`, ..."""
        if self.is_sqlite:
            await asyncio.to_thread(self._say, statement, values)
            return
        connection = await asyncpg.connect(self._url)
        try:
            await connection.execute(statement, *values)
        finally:
            await connection.close()

    def _say(self, statement: str, values: tuple[object, ...]) -> None:
        engine = create_engine(self._url)
        for place in range(1, len(values) + 1):
            statement = statement.replace(f"${place}", f":v{place}")
        with engine.begin() as connection:
            connection.execute(text(statement), {f"v{place}": value for place, value in enumerate(values, 1)})
        engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
async def database(request):
    url = await an_empty_database(request.param, request)
    opened = await open_state_store(url)
    yield Database(opened, url)
    await opened.close()


LISTS: dict[str, Callable[[StateStore], Awaitable[object]]] = {
    "intended": lambda store: store.intended(),
    "unfinished": lambda store: store.unfinished(EAST),
    "waiting": lambda store: store.waiting(),
    "waited": lambda store: store.waited(),
    "described": lambda store: store.described([ApplicationId(1_700_000_000_000, number) for number in range(10)]),
}


async def three(store: StateStore) -> list[ApplicationId]:
    """Records in the three standings, twice each."""
    made = []
    for sequence in range(1, 7):
        record = a_record(sequence)
        waits = sequence % 3 == 0
        state, home = (SubmissionState.WAITING, NOWHERE) if waits else (SubmissionState.INTENDED, EAST)
        waited = Waited(5, 7, "full") if sequence % 3 == 1 else None
        await store.insert_intent(replace(record, state=state, home_subcluster=home, waited=waited))
        made.append(record.submission.application_id)
    return made


async def told(store):
    """Which applications each list tells."""
    found = {name: await ask(store) for name, ask in LISTS.items()}
    return {name: {id_of(each) for each in listed} for name, listed in found.items()}


def id_of(entry):
    return entry if isinstance(entry, ApplicationId) else getattr(entry, "submission", entry).application_id


@pytest.mark.parametrize("column", ODD)
async def test_one_row_hides_no_other_and_is_told_of(database, column):
    cast = "::json" if column in JSON and not database.is_sqlite else ""
    for value in ODD[column]:
        for number in (1, 3):  # one that is on its way, and one that waits
            await database.say("DELETE FROM submissions")
            ids = await three(database.store)
            whole = await told(database.store)
            assert all(whole.values())
            odd = ids[number - 1]
            change = f"UPDATE submissions SET {column} = $1{cast} WHERE sequence = $2"  # noqa: S608 - of the table above
            await database.say(change, value, odd.sequence)
            with structlog.testing.capture_logs() as logs:
                now = await told(database.store)
            assert all(before - {odd} <= now[name] for name, before in whole.items()), (column, value)
            assert all("cannot be read" in each["event"] for each in logs)
            with suppress(StoreError):  # nothing else is raised: nothing is concluded from it
                await database.store.find(odd)


async def test_a_word_on_a_cluster_that_nobody_knows_is_the_careful_one(database):
    await database.store.set_admission(EAST, Admission.RETIRED, by="ops")
    await database.say("UPDATE admissions SET admission = $1", "closed-ish")
    assert await database.store.admissions() == {EAST: Admission.CORDONED}
    assert (await database.store.admission_words())[EAST].admission is Admission.CORDONED


async def test_a_session_that_somebody_changed_hides_no_other(database):
    sessions = database.store.stores(SECRET).spans
    kept = [RemoteSession(ApplicationId(5, number), EAST, WEST, "ada", b"token", b"") for number in (1, 2, 3)]
    for each in kept:
        await sessions.save_session(each)
    await database.say("UPDATE span_sessions SET sealed_token = $1 WHERE sequence = $2", b"x" * 40, 2)
    assert await sessions.sessions() == [kept[0], kept[2]]
    await database.say("UPDATE span_sessions SET sealed_token = $1", b"x" * 40)
    with pytest.raises(StoreUnavailableError, match="does not open"):
        await sessions.sessions()
