"""Lists whose items are carried as the bytes that they are."""

from collections.abc import Iterable

import msgspec

__all__ = ["join_list", "raw_items", "without_members"]

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
    items = msgspec.json.decode(inner, type=_Members).get(item)
    if items is None or bytes(items) == b"null":
        return []
    if bytes(items)[:1] == b"[":
        return [bytes(found) for found in msgspec.json.decode(items, type=list[msgspec.Raw])]
    return [bytes(items)]


def join_list(root: str, item: str, items: Iterable[bytes]) -> bytes:
    """`{root: {item: [...]}}` from untouched items; of none, as Hadoop 3 writes it: `{root: {}}`."""
    joined = b",".join(items)
    if not joined:
        return b'{"%b":{}}' % root.encode()
    return b'{"%b":{"%b":[%b]}}' % (root.encode(), item.encode(), joined)


def without_members(document: bytes, *, without: frozenset[str]) -> bytes:
    """A JSON object less some of its members; what stays is not rewritten."""
    members = msgspec.json.decode(document, type=_Members)
    kept = {name: value for name, value in members.items() if name not in without}
    return document if len(kept) == len(members) else msgspec.json.encode(kept)
