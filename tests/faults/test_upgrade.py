"""A running pair of Global Masters, with their Local Masters, goes from an older Heddle to this one, and back.

The older one is the commit before the newest migration of the store: its code is taken from the clone's history, so
that two versions with different tables really share a store, links and leases.
"""

import asyncio
import io
import subprocess
import sys
import tarfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import asyncpg
import pytest

from shim.lab import Lab
from shim.store.schema import HEAD
from tests.support.masters import MasterProcess, MasterProcesses, fresh_database, masters_over, names_that_share, until
from tests.support.nursery import Nursery

pytestmark = pytest.mark.lab

QUEUES = ("root.default", "root.prod")
ROOT = Path(__file__).resolve().parents[2]
MIGRATIONS = "shim/store/migrations/versions"
_ALL_START = "".join(f'[[queue]]\nname = "{queue}"\norder = "fifo"\n' for queue in QUEUES)
"""In words that the older one knows, too."""


def git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """Starts masters of the commit before the newest migration."""
    newest = max((ROOT / MIGRATIONS).glob("r[0-9]*.py")).relative_to(ROOT)
    try:
        added = git("log", "--diff-filter=A", "--format=%H", "-1", "--", str(newest)).decode().strip()
        packed = git("archive", f"{added}^", "heddle", "shim", "adapters", "fairness", "altruism", "tests")
    except (OSError, subprocess.CalledProcessError) as exc:
        pytest.skip(f"no history tells what was before {newest.name}: git fetch --unshallow ({exc})")
    tree = tmp_path_factory.mktemp("older")
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(tree, filter="data")
    assert not (tree / newest).exists()
    with Nursery(tree) as started:
        yield started


class Load:
    """Clients that submit all the time, at whichever Global Master answers, and repeat what was not acknowledged."""

    def __init__(self, masters: MasterProcesses, names: tuple[str, ...]) -> None:
        self._masters = masters
        self._names = names
        self.failures: list[str] = []

    async def run(self, first: int) -> None:
        turn = first
        while True:
            application_id = ""
            while True:
                turn += 1
                gm = self._masters.running[self._names[turn % 2]]
                try:
                    application_id = application_id or await self._masters.new_id(gm)
                    if await self._masters.submit(gm, QUEUES[turn // 2 % 2], application_id=application_id) == 202:
                        break
                except (aiohttp.ClientError, TimeoutError, KeyError) as exc:
                    self.failures.append(f"{gm.name}: {exc!r}")
                await asyncio.sleep(0.1)
            await asyncio.sleep(0.05)


@asynccontextmanager
async def under(load: Load) -> AsyncIterator[None]:
    clients = [asyncio.create_task(load.run(first)) for first in range(4)]
    try:
        yield
    finally:
        for client in clients:
            client.cancel()
        outcomes = await asyncio.gather(*clients, return_exceptions=True)
    assert all(isinstance(each, asyncio.CancelledError) for each in outcomes), outcomes


async def takes_part(masters: MasterProcesses, master: MasterProcess) -> None:
    """Wait until a Global Master hears of every cluster through its Local Master, and owns a queue."""

    async def does() -> bool:
        clusters = (await masters.get(master, "/heddle/v1/clusters"))["clusters"]
        told = await masters.get(master, "/heddle/v1/masters")
        owns = [queue["queue"] for queue in told["queues"] if queue["owner"] == master.name]
        return bool(owns) and all(cluster["state"] == "RUNNING" for cluster in clusters)

    await until(does)


async def revision(store: str) -> str:
    """Of the store's tables."""
    connection = await asyncpg.connect(store.replace("+asyncpg", ""))
    try:
        return str(await connection.fetchval("SELECT version_num FROM alembic_version"))
    finally:
        await connection.close()


async def acknowledged_more(masters: MasterProcesses, count: int) -> None:
    """Wait until so many more were acknowledged: the load goes through what runs now."""
    wanted = len(masters.acknowledged) + count

    async def were() -> bool:
        return len(masters.acknowledged) >= wanted

    await until(were)


async def begin(masters: MasterProcesses, names: tuple[str, ...]) -> None:
    """A Local Master for each cluster, and the pair."""
    await asyncio.gather(*(masters.start_lm(subcluster) for subcluster in masters.managers))
    for name in names:
        await masters.start_gm(name)
    for name in names:
        await takes_part(masters, masters.running[name])


async def replace_each(masters: MasterProcesses, names: tuple[str, ...]) -> None:
    """End one after the other, and start it anew; clients are served all the time."""
    for name in names:
        await masters.end(masters.running[name])
        await takes_part(masters, await masters.start_gm(name))
        await acknowledged_more(masters, 20)
    for subcluster in masters.managers:
        await masters.end(masters.running[f"lm-{subcluster}-1"])
        await masters.start_lm(subcluster)
        await acknowledged_more(masters, 20)


async def knows_all(masters: MasterProcesses, master: MasterProcess) -> None:
    for application_id in masters.acknowledged:
        assert (await masters.get(master, f"/heddle/v1/apps/{application_id}"))["app"]["id"] == application_id


async def test_one_after_the_other_under_load_and_back(
    nursery: Nursery, older: Nursery, fault_lab: Lab, postgres_url: str, tmp_path: Path
) -> None:
    names = names_that_share(QUEUES)
    store = await fresh_database(postgres_url, "upgrade")
    async with masters_over(older, tmp_path, store, fault_lab, scheduling=_ALL_START) as masters:
        await begin(masters, names)
        before = await revision(store)
        async with under(Load(masters, names)):
            await acknowledged_more(masters, 20)
            masters.nursery = nursery
            await replace_each(masters, names)
        assert before < await revision(store) == HEAD
        where = await masters.everything_runs_once()
        assert set(where.values()) == set(masters.managers)
        assert len(set(masters.acknowledged)) == len(masters.acknowledged)
        await knows_all(masters, masters.running[names[0]])

        await masters.end_all()
        go_back = ["store", "downgrade", before, "-c", str(masters.configuration)]
        downgrade = await asyncio.create_subprocess_exec(sys.executable, "-m", "shim", *go_back, cwd=ROOT)
        assert await downgrade.wait() == 0
        assert await revision(store) == before
        masters.nursery = older
        await begin(masters, names)
        await knows_all(masters, masters.running[names[1]])
        assert await masters.submit(masters.running[names[0]], QUEUES[0]) == 202
        assert (await masters.everything_runs_once()).items() >= where.items()
        await masters.kill_applications(masters.running[names[0]])
