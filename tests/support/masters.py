"""Real masters as processes: `heddle gm` and `heddle lm` over real clusters and a real PostgreSQL."""

import asyncio
import getpass
import itertools
import json
import os
import re
import secrets
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg

from shim.domain.ids import GlobalMasterId
from shim.lab import Lab
from shim.peers.core.queue_assignment import favourite
from tests.support.freezing import freeze
from tests.support.nursery import Nursery, is_running

_URL = re.compile(r"at (http://\S+) ")
_LISTENS = re.compile(r"listens on (\S+)")
_START_S = 120.0
_ALL_START = "[scheduling]\nautomatic = false\n"


async def until(holds: Callable[[], Awaitable[Any]], *, within_s: float = 300.0) -> float:
    """Wait for something that must come to hold; returns how long that took, in seconds."""
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    async with asyncio.timeout(within_s):
        while not await holds():  # noqa: ASYNC110 - a server in another process tells nobody by itself
            await asyncio.sleep(0.05)
    return loop.time() - began_s


def told(master: "MasterProcess") -> str:
    """What a process has written."""
    return master.log.read_text() if master.log.exists() else ""


async def fresh_database(server_url: str, name: str) -> str:
    """An empty database on a running PostgreSQL; returns the store's URL."""
    connection = await asyncpg.connect(server_url)
    try:
        await connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        await connection.execute(f'CREATE DATABASE "{name}"')
    finally:
        await connection.close()
    return f"{server_url.rpartition('/')[0].replace('postgresql://', 'postgresql+asyncpg://')}/{name}"


def names_that_share(queues: tuple[str, ...]) -> tuple[str, ...]:
    """Names of as many Global Masters as there are queues, of which each owns one: the i-th the i-th queue."""
    candidates = [GlobalMasterId(f"gm-{number}") for number in range(60)]
    for first in candidates:
        for second in candidates:
            names = (first, second)
            if first != second and all(
                favourite(queue, names) == name for queue, name in zip(queues, names, strict=True)
            ):
                return names
    raise AssertionError(f"no names share {queues}")


@dataclass(slots=True)
class MasterProcess:
    """One process."""

    name: str
    pid: int
    log: Path
    url: str = ""

    @property
    def is_running(self) -> bool:
        """Whether the process exists."""
        return is_running(self.pid)

    def kill(self) -> None:
        """As a machine that loses power."""
        os.kill(self.pid, signal.SIGKILL)

    def stop(self) -> None:
        """Ask it to end in order."""
        os.kill(self.pid, signal.SIGTERM)

    def freeze(self) -> None:
        """It keeps its connections, and does nothing."""
        freeze(self.pid)

    def thaw(self) -> None:
        """It goes on."""
        os.kill(self.pid, signal.SIGCONT)


