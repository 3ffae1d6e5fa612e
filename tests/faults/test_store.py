"""The state store is locked, full or away: submissions are refused and may be repeated, reads go on."""

import sqlite3
from collections.abc import Iterator

import pytest

from tests.faults.conftest import Federation
from tests.faults.observing import everything_runs_once

pytestmark = pytest.mark.lab


@pytest.fixture
def lock(federation: Federation) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(federation.store, isolation_level=None)
    yield connection
    connection.close()


async def test_while_the_store_is_locked_reads_go_on_and_submissions_may_be_repeated(
    federation: Federation, lock: sqlite3.Connection
) -> None:
    before = await federation.heddle.new_id()
    await federation.heddle.submit(before)
    waiting = await federation.heddle.new_id()
    lock.execute("BEGIN IMMEDIATE")
    refused = await federation.heddle.submit(waiting)
    assert refused.status == 503
    assert int(refused.headers["retry-after"]) >= 1
    assert "RemoteException" in refused.body
    for path in ("apps", f"apps/{before}", "metrics", "nodes", "scheduler", "info"):
        assert (await federation.heddle.ask(path)).status == 200, path
    assert await federation.homes(waiting) == []
    lock.execute("ROLLBACK")
    assert (await federation.heddle.submit(waiting)).status == 202
    await everything_runs_once(federation)
