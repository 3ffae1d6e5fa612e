"""The addresses below `/cluster` that a ResourceManager has pages at, beside its lists and its applications.

Source: the routes of `org.apache.hadoop.yarn.server.resourcemanager.webapp.RMWebApp` of Hadoop 3.4.2. What only one
ResourceManager knows (attempts, containers, logs) is redirected to the page of the one that does.
"""

from collections.abc import Awaitable, Callable, Mapping
from html import escape
from typing import TypeVar
from urllib.parse import unquote

from shim.domain.applications import YarnApplicationState
from shim.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, MalformedIdError, SubClusterId
from shim.errors import HeddleError, NotFoundError
from shim.identity.service import Caller
from shim.protocol.rest.errors import JavaError
from shim.server.rest.answers import AnswerWriter
from shim.server.rest.backend import Backend
from shim.server.rest.messages import Answer, Headers
from shim.server.rest.pages import Pages

_NODE_STATES = frozenset(
    {"NEW", "RUNNING", "UNHEALTHY", "DECOMMISSIONED", "LOST", "REBOOTED", "DECOMMISSIONING", "SHUTDOWN"}
)
_ACTIVE = {"ACTIVE": "RUNNING"}
_APPLICATION_STATES = frozenset(state.value for state in YarnApplicationState)
_MOST_ERRORS = "Each ResourceManager keeps its own errors and warnings; Heddle's are in its log."

T = TypeVar("T")
_Page = Callable[[str, Caller, Headers], Awaitable[Answer]]


