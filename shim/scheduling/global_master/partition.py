"""A partition of the global view: the nodes of one cluster that one Global Master owns, as bit-vectors."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shim.domain.ids import GlobalMasterId, LocalMasterId

__all__ = ["Partition", "pack_bits"]


@dataclass(slots=True)
class Partition:
    """The nodes of one Local Master that belong to one Global Master.

    Attributes:
        start: First row.
        size: Number of rows.
        vectors: For each property, the bits of the nodes that have it.
        fits: For each shape, the bits of the nodes where it fits.
    """

    owner: GlobalMasterId
    local_master: LocalMasterId
    start: int
    size: int
    vectors: dict[str, int] = field(default_factory=dict)
    fits: list[int] = field(default_factory=list)

    @property
    def all_bits(self) -> int:
        """One bit for each node."""
        return (1 << self.size) - 1


def pack_bits(flags: NDArray[np.bool_]) -> int:
    """Bit-vector of some flags.

    Parameters
    ----------
    flags : bool array of shape (n_nodes,)
        Empty gives 0.

    Returns:
    -------
    int
        Bit i is ``flags[i]``.
    """
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")
