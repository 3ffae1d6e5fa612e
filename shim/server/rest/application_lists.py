"""Lists and counts of applications: by columns where all callers see the same, by a walk where access lists are on.

Lists of items in every form: an item is written once while it does not change, and joined as bytes from then on.

As the ResourceManager told it, an item is JSON and whole. In XML, or without some of its members (`deSelects`), it is
written when first asked for; other requests get their turn meanwhile. An item that cannot be written in a form is left
out of it, and counted: a cluster may tell members that XML has no names for.
"""

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import cast

from shim.domain.access_lists import Viewer
from shim.domain.queues import SchedulerType
from shim.federation.freshness import Freshness
from shim.protocol.rest.application_search import application_statistics, column_statistics, search
from shim.protocol.rest.filters import ApplicationFilter, parse_application_filter
from shim.protocol.rest.merges import join_list, without_members
from shim.protocol.rest.negotiation import Representation, negotiate
from shim.protocol.rest.queries import Query
from shim.protocol.rest.xml_writer import XML_HEAD, NotXMLError, item_to_xml
from shim.server.rest.answers import Document
from shim.server.rest.backend import Backend


class ApplicationLists:
    """Answers to `/apps` and `/appstatistics`."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._forms = ItemForms()

    async def applications(self, query: Query, accept: str, viewer: Viewer) -> tuple[Document, Freshness]:
        """The applications that a query asks for.

        Args:
            query: Decoded parameters.

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


_MOST_BYTES = 64 * 1024 * 1024
_AT_A_TIME = 50
"""Items that are written before others get their turn: about 3 ms."""
_UNPACKED_AT_A_TIME = 200
"""The same of items that may have to be unpacked first, each in a page of its own."""


@dataclass(frozen=True, slots=True)
class Form:
    """Form of shown items.

    Attributes:
        without: Members that are left out of each.
    """

    representation: Representation = Representation.JSON
    without: frozenset[str] = frozenset()


_AS_TOLD = Form()


class ItemForms:
    """Writes lists of items; remembers what it made of items by their bytes."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._made: defaultdict[Form, OrderedDict[bytes, bytes]] = defaultdict(OrderedDict)
        self._bytes = 0
        self._most_bytes = most_bytes

    async def write(self, root: str, item: str, items: Iterable[bytes], form: Form) -> Document:
        """A document with one list; it waits only if more than a few items have to be written.

        Args:
            root: Name of the document's only member, or element.
            items: JSON objects.
        """
        if form == _AS_TOLD:
            return Document(join_list(root, item, await _taken(items)))
        written = await self._shown(item, items, form)
        shown = [each for each in written if each]
        left_out = len(written) - len(shown)
        if form.representation is Representation.JSON:
            return Document(join_list(root, item, shown), left_out=left_out)
        return Document(b"", xml=_joined_xml(root, shown), left_out=left_out)

    async def _shown(self, item: str, items: Iterable[bytes], form: Form) -> list[bytes]:
        raws, known = await _taken(items), self._made[form]  # a copy: they may change while others have their turn
        shown = list(map(known.get, raws))
        missing = [place for place, written in enumerate(shown) if written is None]
        for number, place in enumerate(missing, 1):
            raw = raws[place]
            shown[place] = written = _written(raw, item, form)
            self._remember(form, raw, written)
            if number % _AT_A_TIME == 0:
                await asyncio.sleep(0)
        return cast("list[bytes]", shown)

    def _remember(self, form: Form, raw: bytes, written: bytes) -> None:
        self._bytes += len(raw) + len(written) if raw not in self._made[form] else 0
        self._made[form][raw] = written
        while self._bytes > self._most_bytes:
            oldest_of = self._made[form] or next(filter(None, self._made.values()))
            oldest, dropped = oldest_of.popitem(last=False)
            self._bytes -= len(oldest) + len(dropped)


async def _taken(items: Iterable[bytes]) -> list[bytes]:
    """All items: those that are packed are unpacked by this."""
    unread = iter(items)
    taken: list[bytes] = []
    while some := list(islice(unread, _UNPACKED_AT_A_TIME)):
        if taken:
            await asyncio.sleep(0)
        taken += some
    return taken


def _written(raw: bytes, item: str, form: Form) -> bytes:
    """One item; empty for what cannot be written so."""
    shown = without_members(raw, without=form.without) if form.without else raw
    if form.representation is Representation.JSON:
        return shown
    try:
        return item_to_xml(shown, item)
    except NotXMLError:
        return b""


def _joined_xml(root: str, elements: Iterable[bytes]) -> bytes:
    """`<root><item>...</item>...</root>`; of none an empty root element."""
    head, name = XML_HEAD.encode(), root.encode()
    parts = list(elements)
    if not parts:
        return b"%b<%b/>" % (head, name)
    return b"".join((head, b"<%b>" % name, *parts, b"</%b>" % name))
