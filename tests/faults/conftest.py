"""Two clusters of one node to break, and a Heddle in front of them that looks twice a second."""

import getpass
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from shim.app.bootstrap import Heddle
from shim.config.loader import parse
from shim.lab import Lab, LabSpec
from tests.support.nursery import Nursery, shared_nursery
from tests.support.tidying import end_applications

_PATIENCE = aiohttp.ClientTimeout(total=60)


@pytest.fixture(scope="session")
def fault_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Two clusters whose daemons may be frozen and killed; each test leaves them running."""
    with Lab(tmp_path_factory.mktemp("fault-lab")) as lab:
        lab.up(LabSpec.of(clusters=2, nodes=1))
        yield lab


@pytest.fixture
def nursery() -> Nursery:
    """Starts masters in no time."""
    return shared_nursery()


@pytest.fixture(autouse=True, scope="module")
def _left_as_found(fault_lab: Lab) -> Iterator[None]:
    yield
    end_applications(fault_lab)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a client sees."""

    status: int
    headers: dict[str, str]
    body: Any

    @property
    def missing(self) -> str:
        """Sub-clusters that are named as absent or late."""
        return self.headers.get("heddle-missing", "")


@dataclass(slots=True)
class Client:
    """A client of a Heddle, or of a ResourceManager."""

    session: aiohttp.ClientSession
    url: str
    acknowledged: list[str] = field(default_factory=list)

    async def ask(self, path: str, method: str = "GET", body: object = None) -> Reply:
        """One request below `/ws/v1/cluster`, as alice."""
        separator = "&" if "?" in path else "?"
        url = f"{self.url}/ws/v1/cluster/{path}{separator}user.name=alice"
        async with self.session.request(method, url, json=body) as answer:
            is_json = "json" in answer.headers.get("Content-Type", "")
            content = await answer.json() if is_json else await answer.text()
            return Reply(answer.status, {key.lower(): value for key, value in answer.headers.items()}, content)

    async def new_id(self) -> str:
        """An id of the federation."""
        reply = await self.ask("apps/new-application", "POST")
        assert reply.status == 200, reply
        return str(reply.body["application-id"])

    async def submit(self, application_id: str | None = None, *, tags: Sequence[str] = ()) -> Reply:
        """Submit an application that costs the cluster nothing."""
        application_id = application_id or await self.new_id()
        context = {
            "application-id": application_id,
            "application-name": "fault",
            "application-type": "FAULT",
            "unmanaged-AM": True,
            "am-container-spec": {"commands": {"command": "true"}},
            "resource": {"memory": 128, "vCores": 1},
            **({"application-tags": {"tag": list(tags)}} if tags else {}),
        }
        reply = await self.ask("apps", "POST", context)
        if reply.status == 202:
            self.acknowledged.append(application_id)
        return reply

    async def ids(self, query: str = "") -> set[str]:
        """Ids that are listed."""
        reply = await self.ask(f"apps{query}")
        assert reply.status == 200, reply
        return {app["id"] for app in (reply.body["apps"] or {}).get("app", [])}


@dataclass(frozen=True, slots=True)
class Federation:
    """A Heddle over the fault lab, and both of its ResourceManagers asked directly."""

    lab: Lab
    heddle: Client
    managers: dict[str, Client]
    store: Path

    async def homes(self, application_id: str) -> list[str]:
        """The sub-clusters that know an application."""
        return [
            name
            for name, manager in self.managers.items()
            if (await manager.ask(f"apps/{application_id}")).status == 200
        ]


@asynccontextmanager
async def federation_over(lab: Lab, folder: Path) -> AsyncIterator[Federation]:
    """A Heddle over the clusters of a lab, with a store of its own."""
    store = folder / "heddle.db"
    text = (
        f'[server]\nallow_remote = true\nrest = "{lab.host}:0"\nclient_rpc = "{lab.host}:0"\n'
        f'admin_rpc = "{lab.host}:0"\nscheduler_rpc = "{lab.host}:0"\n[store]\nurl = "sqlite:///{store}"\n'
        f"[security]\nallow_anonymous = true\nadmins = {[getpass.getuser()]}\n[poll]\ninterval_s = 0.5\n"
        # masters that nobody starts never make room for others that wait in Heddle
        '[scheduling]\nautomatic = false\n[log]\nlevel = "warning"\n'
    )
    text += "".join(f'[[subcluster]]\nid = "{id_}"\nconf = "{each.conf_dir}"\n' for id_, each in lab.clusters.items())
    async with (
        aiohttp.ClientSession(timeout=_PATIENCE) as session,
        Heddle(parse(text, source="heddle.toml", environment={})) as heddle,
    ):
        managers = {id_: Client(session, each.url) for id_, each in lab.clusters.items()}
        yield Federation(lab, Client(session, heddle.url), managers, store)


@pytest.fixture
async def federation(fault_lab: Lab, tmp_path: Path) -> AsyncIterator[Federation]:
    """A Heddle over the fault lab."""
    async with federation_over(fault_lab, tmp_path) as running:
        yield running
