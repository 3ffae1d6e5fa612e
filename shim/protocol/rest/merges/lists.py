"""Lists whose items are carried as the bytes that they are."""

from collections.abc import Iterable, Sequence

import msgspec

from shim.protocol.rest.merges.fields import PartialDocument

_Members = dict[str, msgspec.Raw]


def raw_items(document: bytes, root: str, item: str) -> list[bytes]:
    """The items of `{root: {item: [...]}}`, untouched.

    Versions differ in how they write a list of none (`{}`, null, absent) and of one (the bare item): all are read.

    Raises:
        msgspec.DecodeError: If the document is not a JSON object of that shape.
    """
    inner = msgspec.json.decode(document, type=_Members).get(root)
    if inner is None or bytes(inner) == b"null":
        return []
    return _items_of(msgspec.json.decode(inner, type=_Members).get(item))


def _items_of(value: msgspec.Raw | None) -> list[bytes]:
    """The items of a list, which may be absent, null, or the bare item."""
    if value is None or bytes(value) == b"null":
        return []
    if bytes(value)[:1] == b"[":
        return [bytes(found) for found in msgspec.json.decode(value, type=list[msgspec.Raw])]
    return [bytes(value)]


def join_list(root: str, item: str, items: Iterable[bytes]) -> bytes:
    """`{root: {item: [...]}}` from untouched items; of none, as Hadoop 3 writes it: `{root: {}}`."""
    parts = list(items)
    if not parts:
        return b'{"%b":{}}' % root.encode()
    parts[0] = b'{"%b":{"%b":[%b' % (root.encode(), item.encode(), parts[0])  # so that megabytes are copied once
    parts[-1] += b"]}}"
    return b",".join(parts)


def without_members(document: bytes, *, without: frozenset[str]) -> bytes:
    """A JSON object less some of its members; what stays is not rewritten."""
    members = msgspec.json.decode(document, type=_Members)
    kept = {name: value for name, value in members.items() if name not in without}
    return document if len(kept) == len(members) else msgspec.json.encode(kept)


def merge_containers(documents: Iterable[bytes]) -> bytes:
    """`GET .../containers` of several sub-clusters: `{container: [...]}`, without a root element."""
    items = [item for raw in documents for item in _items_of(msgspec.json.decode(raw, type=_Members).get("container"))]
    return b'{"container":[%b]}' % b",".join(items) if items else b"{}"


def merge_reservations(parts: Sequence[PartialDocument]) -> bytes:
    """`GET /reservation/list` of several sub-clusters; a "mapped" object: one reservation is the bare item."""
    if len(parts) == 1:
        return parts[0].document
    items: list[bytes] = []
    for part in parts:
        items += _items_of(msgspec.json.decode(part.document, type=_Members).get("reservations"))
    if not items:
        return b"{}"
    return b'{"reservations":%b}' % (items[0] if len(items) == 1 else b"[%b]" % b",".join(items))
