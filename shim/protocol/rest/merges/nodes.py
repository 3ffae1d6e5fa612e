"""`GET /nodes` of several sub-clusters."""

from collections.abc import Sequence

import msgspec

from shim.protocol.rest.merges.fields import PartialDocument
from shim.protocol.rest.merges.lists import join_list, raw_items
from shim.protocol.rest.wire_values import WireNumber, whole

__all__ = ["merge_nodes"]


class _Node(msgspec.Struct):
    id: str
    state: str
    lastHealthUpdate: WireNumber = 0  # noqa: N815 - the wire's name


def merge_nodes(parts: Sequence[PartialDocument], *, states: frozenset[str] | None) -> bytes:
    """Join the nodes that are in one of the states; None for all.

    A node that several sub-clusters list has moved: the one that heard of it last is believed.
    """
    if len(parts) == 1 and states is None:
        return parts[0].document
    newest: dict[str, tuple[int, bytes]] = {}
    for part in parts:
        for raw in raw_items(part.document, "nodes", "node"):
            node = msgspec.json.decode(raw, type=_Node, strict=False)
            if states is not None and node.state not in states:
                continue
            known, heard_at = newest.get(node.id), whole(node.lastHealthUpdate)
            if known is None or known[0] < heard_at:
                newest[node.id] = (heard_at, raw)
    return join_list("nodes", "node", (raw for _, raw in newest.values()))
