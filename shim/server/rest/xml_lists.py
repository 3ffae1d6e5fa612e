"""Long lists in XML: an item is written once while it does not change, and others get their turn meanwhile."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable

from shim.protocol.rest.xml_writer import XML_HEAD, item_to_xml

__all__ = ["XMLLists"]

_MOST_BYTES = 64 * 1024 * 1024
_AT_A_TIME = 50


class XMLLists:
    """Writes lists of items; remembers the elements of items by their bytes."""

    def __init__(self) -> None:
        self._elements: OrderedDict[bytes, bytes] = OrderedDict()
        self._bytes = 0

    async def write(self, root: str, item: str, items: Iterable[bytes]) -> bytes:
        """`<root><item>...</item>...</root>`; of none an empty root element."""
        parts: list[bytes] = []
        made = 0
        for raw in items:
            element = self._elements.get(raw)
            if element is None:
                element = item_to_xml(raw, item)
                self._remember(raw, element)
                made += 1
                if made % _AT_A_TIME == 0:
                    await asyncio.sleep(0)
            parts.append(element)
        head = XML_HEAD.encode()
        if not parts:
            return b"%b<%b/>" % (head, root.encode())
        return b"".join((head, b"<%b>" % root.encode(), *parts, b"</%b>" % root.encode()))

    def _remember(self, raw: bytes, element: bytes) -> None:
        self._elements[raw] = element
        self._bytes += len(raw) + len(element)
        while self._bytes > _MOST_BYTES:
            oldest, dropped = self._elements.popitem(last=False)
            self._bytes -= len(oldest) + len(dropped)
