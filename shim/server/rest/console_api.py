"""Web services of the console beside Heddle's other web services, below `/heddle/v1/console/`.

    GET   console/applications    a page of applications: searched, filtered, sorted and counted here
    GET   console/nodes           nodes of all sub-clusters, with what is used on each
    GET   console/decisions       what was decided on applications in this process lately, and why, newest first
    GET   console/containers/{application}    where its live containers are, of one that spans
    GET   console/caller          who the server takes the caller for, and what that one may ask for

Of 100,000 applications a page is found by their columns within milliseconds. One that is searched by text, or by a user
who does not see all of them, costs some tenths of a second of a thread: whoever asks the same meanwhile has the same
answer, and more than a few different questions at one time are refused: of one user first, so that others have answers
meanwhile. The thread serves users in turn.
"""

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Annotated, TypeVar

from fastapi import Query, Response
from msgspec.structs import astuple

from heddle import models
from shim.concurrency.off_loop import OffLoop
from shim.concurrency.single_flight import SingleFlight
from shim.domain.access_lists import Viewer
from shim.domain.ids import SubClusterId
from shim.domain.roles import Right
from shim.domain.subclusters import ApplicationDocument, NodeReport
from shim.errors import BadRequestError, NotAuthenticatedError, UnavailableError
from shim.federation.reading import ColumnsRead
from shim.federation.view_rights import ViewRights
from shim.identity.service import Caller, IdentityService
from shim.protocol.rest.filters import TimeRange
from shim.protocol.rest.identifiers import path_application
from shim.server.rest.application_rows import RowQuery, page_by_columns, page_of, within_ranges
from shim.server.rest.backend import Backend
from shim.server.rest.own_endpoints import READ, ApplicationName, Asker, Limit, OwnEndpoint, Search, as_json, has_words
from shim.telemetry.application_life import LifeEvent
from shim.telemetry.recent_decisions import Decision, RecentDecisions
from shim.telemetry.redaction import redact

K = TypeVar("K", bound=Hashable)

_MOST_NODES = 20_000
_MOST_QUERIES = 32
_MOST_OF_USER = 4
"""Questions of one user that are being answered; each takes up to some tenths of a second of a thread."""

_Where = Annotated[list[Annotated[str, Query(max_length=300)]], Query(alias="where", max_length=64)]

_Moment = Annotated[int | None, Query(ge=0, le=2**62)]
"""Milliseconds since the epoch."""

_Event = Annotated[str, Query(max_length=40)]

_DecisionQuery = tuple[Viewer, bool, str, str, int]


