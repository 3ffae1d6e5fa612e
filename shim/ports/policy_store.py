"""Store of the versions of the policy."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

__all__ = ["PolicyStore", "PolicyVersion"]


@dataclass(frozen=True, slots=True)
class PolicyVersion:
    """A policy as it was applied.

    Attributes:
        version: 1 for the first; each is one more than the one before.
        text: The policy file, byte for byte.
        note: What was said about it.
    """

    version: int
    text: str
    applied_by: str
    applied_at_ms: int
    note: str = ""


class PolicyStore(Protocol):
    """Every policy that was ever applied. Both methods raise `StoreUnavailableError` when the store fails."""

    async def apply(self, version: int, text: str, *, by: str, note: str) -> PolicyVersion:
        """Keep a new policy; nobody else may have kept that version.

        Raises:
            VersionConflictError: If somebody has: look at it first.
        """
        ...

    async def newest(self) -> PolicyVersion | None:
        """The one that holds; None if none was ever applied."""
        ...

    async def history(self) -> Sequence[PolicyVersion]:
        """All, newest first."""
        ...