@dataclass(slots=True)
class MasterProcesses:
    """Masters that share one configuration, and a client of theirs.

    Attributes:
        running: Every process that was started, by name.
        acknowledged: Ids that some Global Master answered with 202.
        refusals: What was answered to the others.
    """

    folder: Path
    configuration: Path
    nursery: Nursery
    managers: Mapping[str, str]
    session: aiohttp.ClientSession
    running: dict[str, MasterProcess] = field(default_factory=dict)
    acknowledged: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    _spawned: Iterator[int] = field(default_factory=itertools.count)

    # -- processes ---------------------------------------------------------------------------------------------------

    async def start_gm(self, name: str) -> MasterProcess:
        """Start a Global Master, and wait until it serves."""
        master = self._spawn(name, "gm", "--name", name)

        async def serves() -> bool:
            found = _URL.search(told(master))
            assert master.is_running, told(master)
            if found is not None:
                master.url = found[1]
            return found is not None

        await until(serves, within_s=_START_S)
        return master

    async def start_lm(self, subcluster: str, number: int = 1, **environment: str) -> MasterProcess:
        """Start a Local Master, and wait until it can be dialled; its `url` is its own address."""
        master = self._spawn(f"lm-{subcluster}-{number}", "lm", "--subcluster", subcluster, **environment)

        async def listens() -> bool:
            assert master.is_running, told(master)
            found = _LISTENS.search(told(master))
            if found is not None:
                master.url = found[1]
            return found is not None

        await until(listens, within_s=_START_S)
        return master

    async def end(self, master: MasterProcess) -> None:
        """Stop a process in order, and wait until it is gone."""
        master.stop()

        async def has_ended() -> bool:
            return not master.is_running

        await until(has_ended)

    async def end_all(self) -> None:
        """End every process that is left."""
        left = [master for master in self.running.values() if master.is_running]
        for master in left:
            master.stop()
            master.thaw()

        async def have_ended() -> bool:
            return not any(master.is_running for master in left)

        await until(have_ended)

    def _spawn(self, name: str, *arguments: str, **environment: str) -> MasterProcess:
        log = self.folder / f"{name}-{next(self._spawned)}.log"
        pid = self.nursery.start(log, arguments[0], "-c", str(self.configuration), *arguments[1:], **environment)
        master = self.running[name] = MasterProcess(name, pid, log)
        return master

    # -- a client ----------------------------------------------------------------------------------------------------

    async def get(self, master: MasterProcess, path: str) -> Any:
        """A document of Heddle's own services."""
        async with self.session.get(f"{master.url}{path}", params={"user.name": "alice"}) as answer:
            assert answer.status == 200, (answer.status, await answer.text())
            return await answer.json()

    async def new_id(self, master: MasterProcess) -> str:
        """An id of the federation."""
        url = f"{master.url}/ws/v1/cluster/apps/new-application"
        async with self.session.post(url, params={"user.name": "alice"}) as answer:
            return str((await answer.json())["application-id"])

    async def submit(self, master: MasterProcess, queue: str, *, application_id: str = "", seconds: int = 0) -> int:
        """Submit an application through one Global Master; its ApplicationMaster only sleeps, or there is none."""
        application_id = application_id or await self.new_id(master)
        context = {
            "application-id": application_id,
            "application-name": "masters",
            "application-type": "MASTERS",
            "queue": queue,
            "unmanaged-AM": seconds == 0,
            "am-container-spec": {"commands": {"command": f"sleep {seconds}"}},
            "resource": {"memory": 256, "vCores": 1},
            "max-app-attempts": 1,
        }
        url = f"{master.url}/ws/v1/cluster/apps"
        async with self.session.post(url, params={"user.name": "alice"}, json=context) as answer:
            if answer.status == 202:
                self.acknowledged.append(application_id)
            else:
                self.refusals.append(await answer.text())
            return answer.status

    async def why(self, master: MasterProcess, application_id: str) -> Any:
        """The decision record of an application."""
        return await self.get(master, f"/heddle/v1/apps/{application_id}/why")

    def audit(self) -> list[dict[str, Any]]:
        """What all of them wrote down of changes."""
        return [json.loads(line) for line in (self.folder / "audit.log").read_text().splitlines()]

    async def homes(self, application_id: str) -> list[str]:
        """The sub-clusters that know an application, asked directly."""
        found: list[str] = []
        for subcluster, url in self.managers.items():
            async with self.session.get(f"{url}/ws/v1/cluster/apps/{application_id}") as answer:
                if answer.status == 200:
                    found.append(subcluster)
        return found

    async def everything_runs_once(self) -> dict[str, str]:
        """Where each acknowledged application runs; fails if one runs nowhere or twice."""
        where: dict[str, str] = {}
        for application_id in self.acknowledged:

            async def has_a_home(application_id: str = application_id) -> bool:
                return bool(await self.homes(application_id))

            await until(has_a_home)
            (where[application_id],) = await self.homes(application_id)
        return where

    async def kill_applications(self, master: MasterProcess) -> None:
        """End what was started, so that the next test finds empty clusters."""
        for application_id in self.acknowledged:
            url = f"{master.url}/ws/v1/cluster/apps/{application_id}/state"
            async with self.session.put(url, params={"user.name": "alice"}, json={"state": "KILLED"}) as answer:
                await answer.read()


@asynccontextmanager
async def masters_over(
    nursery: Nursery,
    folder: Path,
    store: str,
    lab: Lab,
    *,
    poll: str = "interval_s = 0.5",
    spanning: str = "",
    scheduling: str = _ALL_START,
) -> AsyncIterator[MasterProcesses]:
    """Masters over the clusters of a lab; none is started yet.

    Args:
        nursery: Starts them.
        folder: For their configuration, secrets and logs.
        store: URL of the store that they share.
        lab: Whose clusters.
        poll: Lines of that section of the configuration.
        spanning: Sections for queues that span; with any, Global Masters have a server for ApplicationMasters.
        scheduling: Sections by which all start at once, as masters that nobody starts never make room for others;
            `spanning` may have that section instead.
    """
    configuration = folder / "heddle.toml"
    configuration.write_text(_configuration(folder, store, lab, poll, spanning, scheduling))
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as session:
        urls = {id_: cluster.url for id_, cluster in lab.clusters.items()}
        masters = MasterProcesses(folder, configuration, nursery, urls, session)
        try:
            yield masters
        finally:
            await masters.end_all()


def _configuration(folder: Path, store: str, lab: Lab, poll: str, spanning: str, scheduling: str) -> str:
    between_masters = _secret(folder / "masters.secret", "a secret for the masters of one test\n")
    of_tokens = f'secret_file = "{_secret(folder / "secret", secrets.token_hex(32))}"\n' if spanning else ""
    return (
        f'[server]\nallow_remote = true\nrest = "{lab.host}:0"\nclient_rpc = ""\n'
        f'scheduler_rpc = "{f"{lab.host}:0" if spanning else ""}"\n'
        f'admin_rpc = ""\n[store]\nurl = "{store}"\n[masters]\nsecret_file = "{between_masters}"\n'
        f"[security]\nallow_anonymous = true\nadmins = {[getpass.getuser()]}\n{of_tokens}[poll]\n{poll}\n"
        + ("" if "[scheduling]" in spanning else scheduling)
        + '[log]\nlevel = "info"\n'
        f'audit_file = "{folder}/audit.log"\n'
        + "".join(f'[[subcluster]]\nid = "{id_}"\nconf = "{each.conf_dir}"\n' for id_, each in lab.clusters.items())
        + spanning
    )


def _secret(file: Path, text: str) -> Path:
    file.write_text(text)
    file.chmod(0o600)
    return file
