"""The whole REST server over scripted ResourceManagers and a held clock: no socket, no process."""

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any

from shim.calls.control import ControlService
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.shares import SharePolicy
from shim.errors import UnavailableError
from shim.federation.administration import AdministrationService
from shim.federation.core.federation_view import FederationView
from shim.federation.documents import DocumentReading
from shim.federation.health import Health
from shim.federation.inspection import Inspection, SubClusterDescription
from shim.federation.poller import HeartbeatSettings, LocalMaster
from shim.federation.reading import ApplicationReading, ReadingSettings
from shim.federation.routing import Routing
from shim.identity.service import IdentityRules, IdentityService
from shim.queues.admission import WaitingRoom
from shim.queues.core.entitle import ShareSettings
from shim.queues.starting import Starting
from shim.server.rest.backend import Backend
from shim.server.rest.cache import CacheLimits
from shim.server.rest.heddle_api import HeddleAPI
from shim.server.rest.messages import Answer, Request
from shim.server.rest.operations import Operations
from shim.server.rest.request_records import RequestResponse
from shim.server.rest.service import RestService
from shim.server.rest.site import Site
from shim.submission.application_ids import ApplicationIds
from shim.submission.core.home import HomeSettings
from shim.submission.homes import Homes
from shim.submission.repair import Repair
from shim.submission.service import SubmissionService, SubmissionTools
from shim.testing.federation import ScriptedFederation

__all__ = ["ScriptedServer", "body_of", "context"]

BASE = "/ws/v1/cluster"


class ScriptedServer:
    """A server, and the world behind it.

    Attributes:
        federation: The ResourceManagers, the store and the clock.
        starting: Lets start what waits for its queue's turn, if there is a policy.
        exchanges: What the server reported.
        api: Heddle's own web services.
    """

    def __init__(
        self,
        names: Sequence[str] = ("east", "west"),
        *,
        rules: IdentityRules | None = None,
        staleness_s: float = 1.0,
        policy: SharePolicy | None = None,
        kept: CacheLimits | None = None,
        guarded: Collection[str] = (),
        groups_of: Callable[[str], frozenset[str]] = lambda _: frozenset(),
    ) -> None:
        self.federation = ScriptedFederation(names)
        clock, store, managers = self.federation.clock, self.federation.store, self.federation.managers
        self.view = FederationView(tuple(managers))
        settings = ReadingSettings(staleness_s=staleness_s, guarded=frozenset(map(SubClusterId, guarded)))
        applications = ApplicationReading(self.view, managers, store, clock, settings)
        self.spans = self.federation.spans
        administration = AdministrationService(view=self.view, store=store, spans=self.spans, clock=clock)
        self.administration = administration
        homes = Homes(self.view, clock, HomeSettings(), administration.current)
        tools = SubmissionTools(homes, self.view, managers, store, applications, clock)
        room = WaitingRoom(
            policy=lambda: policy or SharePolicy(),
            view=self.view,
            admissions=administration.current,
            store=store,
            clock=clock,
            groups_of=lambda _: frozenset(),
            settings=ShareSettings(),
        )
        submissions = SubmissionService(tools, gate=room)
        self.starting = Starting(
            room=room, submissions=submissions, store=store, view=self.view, clock=clock, interval_s=1.0
        )
        repair = Repair(tools, submissions)
        routing = Routing(self.view, managers, store, clock)
        self.backend = Backend(
            view=self.view,
            applications=applications,
            documents=DocumentReading(self.view, managers, clock, settings),
            routing=routing,
            ids=ApplicationIds(store),
            submissions=submissions,
            control=ControlService(routing=routing, repair=repair, managers=managers, listing=applications, room=room),
            store=store,
            managers=managers,
            clock=clock,
        )
        self.health = Health(self.view, store, clock)
        self.exchanges: list[RequestResponse] = []
        believed = rules or IdentityRules(allow_anonymous=True)
        self.identity = IdentityService(believed, secret=b"s" * 32, clock=clock, groups_of=groups_of)
        webs = {SubClusterId(name): f"http://rm.{name}:8088" for name in names}
        inspection = Inspection(
            view=self.view,
            managers=managers,
            descriptions={name: SubClusterDescription((web,)) for name, web in webs.items()},
            admissions=administration.current,
            store=store,
            clock=clock,
            read_node_settings=dict.fromkeys(managers, no_node_settings),
        )
        self.api = HeddleAPI(self.backend, inspection, administration, homes.choose, self.identity)
        self.server = RestService(
            self.backend,
            self.identity,
            Operations(self.backend, login_user="heddle", staleness_s=staleness_s),
            Site(
                self.backend,
                settings={"yarn.resourcemanager.address": "127.0.0.1:8032", "x.password": "swordfish"},
                scrape=lambda: b"heddle_up 1\n",
                states=lambda: {status.id: status.state for status in inspection.clusters()},
                health=self.health,
                identity=self.identity,
                api=self.api,
                webs=webs,
            ),
            report=self.exchanges.append,
            is_shared=not guarded,
            kept=kept or CacheLimits(),
        )
        self._masters = [LocalMaster(manager, self.view, clock, HeartbeatSettings()) for manager in managers.values()]

    async def poll(self) -> None:
        """One heartbeat of every sub-cluster."""
        for master in self._masters:
            await self.federation.wait_for(master.poll())

    async def ask(self, method: str, target: str, *, body: bytes = b"", **headers: Any) -> Answer:
        """Send a request; header names are written with underscores."""
        path, _, query = target.partition("?")
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        shown = {"host": "front:8088", **named}
        request = Request(method, path, query, tuple(shown.items()), body, "127.0.0.1")
        return await self.federation.wait_for(self.server.answer(request))

    async def get(self, path: str, **headers: Any) -> Answer:
        """GET below the base path."""
        return await self.ask("GET", BASE + path, **headers)

    async def submit(self, user: str = "alice", **fields: object) -> ApplicationId:
        """A new application through the server."""
        made = body_of(await self.ask("POST", f"{BASE}/apps/new-application?user.name={user}"))
        answer = await self.ask(
            "POST",
            f"{BASE}/apps?user.name={user}",
            body=context(made["application-id"], **fields),
            content_type="application/json",
        )
        assert answer.status == 202, answer.body
        return ApplicationId.parse(made["application-id"])


async def no_node_settings(address: str) -> bytes:
    """No NodeManager answers."""
    raise UnavailableError(f"{address} does not answer")


def context(application_id: object, **fields: object) -> bytes:
    """A submission context."""
    return json.dumps(
        {
            "application-id": str(application_id),
            "application-name": "n",
            "queue": "default",
            "am-container-spec": {"commands": {"command": "sleep 1"}},
            "resource": {"memory": 256, "vCores": 1},
            **fields,
        }
    ).encode()


def body_of(answer: Answer) -> Any:
    """The JSON of an answer."""
    return json.loads(answer.body)
