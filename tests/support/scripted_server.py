"""The whole REST server over scripted ResourceManagers and a held clock: no socket, no process."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from heddle import cluster_lists, models
from shim.app.assembly import Overrides
from shim.app.use_cases import UseCases, assemble
from shim.concurrency.off_loop import OffLoop
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.queues import SharePolicy
from shim.federation.health import Health
from shim.federation.poller import PollSchedule, SubClusterPoller, ViewIntake
from shim.identity.api_tokens import APITokens
from shim.identity.rates import CallRates
from shim.identity.service import Caller, IdentityRules, IdentityService
from shim.ports.clock import Clock
from shim.ports.log_archive import LogArchive
from shim.ports.node_managers import AskNode
from shim.ports.resource_manager import ResourceManager
from shim.server.rest.bearer_tokens import BearerCallers
from shim.server.rest.cache import CacheLimits
from shim.server.rest.callers import BelievedCallers, Callers
from shim.server.rest.console_api import ConsoleAPI
from shim.server.rest.heddle_api import HeddleAPI
from shim.server.rest.logs_api import AggregatedLogsAPI, LogsAPI
from shim.server.rest.messages import Answer, Request
from shim.server.rest.operations import Operations
from shim.server.rest.operators_api import (
    AuditAPI,
    ClusterListAPI,
    HardeningAPI,
    ListsClusters,
    ReloadAPI,
    RetirementAPI,
    ShadowAPI,
)
from shim.server.rest.provider_pages import ProviderPages
from shim.server.rest.request_records import RequestResponse
from shim.server.rest.service import RestService
from shim.server.rest.shares_api import SharesAPI
from shim.server.rest.site import Site
from shim.server.rest.tokens_api import TokensAPI
from shim.server.rest.usage_api import UsageAPI
from shim.server.rest.web_tokens import WebTokens
from shim.submission.lost_time import NOTHING_LOST
from tests.doubles.federation import ScriptedFederation, a_runtime, in_memory_clusters
from tests.doubles.settings import usual
from tests.support.described_answers import Description, description_of

BASE = "/ws/v1/cluster"
T = TypeVar("T")


_LIST = '[[subcluster]]\nid = "east"\nconf = "/etc/hadoop/east"\n'


class NothingNew:
    """A configuration in which nothing has changed."""

    since_ms = 1_800_000_000_000

    async def plan(self) -> models.Reload:
        return models.Reload(
            since_ms=self.since_ms, dry_run=True, changed=[], added=[], removed=[], warnings=["nothing has changed"]
        )

    async def reload(self, *, by: str) -> models.Reload:  # noqa: ARG002 - as `ReadsAnew`
        return await self.plan()


class NoList:
    """A list of sub-clusters that stays as it is."""

    async def versions(self) -> cluster_lists.ClusterVersions:
        held = cluster_lists.ClusterVersion(
            version=1, applied_by="ada", applied_at_ms=1_800_000_000_000, note="", text=_LIST, clusters=["east"]
        )
        return cluster_lists.ClusterVersions(managed="store", serves=1, trouble="", versions=[held])

    async def apply(self, *_: object, by: str, is_dry_run: bool) -> cluster_lists.ClusterListChange:  # noqa: ARG002 - as is
        return cluster_lists.ClusterListChange(
            since_ms=1_800_000_000_000,
            dry_run=is_dry_run,
            changed=[],
            added=[],
            removed=[],
            warnings=[],
            version=1,
            before=_LIST,
            text=_LIST,
        )

    add = edit = remove = apply


class WorkAtOnce(OffLoop):
    """Work that is done at once: held time does not wait for a thread."""

    async def run(self, caller: str, work: Callable[[], T]) -> T:  # noqa: ARG002 - as `OffLoop`
        return work()

    async def run_own(self, work: Callable[[], T]) -> T:
        return work()


class ScriptedServer:
    """A server, and the world behind it.

    Attributes:
        federation: The ResourceManagers, the store and the clock.
        starting: Lets start what waits for its queue's turn, if there is a policy.
        exchanges: What the server reported.
        api: Heddle's own web services.
        api_tokens: What programs show.
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
        callers: Callable[[IdentityService], Callers] = BelievedCallers,
        pages: Callable[[Request], str] = lambda _: "",
        read_alone: Callable[[Request, Caller], Awaitable[Answer]] | None = None,
        nodes: Mapping[SubClusterId, AskNode] | None = None,
        archives: Mapping[SubClusterId, LogArchive] | None = None,
        audit_file: Path | None = None,
        observe: Callable[[ResourceManager, Clock], ResourceManager] = lambda manager, _: manager,
        thread: OffLoop | None = None,
        logins: ProviderPages | None = None,
        cluster_list: Callable[[UseCases], ListsClusters] = lambda _: NoList(),
        takes_jwts: bool = False,
        has_acls: bool = False,
        rates: CallRates | None = None,
        tokens: WebTokens | None = None,
    ) -> None:
        thread = WorkAtOnce() if thread is None else thread
        self.federation = ScriptedFederation(names)
        clock, spans = self.federation.clock, self.federation.spans
        clusters = in_memory_clusters(
            {name: observe(each, clock) for name, each in self.federation.managers.items()},
            guarded=frozenset(map(SubClusterId, guarded)),
        )
        runtime = a_runtime(
            replace(clusters, ask_node={**clusters.ask_node, **(nodes or {})}, archives=archives or {}),
            clock,
            stores=self.federation.stores,
            config=f"[server]\nstaleness_s = {staleness_s}\nanswer_within_s = 2.2222\n"
            f"[security]\napplication_acls = {str(has_acls).lower()}\n",
            groups_of=groups_of,
        )
        overrides = Overrides(
            past=NOTHING_LOST, policy=policy, rules=rules or usual(IdentityRules, allow_anonymous=True)
        )
        self.use_cases = made = assemble(runtime, overrides=overrides)
        self.view, self.spans, self.backend = runtime.view, spans, made.backend
        self.administration, self.starting, self.identity = made.administration, made.starting, made.identity
        self.decisions = made.decisions
        self.health = Health(self.view, self.federation.store, clock)
        self.exchanges: list[RequestResponse] = []
        webs = {name: each.web[0] for name, each in runtime.clusters.descriptions.items()}
        inspection = made.inspection
        self.api_tokens = APITokens(self.identity, clock, runtime.stores.api_tokens, runtime.random.randbytes)
        self.api = HeddleAPI(
            self.backend,
            inspection,
            self.administration,
            made.tools.homes.preview,
            self.identity,
            shares=SharesAPI(
                made.shares.room, made.shares.policies, made.identity, made.shares.acts, made.shares.over_time
            ),
            groups=(
                AuditAPI(audit_file),
                ConsoleAPI(self.backend, self.identity, made.decisions, thread=thread),
                LogsAPI(made.logs, self.identity, thread),
                AggregatedLogsAPI(replace(made.aggregated_logs, thread=thread), self.identity),
                TokensAPI(self.api_tokens),
                RetirementAPI(made.retirement),
                UsageAPI(made.usage_reports, self.identity),
                HardeningAPI(made.hardening),
                ShadowAPI(made.matching.shadows),
                ReloadAPI(NothingNew()),
                ClusterListAPI(cluster_list(made)),
            ),
        )
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
                pages=pages,
                read_alone=read_alone,
                logins=logins,
            ),
            report=self.exchanges.append,
            is_shared=not guarded,
            max_body_bytes=runtime.config.server.max_body_bytes,
            kept=kept or usual(CacheLimits),
            callers=BearerCallers(self.api_tokens, callers(self.identity), others_take_jwts=takes_jwts),
            rates=rates,
            tokens=tokens,
        )
        settings, managers = usual(PollSchedule), made.tools.managers.values()
        intake = ViewIntake(self.view, clock)
        self._masters = [SubClusterPoller(manager, intake, clock, settings) for manager in managers]

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
        answer = await self.federation.wait_for(self.server.answer(request))
        self._check(request, answer)
        return answer

    def _check(self, request: Request, answer: Answer) -> None:
        """Fail the test if an answer of Heddle's own is not as the API's description says."""
        if request.raw_path.startswith("/heddle/v1/") and (answer.status == 200 or answer.body[:1] == b"{"):
            name = self.description.operation(request.method, request.raw_path)
            if name is not None and not name.endswith("/live"):
                assert self.description.faults(name, answer.status, answer.body) == []

    @property
    def description(self) -> Description:
        """Description of the web services, as programs read it."""
        return description_of(self.api)

    async def goes_on(self, answer: Answer, within_s: float) -> bool:
        """Return whether a stream goes on for so long."""
        assert answer.later is not None
        coming = asyncio.ensure_future(anext(answer.later, b""))
        for _ in range(int(within_s / 0.25)):
            await self.federation.clock.advance(0.25)
            for _ in range(20):
                await asyncio.sleep(0)
            if coming.done():
                if not coming.result():
                    return False
                coming = asyncio.ensure_future(anext(answer.later, b""))
        coming.cancel()
        await asyncio.wait({coming})
        return True

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
