"""The store is restored from an old copy, under load, on real clusters: what was acknowledged runs, once, as itself.

A ResourceManager takes any submission under a known id as done, so it is not enough that an acknowledged id exists:
the application under it must be the one that was submitted. Each has a name of its own.
"""

import asyncio
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest

from shim.lab import Lab
from tests.faults.conftest import Client
from tests.faults.observing import until
from tests.support.databases import emptied
from tests.support.heddle_process import HeddleProcess

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

_PATIENCE = aiohttp.ClientTimeout(total=60)
_AT_ONCE = 6
_A_BLOCK = 100  # ids that a Heddle reserves first
_ALL_START = "[scheduling]\nautomatic = false\n"
"""Masters that nobody starts never make room for others that wait in Heddle."""


@dataclass(slots=True)
class Load:
    """Clients that submit; `acknowledged` is what they were told, by id, with the name that each gave."""

    client: Client
    acknowledged: dict[str, str] = field(default_factory=dict)
    _number: int = 0

    async def submit(self, application_id: str | None = None, name: str | None = None) -> str:
        """Submit one under a name of its own, as often as it takes; return its id."""
        self._number += 1
        name = name or f"restore-{self._number}"
        application_id = application_id or await self.client.new_id()
        context = {
            "application-id": application_id,
            "application-name": name,
            "application-type": "RESTORE",
            "unmanaged-AM": True,
            "am-container-spec": {"commands": {"command": "true"}},
            "resource": {"memory": 128, "vCores": 1},
        }
        replies = []

        async def is_answered() -> bool:
            replies.append(await self.client.ask("apps", "POST", context))
            return replies[-1].status != 503

        await until(is_answered)
        assert replies[-1].status == 202, replies[-1]
        assert self.acknowledged.setdefault(application_id, name) == name, "an id was issued twice"
        return application_id

    async def many(self, count: int) -> list[str]:
        """Submit several, a few at once."""
        gate = asyncio.Semaphore(_AT_ONCE)

        async def one() -> str:
            async with gate:
                return await self.submit()

        return await asyncio.gather(*(one() for _ in range(count)))


def heddle_store(heddle: HeddleProcess, *words: str) -> str:
    command = [sys.executable, "-m", "shim", "store", *words, "-c", str(heddle.config)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


@asynccontextmanager
async def a_store(kind: str, request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """The address of an empty store; empty for the SQLite file of the process."""
    yield await emptied(request.getfixturevalue("postgres_url")) if kind == "postgresql" else ""


def put_back(heddle: HeddleProcess, copy: Path, how: str) -> None:
    if how == "cp":
        for left in heddle.store.parent.glob("heddle.db-*"):
            left.unlink()
        shutil.copyfile(copy, heddle.store)
        return
    heddle_store(heddle, "restore", str(copy), "--force")


@pytest.mark.parametrize(("kind", "how"), [("sqlite", "restore"), ("sqlite", "cp"), ("postgresql", "restore")])
async def test_after_a_restore_under_load_every_acknowledged_application_runs_once_as_itself(
    fault_lab: Lab, tmp_path: Path, request: pytest.FixtureRequest, kind: str, how: str
) -> None:
    copy = tmp_path / "copy"
    connector = aiohttp.TCPConnector(force_close=True)  # a connection to the process that died is no failure
    async with a_store(kind, request) as url, aiohttp.ClientSession(timeout=_PATIENCE, connector=connector) as session:
        heddle = HeddleProcess(fault_lab, tmp_path, store_url=url, more=_ALL_START)
        with heddle:
            load = Load(Client(session, heddle.url))
            await load.many(10)
            during = asyncio.create_task(load.many(10))
            await asyncio.to_thread(heddle_store, heddle, "backup", str(copy))
            await during
            for _ in range(_A_BLOCK):  # so that those of the lost time have numbers that the copy has not reserved
                await load.client.new_id()
            lost = await load.many(40)
            held = [await load.client.new_id() for _ in range(5)]
            # what was taken for a home that is silent is in the store alone: with that it is lost
            await names_at_clusters(load, fault_lab, session)
            heddle.kill()
            put_back(heddle, copy, how)
            heddle.start()
            again = asyncio.create_task(load.many(60))
            for application_id in held:
                await load.submit(application_id)
            for application_id in lost[:5]:  # clients that heard nothing, and repeat the call
                await load.submit(application_id, load.acknowledged[application_id])
            await again
            await check(load, fault_lab, session)
            if how == "restore":
                log = heddle.log.read_text()
                assert "adopted: applications that the store has lost" in log


async def names_at_clusters(load: Load, lab: Lab, session: aiohttp.ClientSession) -> dict[str, list[str]]:
    """The names under which clusters have applications, by id, once they have every acknowledged one."""
    managers = {name: Client(session, cluster.url) for name, cluster in lab.clusters.items()}
    names: dict[str, list[str]] = {}

    async def all_are_there() -> bool:
        names.clear()
        for manager in managers.values():
            reply = await manager.ask("apps?applicationTypes=RESTORE")
            for app in (reply.body["apps"] or {}).get("app", []):
                names.setdefault(app["id"], []).append(app["name"])
        return load.acknowledged.keys() <= names.keys()

    await until(all_are_there)
    return names


async def check(load: Load, lab: Lab, session: aiohttp.ClientSession) -> None:
    """Every acknowledged application is at one cluster, under its own name, and Heddle lists and routes it."""
    names = await names_at_clusters(load, lab, session)
    assert {an_id: names[an_id] for an_id in load.acknowledged} == {
        an_id: [name] for an_id, name in load.acknowledged.items()
    }
    assert max(Counter(load.acknowledged.values()).values()) == 1
    assert set(load.acknowledged) <= await load.client.ids()
    for application_id, name in list(load.acknowledged.items())[::10]:
        reply = await load.client.ask(f"apps/{application_id}")
        assert reply.body["app"]["name"] == name

        async def is_killed(application_id: str = application_id) -> bool:
            killed = await load.client.ask(f"apps/{application_id}/state", "PUT", {"state": "KILLED"})
            assert killed.status in (200, 202, 503), killed
            return killed.status != 503

        await until(is_killed)
