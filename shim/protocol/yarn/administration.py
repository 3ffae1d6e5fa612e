"""Administration of several clusters as of one: parts of a request for each cluster, and answers made into one."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeVar

from google.protobuf.message import Message

from shim.domain.ids import NodeId
from shim.protocol.proto.messages import (
    CheckForDecommissioningNodesResponseProto,
    GetGroupsForUserResponseProto,
    NodeIdProto,
    NodesToAttributesMappingRequestProto,
    ReplaceLabelsOnNodeRequestProto,
    UpdateNodeResourceRequestProto,
)

_O = TypeVar("_O", bound=Hashable)

ANY_PORT = 0
"""Port of a node id that means every NodeManager of the host."""


def _by_id(message: NodeIdProto) -> NodeId:
    return NodeId(message.host, message.port)


_NODES: Mapping[type[Message], tuple[str, Callable[[Any], NodeId]]] = {
    UpdateNodeResourceRequestProto: ("node_resource_map", lambda item: _by_id(item.node_id)),
    ReplaceLabelsOnNodeRequestProto: ("nodeToLabels", lambda item: _by_id(item.nodeId)),
    NodesToAttributesMappingRequestProto: ("nodeToAttributes", lambda item: NodeId(item.node, ANY_PORT)),
}
"""Requests about nodes: the field that lists them, and which node an item is about."""


def split_by_node(request: Message, owner_of: Callable[[NodeId], _O]) -> dict[_O, Message]:
    """A request about nodes as one request for each owner, everything else in it kept."""
    field, node_of = _NODES[type(request)]
    parts: dict[_O, Message] = {}
    for item in getattr(request, field):
        owner = owner_of(node_of(item))
        if owner not in parts:
            parts[owner] = type(request)()
            parts[owner].CopyFrom(request)
            parts[owner].ClearField(field)
        getattr(parts[owner], field).append(item)
    return parts


def named_subcluster(request: Message) -> str:
    """The sub-cluster that a request of Hadoop 3.4 or later is for; empty for all, and for requests that name none."""
    return str(getattr(request, "sub_cluster_id", ""))


def _groups(payloads: Iterable[bytes]) -> Message:
    told = (group for payload in payloads for group in GetGroupsForUserResponseProto.FromString(payload).groups)
    return GetGroupsForUserResponseProto(groups=dict.fromkeys(told))


def _decommissioning(payloads: Iterable[bytes]) -> Message:
    whole = CheckForDecommissioningNodesResponseProto()
    for payload in payloads:
        whole.MergeFromString(payload)
    return whole


ADMIN_MERGES: Mapping[str, Callable[[Iterable[bytes]], Message]] = {
    "getGroupsForUser": _groups,
    "checkForDecommissioningNodes": _decommissioning,
}
"""How the clusters' answers become one, by the method's name."""
