"""YARN's nodes and requests in the words of the scheduling core: properties of nodes, needs of tasks.

A property is a string with the kind in front: `label:gpu`, `attribute:os=linux`, `host:h1`, `rack:/r1`, `tag:hbase`.
As in YARN a node belongs to one label partition, the empty one if it has no label, and a request without a label
expression means that partition: so every node and every need has exactly one label.

Source: `org.apache.hadoop.yarn.api.records.{ResourceRequest,SchedulingRequest}`, `NodeLabel`, `NodeAttribute`.
"""

from collections.abc import Iterable, Mapping, Sequence

from shim.domain.messages import Need
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import NodeReport

__all__ = ["ANY_PLACE", "amounts_of", "need_of", "node_properties"]

ANY_PLACE = "*"
"""Name of a request that goes anywhere; `ResourceRequest.ANY`."""


def amounts_of(resource: ResourceVector, types: Sequence[str]) -> tuple[int, ...]:
    """Amounts in the order: memory in MiB, virtual cores, then the further types by name; 0 for what is not there."""
    return (resource.memory_mib, resource.vcores, *(resource.others.get(name, 0) for name in types))


def node_properties(
    report: NodeReport, attributes: Mapping[str, str] | None = None, tags: Iterable[str] = ()
) -> frozenset[str]:
    """Properties of a node.

    Args:
        report: What its ResourceManager says of it.
        attributes: Its node attributes by full name.
        tags: Allocation tags of the containers that run on it.
    """
    return frozenset(
        {
            f"host:{report.node.host}",
            f"rack:{report.rack}",
            *(f"label:{label}" for label in report.labels or ("",)),
            *(f"attribute:{name}={value}" for name, value in (attributes or {}).items()),
            *(f"tag:{tag}" for tag in tags),
        }
    )


def need_of(
    demand: tuple[int, ...],
    *,
    place: str = ANY_PLACE,
    label: str = "",
    attributes: Mapping[str, str] | None = None,
    near_tags: Iterable[str] = (),
    far_from_tags: Iterable[str] = (),
) -> Need:
    """What a request needs.

    Args:
        demand: Amount of each resource type, see `amounts_of`.
        place: A host, a rack (with its leading `/`) or `*`; to be given only when the request may not go elsewhere.
        label: Node label expression.
        attributes: Node attributes that the node must have.
        near_tags: Affinity within the node: allocation tags that must be there.
        far_from_tags: Anti-affinity within the node: allocation tags that must not.
    """
    requires = {f"label:{label}", *(f"attribute:{name}={value}" for name, value in (attributes or {}).items())}
    requires.update(f"tag:{tag}" for tag in near_tags)
    if place != ANY_PLACE:
        requires.add(f"rack:{place}" if place.startswith("/") else f"host:{place}")
    return Need(demand, frozenset(requires), frozenset(f"tag:{tag}" for tag in far_from_tags))
