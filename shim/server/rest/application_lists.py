"""Lists and counts of applications: by columns where all callers see the same, by a walk where access lists are on."""

from collections.abc import Iterable

from shim.domain.access_lists import Viewer
from shim.domain.queues import SchedulerType
from shim.federation.freshness import Freshness
from shim.protocol.rest.application_search import application_statistics, column_statistics, search
from shim.protocol.rest.filters import ApplicationFilter, parse_application_filter
from shim.protocol.rest.negotiation import Representation, negotiate
from shim.protocol.rest.queries import Query
from shim.server.rest.answers import Document
from shim.server.rest.backend import Backend
from shim.server.rest.item_forms import Form, ItemForms

__all__ = ["ApplicationLists"]


class ApplicationLists:
    """Answers to `/apps` and `/appstatistics`.

    Args:
        backend: The use cases.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._forms = ItemForms()

    async def applications(self, query: Query, accept: str, viewer: Viewer) -> tuple[Document, Freshness]:
        """The applications that a query asks for.

        Args:
            query: Decoded parameters.
            accept: Which representations the caller reads.
            viewer: Who asks.

        Raises:
            JavaError: For a value that the ResourceManager refuses.
        """
        wanted = parse_application_filter(
            query,
            find_queue=self._backend.find_queue,
            unknown_queue_is_error=self._has_capacity_scheduler(),
        )
        items, left_out, freshness = await self._found(wanted, viewer)
        chosen = negotiate(accept)
        form = Form(chosen if isinstance(chosen, Representation) else Representation.JSON, left_out)
        return await self._forms.write("apps", "app", items, form), freshness

    async def _found(
        self, wanted: ApplicationFilter, viewer: Viewer
    ) -> tuple[Iterable[bytes], frozenset[str], Freshness]:
        listed = await self._backend.applications.columns(viewer)
        if listed is not None:
            skews_ms = self._backend.skews_ms()
            rows, left_out = search(listed.columns, wanted, skews_ms=skews_ms, visible=listed.visible)
            return listed.raws(rows), left_out, listed.freshness
        read = await self._backend.applications.applications(viewer=viewer)
        raws = {document.summary.application_id: document.raw for document in read.documents}
        summaries = [document.summary for document in read.documents]
        found, left_out = wanted.select(summaries, skews_ms=self._backend.skews_ms())
        return [raws[item.application_id] for item in found], left_out, read.freshness

    async def statistics(self, query: Query, viewer: Viewer) -> tuple[Document, Freshness]:
        """Number of applications of each state.

        Raises:
            JavaError: For a value that the ResourceManager refuses.
        """
        listed = await self._backend.applications.columns(viewer)
        if listed is not None:
            return Document(column_statistics(query, listed.columns)), listed.freshness
        read = await self._backend.applications.applications(viewer=viewer)
        body = application_statistics(query, [document.summary for document in read.documents])
        return Document(body), read.freshness

    def _has_capacity_scheduler(self) -> bool:
        kinds = [self._backend.view.scheduler(item) for item in self._backend.view.subclusters]
        known = [kind for kind in kinds if kind]
        return not known or SchedulerType.CAPACITY in known
