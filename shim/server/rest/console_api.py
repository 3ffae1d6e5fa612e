"""Web services of the console beside Heddle's other web services, below `/heddle/v1/console/`.

    GET   console/applications    a page of applications: searched, filtered, sorted and counted here (`page_of`)
    GET   console/nodes           nodes of all sub-clusters, with what is used on each
    GET   console/caller          who the server takes the caller for, and whether that is an operator

Of 100,000 applications a page costs some tenths of a second of a thread: whoever asks the same meanwhile has the same
answer, and more than a few different questions at one time are refused.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Query, Response

from shim.concurrency.off_loop import OffLoop
from shim.concurrency.single_flight import SingleFlight
from shim.domain.subclusters import NodeReport
from shim.errors import BadRequestError, UnavailableError
from shim.identity.service import IdentityService
from shim.server.rest.application_rows import RowQuery, page_of
from shim.server.rest.backend import Backend
from shim.server.rest.own_endpoints import Asker, Endpoint, as_json

__all__ = ["ConsoleAPI"]

_MOST_NODES = 20_000
_MOST_QUERIES = 32

_Search = Annotated[str, Query(max_length=200)]
_Where = Annotated[list[Annotated[str, Query(max_length=300)]], Query(alias="where", max_length=64)]


@dataclass(frozen=True, slots=True)
class ConsoleAPI:
    """Answers the endpoints; raises what the server makes error bodies of."""

    backend: Backend
    identity: IdentityService
    _work: OffLoop = field(default_factory=OffLoop)
    _flights: SingleFlight[tuple[str, RowQuery], Response] = field(default_factory=SingleFlight)
    _nodes_flight: SingleFlight[str, Response] = field(default_factory=SingleFlight)

    def endpoints(self) -> tuple[Endpoint, ...]:
        """Method, path and operation of each."""
        return (
            Endpoint("GET", "console/applications", self.applications),
            Endpoint("GET", "console/nodes", self.nodes),
            Endpoint("GET", "console/caller", self.caller),
        )

    async def applications(
        self,
        asker: Asker,
        search: _Search = "",
        where: _Where = [],  # noqa: B006 - FastAPI copies it
        sort: str = "started",
        order: str = "down",
        group: str = "",
        offset: int = 0,
        limit: int = 100,
    ) -> Response:
        """A page of applications. Each `where` is `FIELD=VALUE`; of the values of one field any will do."""
        wanted: dict[str, set[str]] = defaultdict(set)
        for each in where:
            name, _, value = each.partition("=")
            wanted[name].add(value)
        fields = tuple(sorted((name, frozenset(values)) for name, values in wanted.items()))
        query = RowQuery(search, fields, sort, order != "up", group, offset, limit)
        if objection := query.objection():
            raise BadRequestError(objection)
        if len(self._flights) >= _MOST_QUERIES:
            raise UnavailableError("too many lists of applications are being made: try again in a second")
        return await self._flights.do((asker.user, query), lambda: self._page(asker.user, query))

    async def _page(self, viewer: str, query: RowQuery) -> Response:
        read = await self.backend.applications.applications(viewer=viewer)
        return as_json(await self._work.run_own(lambda: page_of(read.documents, query)))

    async def nodes(self) -> Response:
        """Nodes of all sub-clusters; those of lost clusters as they were heard of last."""
        return await self._nodes_flight.do("nodes", self._nodes)

    async def _nodes(self) -> Response:
        now_s = self.backend.clock.now_s()
        looks = [(name, self.backend.view.look(name, now_s)) for name in self.backend.view.subclusters]

        def told() -> Response:
            reports = [(name, report) for name, look in looks for report in look.nodes]
            return as_json({"total": len(reports), "nodes": [_node(*each) for each in reports[:_MOST_NODES]]})

        return await self._work.run_own(told)

    async def caller(self, asker: Asker) -> Response:
        """Tell the caller's name, and whether that is an operator."""
        return as_json({"user": asker.user, "is_operator": self.identity.is_admin(asker)})


def _node(cluster: str, report: NodeReport) -> dict[str, Any]:
    return {
        "cluster": cluster,
        "node": str(report.node),
        "rack": report.rack,
        "state": report.state,
        "labels": list(report.labels),
        "memory_mib": report.total.memory_mib,
        "used_mib": report.used.memory_mib,
        "vcores": report.total.vcores,
        "used_vcores": report.used.vcores,
    }