@dataclass(frozen=True, slots=True)
class ConsoleAPI:
    """Answers the endpoints; raises what the server makes error bodies of."""

    backend: Backend
    identity: IdentityService
    recent: RecentDecisions
    thread: OffLoop = field(default_factory=OffLoop)
    _flights: SingleFlight[tuple[Viewer, RowQuery], Response] = field(default_factory=SingleFlight)
    _nodes_flight: SingleFlight[str, Response] = field(default_factory=SingleFlight)
    _decision_flights: SingleFlight[_DecisionQuery, Response] = field(default_factory=SingleFlight)
    _asking: Counter[str] = field(default_factory=Counter)

    def endpoints(self) -> tuple[OwnEndpoint, ...]:
        return (
            OwnEndpoint("GET", "console/applications", READ, self.applications, models.ApplicationPage),
            OwnEndpoint("GET", "console/nodes", READ, self.nodes, models.Nodes),
            OwnEndpoint("GET", "console/decisions", READ, self.decisions, models.Decisions),
            OwnEndpoint("GET", "console/containers/{application}", READ, self.containers, models.ContainerPlaces),
            OwnEndpoint("GET", "console/caller", READ, self.caller, models.CallerTold),
        )

    async def applications(
        self,
        asker: Asker,
        search: Search = "",
        where: _Where = [],  # noqa: B006 - FastAPI copies it
        sort: str = "started",
        order: str = "down",
        group: str = "",
        offset: int = 0,
        limit: int = 100,
        *,
        started_from: _Moment = None,
        started_to: _Moment = None,
        finished_from: _Moment = None,
        finished_to: _Moment = None,
    ) -> Response:
        """A page of applications. Each `where` is `FIELD=VALUE`; of the values of one field any will do.

        Times are milliseconds since the epoch by the clock of an application's home, both ends included.
        """
        wanted: dict[str, set[str]] = defaultdict(set)
        for each in where:
            name, _, value = each.partition("=")
            wanted[name].add(value)
        fields = tuple(sorted((name, frozenset(values)) for name, values in wanted.items()))
        started, finished = _range(started_from, started_to), _range(finished_from, finished_to)
        query = RowQuery(search, fields, sort, order != "up", group, offset, limit, started, finished)
        if rejection := query.rejection():
            raise BadRequestError(rejection)
        viewer = ViewRights(self.backend.applications, self.identity).viewer(asker)
        return await self._asked_by(
            asker.user, self._flights, (viewer, query), lambda: self._page(viewer, query, asker.user)
        )

    async def _asked_by(
        self, user: str, flights: SingleFlight[K, Response], key: K, call: Callable[[], Awaitable[Response]]
    ) -> Response:
        """The answer to a question, within the user's share of those that are being answered.

        Raises:
            UnavailableError: His share, or all of it, is taken.
        """
        if key not in flights:
            if self._asking[user] >= _MOST_OF_USER:
                raise UnavailableError(f"{_MOST_OF_USER} such questions of {user} are being answered: try again later")
            if self._asking.total() >= _MOST_QUERIES:
                raise UnavailableError("too many such questions are being answered: try again in a second")
        return await flights.do(key, lambda: self._counted(user, call))

    def _counted(self, user: str, call: Callable[[], Awaitable[Response]]) -> Awaitable[Response]:
        """Begin to answer a question, which counts until that ends, also if nobody waits for it any more."""
        self._asking[user] += 1

        async def answered() -> Response:
            try:
                return await call()
            finally:
                self._asking[user] -= 1
                if not self._asking[user]:
                    del self._asking[user]

        return answered()

    async def _page(self, viewer: Viewer, query: RowQuery, user: str) -> Response:
        applications = self.backend.applications
        known = await applications.columns(viewer) if viewer.sees_all else None
        page = None if known is None else page_by_columns(known.columns, query)
        if page is not None:
            return as_json(await self.thread.run_in_turn(user, page.told))
        documents, total = await self._within(viewer, query, known)
        return as_json(await self.thread.run_in_turn(user, lambda: page_of(documents, query, total=total).told()))

    async def _within(
        self, viewer: Viewer, query: RowQuery, known: ColumnsRead | None
    ) -> tuple[Sequence[ApplicationDocument], int]:
        """Applications of the query's ranges, by the index of times where all see the same; and how many there are."""
        if known is None or not query.times:
            read = await self.backend.applications.applications(viewer=viewer)
            return read.documents, len(read.documents)
        columns = known.columns
        return columns.documents(columns.newest_first(within_ranges(columns, query))), len(columns)

    async def nodes(self) -> Response:
        """Nodes of all sub-clusters; those of lost clusters as they were last reported."""
        return await self._nodes_flight.do("nodes", self._nodes)

    async def _nodes(self) -> Response:
        now_s = self.backend.clock.now_s()
        looks = [(name, self.backend.view.look(name, now_s)) for name in self.backend.view.subclusters]

        def told() -> Response:
            reports = [(name, report) for name, look in looks for report in look.nodes]
            return as_json(models.Nodes(len(reports), [_node(*each) for each in reports[:_MOST_NODES]]))

        return await self.thread.run_own(told)

    async def decisions(self, asker: Asker, search: Search = "", event: _Event = "", limit: Limit = 100) -> Response:
        """The newest decisions on applications that the caller may see; `search` is words that all stand in one."""
        viewer = ViewRights(self.backend.applications, self.identity).viewer(asker)
        key = (viewer, self.identity.is_operator(asker), search, event, limit)  # all that the answer depends on
        return await self._asked_by(
            asker.user, self._decision_flights, key, lambda: self._decisions(asker, search, event, limit)
        )

    async def _decisions(self, asker: Caller, search: str, event: str, limit: int) -> Response:
        rights = ViewRights(self.backend.applications, self.identity)
        wanted = (each for each in self.recent.newest_first() if not event or each.event.name == event)
        visible = [each for each in map(self._completed, wanted) if self._may_see(each, asker, rights)]
        return await self.thread.run_in_turn(asker.user, partial(_found, visible, search, limit))

    def _completed(self, decided: Decision) -> Decision:
        """Fill in the user and the queue that the view has, where it knows the application."""
        known = self.backend.view.applications.find(decided.application)
        if known is None:
            return decided
        return replace(decided, user=known.summary.user, queue=known.summary.queue)

    def _may_see(self, decided: Decision, asker: Caller, rights: ViewRights) -> bool:
        known = self.backend.view.applications.find(decided.application)
        homes = {known.summary.home_subcluster} if known is not None else set()
        homes |= {SubClusterId(str(name)) for key in ("home", "cluster", "was") if (name := decided.facts.get(key))}
        return all(
            rights.may_see(asker, decided.application, decided.user, home)
            for home in homes or self.backend.view.subclusters
        )

    async def containers(self, asker: Asker, application: ApplicationName) -> Response:
        """The home of an application, and the sub-cluster of each live container that is elsewhere."""
        application_id = path_application(application)
        home = await self.backend.routing.home_of(application_id)
        known = self.backend.view.applications.find(application_id)
        rights = ViewRights(self.backend.applications, self.identity)
        rights.require(asker, application_id, known.summary.user if known else "", home)
        places = await self.backend.routing.containers_of(application_id)
        elsewhere = {str(each): place for place, given in places.items() if place != home for each in sorted(given)}
        return as_json(models.ContainerPlaces(home, elsewhere))

    async def caller(self, asker: Asker) -> Response:
        """Tell the caller's name, role, and what he may ask for at all: by rights, and what takes a name."""
        rights = [each.name.lower() for each in Right if self.identity.may(asker, each)]
        may_ask = True
        try:
            self.identity.require_user(asker)
        except NotAuthenticatedError:
            may_ask = False
        told = models.CallerTold(
            user=asker.user,
            is_anonymous=asker.is_anonymous,
            role=self.identity.role_of(asker).told,
            may_ask=may_ask,
            has_session=asker.has_login,
            is_operator=self.identity.is_operator(asker),
            rights=rights,
        )
        return as_json(told)


def _range(begin_ms: int | None, end_ms: int | None) -> TimeRange:
    whole = TimeRange()
    return TimeRange(whole.begin if begin_ms is None else begin_ms, whole.end if end_ms is None else end_ms)


def _found(decisions: Iterable[Decision], search: str, limit: int) -> Response:
    shown = (_decision(each) for each in decisions)
    found = list(islice((each for each in shown if has_words(astuple(each), search)), limit))
    return as_json(models.Decisions(found, [each.name for each in LifeEvent]))


def _decision(decided: Decision) -> models.Decision:
    return models.Decision(
        number=decided.number,
        at_ms=decided.at_ms,
        event=decided.event.name,
        application=str(decided.application),
        user=decided.user,
        queue=decided.queue,
        facts=redact(decided.facts),
    )


def _node(cluster: str, report: NodeReport) -> models.Node:
    return models.Node(
        cluster=cluster,
        node=str(report.node),
        rack=report.rack,
        state=report.state,
        labels=list(report.labels),
        memory_mib=report.total.memory_mib,
        used_mib=report.used.memory_mib,
        vcores=report.total.vcores,
        used_vcores=report.used.vcores,
    )
