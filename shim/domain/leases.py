"""Leases: who may act as what, until when."""

from dataclasses import dataclass

__all__ = ["Lease"]


@dataclass(frozen=True, slots=True)
class Lease:
    """A role that one process holds for a while.

    Attributes:
        name: The role: `gm/<id>`, `lm/<sub-cluster>`, `queue/<path>`, `door/<id>`.
        holder: Life of the process that holds it; a restarted process has another.
        address: Where the holder is reached: `host:port`.
        fence: Grows with each new holder. What an earlier holder still says under a smaller fence is not believed.
        remaining_s: Until it ends, by the store's clock, at the moment it was read; 0 or less: it has ended.
    """

    name: str
    holder: str
    address: str
    fence: int
    remaining_s: float

    @property
    def is_live(self) -> bool:
        """True if the lease had not ended when it was read."""
        return self.remaining_s > 0
