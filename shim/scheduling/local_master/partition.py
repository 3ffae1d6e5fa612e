"""Division of a Local Master's nodes into partitions, one for each Global Master (Megha, section IV-A)."""

from collections.abc import Sequence
from itertools import chain, repeat

from shim.domain.ids import GlobalMasterId

__all__ = ["divide_nodes"]


def divide_nodes(n_nodes: int, global_masters: Sequence[GlobalMasterId]) -> tuple[GlobalMasterId, ...]:
    """Give each node an owner: contiguous ranges whose sizes differ by at most one, in the order of the Global Masters.

    The result depends on nothing but its arguments, so that an active Local Master and its standby agree.

    Raises:
        ValueError: If there is no Global Master.
    """
    if not global_masters:
        raise ValueError("nodes cannot be divided among no Global Masters")
    size, larger = divmod(n_nodes, len(global_masters))
    return tuple(
        chain.from_iterable(repeat(owner, size + (place < larger)) for place, owner in enumerate(global_masters))
    )
