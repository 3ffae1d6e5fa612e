"""`PolicyStore` over SQL, in the database of the state store."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, insert, select

from shim.errors import VersionConflictError
from shim.ports.policy_store import PolicyVersion
from shim.store.executors import Executor
from shim.store.tables import policies

__all__ = ["SqlPolicyStore", "newest_of"]

_NEWEST_FIRST = select(policies).order_by(policies.c.version.desc())


class SqlPolicyStore:
    """Policies in SQL; implements `shim.ports.PolicyStore`. Closing the state store closes it."""

    def __init__(self, executor: Executor, *, now_s: Callable[[], float]) -> None:
        self._executor = executor
        self._now_s = now_s

    async def apply(self, version: int, text: str, *, by: str, note: str) -> PolicyVersion:
        """Keep a new policy under a version that nobody else has taken."""
        new = PolicyVersion(version, text, by, int(self._now_s() * 1000), note)
        return await self._executor.write(partial(_apply, new=new))

    async def newest(self) -> PolicyVersion | None:
        """The one that holds."""
        return await self._executor.read(newest_of)

    async def history(self) -> Sequence[PolicyVersion]:
        """All, newest first."""
        return await self._executor.read(_history)


def _apply(connection: Connection, *, new: PolicyVersion) -> PolicyVersion:
    """Insert, if the version before it is the newest; the same again, as after a lost answer, changes nothing."""
    stands = newest_of(connection)
    if (
        stands is not None
        and stands.version == new.version
        and (stands.text, stands.applied_by)
        == (
            new.text,
            new.applied_by,
        )
    ):
        return stands
    known = 0 if stands is None else stands.version
    if new.version != known + 1:
        raise VersionConflictError(f"the newest policy is version {known}: look at it before you apply another")
    connection.execute(
        insert(policies).values(
            version=new.version,
            text=new.text,
            applied_by=new.applied_by,
            applied_at_ms=new.applied_at_ms,
            note=new.note,
        )
    )
    return new


def newest_of(connection: Connection) -> PolicyVersion | None:
    """The policy that holds, as a connection sees it."""
    row = connection.execute(_NEWEST_FIRST.limit(1)).first()
    return None if row is None else _version(row)


def _history(connection: Connection) -> Sequence[PolicyVersion]:
    return [_version(row) for row in connection.execute(_NEWEST_FIRST)]


def _version(row: Row[Any]) -> PolicyVersion:
    return PolicyVersion(row.version, row.text, row.applied_by, row.applied_at_ms, row.note)
