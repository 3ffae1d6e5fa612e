"""A started Heddle whose PostgreSQL is lost in the middle of its transactions: nothing is lost, nothing is doubled.

Clients submit and do what they are told: whoever hears 503 asks again. Meanwhile the server ends the connections of
Heddle, the network resets them, or it stands still: then nobody knows whether what was committed counts.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg
import httpx
import pytest

from tests.support.databases import emptied
from tests.support.heddle_process import until
from tests.support.proxy import Proxy
from tests.support.served_manager import ServedManager
from tests.support.started import Started, configuration

CLIENTS, EACH = 8, 5
TIMES = 4
"""How often the database is lost, at least."""
PATIENCE_S = 240
BASE = "/ws/v1/cluster"


@dataclass
class Federation:
    """A started Heddle, its database and the network to it, and two clusters.

    Attributes:
        heard: Status of each answer to a client.
        acknowledged: Ids that clients were told are taken.
        moved: Set by every answer.
    """

    heddle: Started
    url: str
    database: str
    network: Proxy
    clusters: tuple[ServedManager, ServedManager]
    heard: list[int] = field(default_factory=list)
    acknowledged: list[str] = field(default_factory=list)
    moved: asyncio.Event = field(default_factory=asyncio.Event)

    def homes(self, application: str) -> int:
        """How many clusters have it."""
        return sum(application in map(str, each.applications()) for each in self.clusters)

    async def until_heard(self, status: int) -> None:
        """Wait until a client hears it once more, or all have been acknowledged."""
        before = self.heard.count(status)
        while self.heard.count(status) == before and len(self.acknowledged) < CLIENTS * EACH:
            self.moved.clear()
            await self.moved.wait()


@pytest.fixture
async def federation(postgres_url: str, tmp_path: Path) -> AsyncIterator[Federation]:
    database = await emptied(postgres_url)
    async with AsyncExitStack() as held:
        network = await held.enter_async_context(Proxy(database.partition("@")[2].partition("/")[0]))
        clusters = held.enter_context(ServedManager("east")), held.enter_context(ServedManager("west"))
        text, doors = configuration(tmp_path)
        text = text[: text.index("[[subcluster]]")].replace(
            f"sqlite:///{tmp_path}/heddle.db", f"postgresql://postgres@{network.address}/heddle"
        )
        for each, name in zip(clusters, ("east", "west"), strict=True):
            text += f'[[subcluster]]\nid = "{name}"\nweb = "{each.url}"\n'
        heddle = Started(tmp_path, text)
        await asyncio.to_thread(heddle.__enter__)
        held.callback(heddle.__exit__)
        yield Federation(heddle, f"http://{doors['rest']}", database, network, clusters)


async def submit_all(federation: Federation, web: httpx.AsyncClient, number: int) -> None:
    """What one client does; it repeats what it is told to repeat."""

    async def asked(wanted: int, path: str, body: dict[str, object] | None = None) -> httpx.Response:
        while True:
            answer = await web.post(f"{federation.url}{BASE}/{path}?user.name=u{number}", json=body)
            federation.heard.append(answer.status_code)
            federation.moved.set()
            if answer.status_code == wanted:
                return answer
            assert answer.status_code == 503, answer.text
            assert int(answer.headers["Retry-After"]) >= 1
            assert "RemoteException" in answer.json()
            await asyncio.sleep(0.05)

    for _ in range(EACH):
        new = (await asked(200, "apps/new-application")).json()["application-id"]
        await asked(202, "apps", {"application-id": new, "application-name": "x", "queue": "default"})
        federation.acknowledged.append(new)


async def backends_end(federation: Federation) -> None:
    """The server ends every connection, whatever its transaction has done."""
    admin = await asyncpg.connect(federation.database)
    try:
        await admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND datname = 'heddle'"
        )
    finally:
        await admin.close()


async def connections_are_reset(federation: Federation) -> None:
    """The network ends every connection, and takes new ones at once."""
    await federation.network.cut()
    federation.network.mend()


async def server_stands_still(federation: Federation) -> None:
    """Nothing moves until somebody was refused; then all that was under way is lost."""
    federation.network.freeze()
    await federation.until_heard(503)
    await federation.network.cut()
    federation.network.thaw()
    federation.network.mend()


async def server_is_away_for_a_while(federation: Federation) -> None:
    """Connections end, and none is taken until somebody was refused."""
    await federation.network.cut()
    await federation.until_heard(503)
    federation.network.mend()


LOSSES = (backends_end, connections_are_reset, server_stands_still, server_is_away_for_a_while)


@pytest.mark.parametrize("lose", LOSSES, ids=[each.__name__ for each in LOSSES])
async def test_nothing_is_lost_or_doubled_when_the_database_is(
    federation: Federation, lose: Callable[[Federation], Awaitable[None]]
) -> None:
    losses = 0
    async with asyncio.timeout(PATIENCE_S), httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as web:
        clients = asyncio.gather(*(submit_all(federation, web, number) for number in range(CLIENTS)))
        try:
            while not clients.done() and (losses < TIMES or len(federation.acknowledged) < CLIENTS * EACH // 2):
                await federation.until_heard(202)
                await lose(federation)
                losses += 1
        finally:
            await clients
        assert losses >= TIMES

        def is_whole() -> bool:
            listed = httpx.get(f"{federation.url}{BASE}/apps", trust_env=False, timeout=60).json()["apps"]["app"]
            ids = [each["id"] for each in listed]
            return sorted(ids) == sorted(federation.acknowledged) and all(
                federation.homes(each) == 1 for each in federation.acknowledged
            )

        assert len(set(federation.acknowledged)) == CLIENTS * EACH
        await asyncio.to_thread(until, is_whole, "each is listed once, and at one cluster", within_s=120)
    assert set(federation.heard) <= {200, 202, 503}
    assert not federation.heddle.troubles()
    assert federation.heddle.ended(by=signal.SIGTERM) == 0
