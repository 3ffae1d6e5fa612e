"""A policy store for tests, in memory, that keeps the contract."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from shim.errors import VersionConflictError
from shim.ports.policy_store import PolicyVersion

__all__ = ["InMemoryPolicyStore"]


@dataclass(slots=True)
class InMemoryPolicyStore:
    """Keeps every version in this process."""

    now_s: Callable[[], float] = time.time
    _versions: list[PolicyVersion] = field(default_factory=list)

    async def apply(self, version: int, text: str, *, by: str, note: str) -> PolicyVersion:
        """Keep a new one."""
        stands = self._versions[-1] if self._versions else None
        if stands is not None and (stands.version, stands.text, stands.applied_by) == (version, text, by):
            return stands
        if version != len(self._versions) + 1:
            raise VersionConflictError(f"the newest policy is version {len(self._versions)}")
        self._versions.append(PolicyVersion(version, text, by, int(self.now_s() * 1000), note))
        return self._versions[-1]

    async def newest(self) -> PolicyVersion | None:
        """The one that holds."""
        return self._versions[-1] if self._versions else None

    async def history(self) -> Sequence[PolicyVersion]:
        """All, newest first."""
        return self._versions[::-1]