class RMPages:
    """Answers the pages.

    Args:
        pages: Renders tables.
        webs: Web addresses of the sub-clusters' ResourceManagers.
    """

    def __init__(self, backend: Backend, pages: Pages, webs: Mapping[SubClusterId, str]) -> None:
        self._backend = backend
        self._pages = pages
        self._webs = webs
        self._writer = AnswerWriter(backend.clock.now_s)
        self._table: Mapping[str, _Page] = {
            "": self._applications,
            "about": self._about,
            "app": self._application,
            "appattempt": self._attempt,
            "apps": self._applications,
            "cluster": self._about,
            "container": self._container,
            "errors-and-warnings": self._errors,
            "failure": self._of_home("failure"),
            "logaggregationstatus": self._of_home("logaggregationstatus"),
            "nodelabels": self._labels,
            "nodes": self._nodes,
            "queue": self._queues,
            "scheduler": self._queues,
        }

    async def answer(self, path: str, caller: Caller, extra: Headers) -> Answer | None:
        """The page at a path below `/cluster`; None if a ResourceManager has none there."""
        name, _, argument = path.removeprefix("/cluster").strip("/").partition("/")
        page = self._table.get(name)
        return None if page is None else await page(argument, caller, extra)

    def _written(self, page: str, extra: Headers, status: int = 200) -> Answer:
        return self._writer.page(page, status=status, extra=extra)

    # -- of the whole ------------------------------------------------------------------------------------------------

    async def _applications(self, states: str, caller: Caller, extra: Headers) -> Answer:
        wanted = _named(states, _APPLICATION_STATES)
        return self._written(await self._pages.applications(caller, wanted), extra)

    async def _nodes(self, states: str, _: Caller, extra: Headers) -> Answer:
        return self._written(self._pages.nodes(_named(states, _NODE_STATES)), extra)

    async def _about(self, _: str, __: Caller, extra: Headers) -> Answer:
        return self._written(self._pages.clusters(), extra)

    async def _queues(self, name: str, _: Caller, extra: Headers) -> Answer:
        """Every queue on every cluster; one queue and those below it, if a path or a last name is given."""
        now_s, name = self._backend.clock.now_s(), unquote(name, errors="replace")
        rows = [
            (
                queue.path,
                item,
                queue.state.value,
                queue.capacity.memory_mib,
                queue.maximum.memory_mib,
                queue.used.memory_mib,
                queue.pending.memory_mib,
                queue.applications,
                ", ".join(queue.labels),
            )
            for item in self._backend.view.subclusters
            for queue in self._backend.view.look(item, now_s).queues.values()
            if not name or f".{queue.path}.".find(f".{name}.") >= 0
        ]
        heads = ["Queue", "Cluster", "State", "Capacity MB", "Maximum MB", "Used MB", "Pending MB", "Applications"]
        title = f"Queue {name}" if name else "Queues"
        return self._written(self._pages.rows(title, [*heads, "Labels"], sorted(rows)), extra)

    async def _labels(self, _: str, __: Caller, extra: Headers) -> Answer:
        now_s = self._backend.clock.now_s()
        rows: list[tuple[str, str, int, int, int]] = []
        for item in self._backend.view.subclusters:
            look = self._backend.view.look(item, now_s)
            nodes = [node for node in look.nodes if node.state == "RUNNING"]
            for label in ("", *look.labels):
                there = [node for node in nodes if (label in node.labels if label else not node.labels)]
                memory_mib, vcores = (
                    sum(each.total.memory_mib for each in there),
                    sum(each.total.vcores for each in there),
                )
                rows.append((label or "<DEFAULT_PARTITION>", item, len(there), memory_mib, vcores))
        heads = ["Label", "Cluster", "Active nodes", "Memory MB", "VCores"]
        return self._written(self._pages.rows("Node labels", heads, rows), extra)

    async def _errors(self, _: str, __: Caller, extra: Headers) -> Answer:
        rows = [(item, f"{self._webs[item].rstrip('/')}/cluster/errors-and-warnings") for item in self._webs]
        page = self._pages.rows("Errors and warnings", ["Cluster", "Page"], rows, note=_MOST_ERRORS)
        return self._written(page, extra)

    # -- of one ResourceManager --------------------------------------------------------------------------------------

    async def _application(self, text: str, caller: Caller, extra: Headers) -> Answer:
        return self._written(await self._pages.application(text, caller), extra)

    async def _attempt(self, text: str, _: Caller, extra: Headers) -> Answer:
        attempt = _parsed(ApplicationAttemptId.parse, text)
        return await self._redirected("appattempt", str(attempt), self._home(attempt.application), extra)

    async def _container(self, text: str, _: Caller, extra: Headers) -> Answer:
        container = _parsed(ContainerId.parse, text)
        place = self._backend.routing.place_of_container(container)
        return await self._redirected("container", str(container), place, extra)

    def _of_home(self, page: str) -> _Page:
        async def answer(text: str, _: Caller, extra: Headers) -> Answer:
            application = _parsed(ApplicationId.parse, text)
            return await self._redirected(page, str(application), self._home(application), extra)

        return answer

    async def _home(self, application: ApplicationId) -> SubClusterId:
        return await self._backend.routing.home_of(application)

    async def _redirected(self, page: str, name: str, place: Awaitable[SubClusterId], extra: Headers) -> Answer:
        """Send the browser to a page of one ResourceManager, under the id as it was understood here."""
        try:
            web = self._webs.get(await place)
        except NotFoundError as exc:
            return self._written(self._pages.rows(name, [], [], note=str(exc)), extra, 404)
        except HeddleError as exc:
            return self._written(self._pages.rows(name, [], [], note=str(exc)), extra, 503)
        if web is None:  # it waits for its queue's turn
            note = "The application has no cluster yet: it waits for its queue's turn."
            return self._written(self._pages.rows(name, [], [], note=note), extra, 404)
        return self._writer.redirect(f"{web.rstrip('/')}/cluster/{page}/{name}", extra=extra)


def _named(text: str, known: frozenset[str]) -> frozenset[str]:
    """States in a path, separated by commas, in any case.

    Raises:
        JavaError: 400 for one that there is not.
    """
    words = [word.strip().upper() for word in text.strip("/").split(",") if word.strip()]
    wanted = frozenset(_ACTIVE.get(word, word) if "RUNNING" in known else word for word in words)
    unknown = sorted(wanted - known)
    if unknown:
        raise JavaError.bad_request(f"{escape(unknown[0])} is no state; there are {', '.join(sorted(known))}")
    return wanted


def _parsed(parse: Callable[[str], T], text: str) -> T:
    """An id of a path.

    Raises:
        JavaError: 400 for what is none.
    """
    try:
        return parse(text.strip("/"))
    except MalformedIdError as exc:
        raise JavaError.bad_request(str(exc)) from exc
