"""A partition of the global view: the nodes of one cluster that one Global Master owns, as bit-vectors."""

from dataclasses import dataclass

from shim.domain.ids import GlobalMasterId, LocalMasterId
from shim.scheduling.node_index import Cell

__all__ = ["Partition"]

_NOBODY, _NOWHERE = GlobalMasterId(""), LocalMasterId("")


@dataclass(slots=True)
class Partition(Cell):
    """The nodes of one Local Master that belong to one Global Master."""

    owner: GlobalMasterId = _NOBODY
    local_master: LocalMasterId = _NOWHERE
