"""`LeaseStore` over SQL, in the database of the state store.

Operations of the lease store, each as one function on a connection that is inside a transaction.

Time is the database's: the machines that compete for a lease need not agree on theirs.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, bindparam, case, func, literal_column, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.dml import ReturningInsert

from shim.ports.lease_store import Lease
from shim.store.executors import Executor
from shim.store.tables import leases


class SqlLeaseStore:
    """Leases in SQL; implements `shim.ports.LeaseStore`. Closing the state store closes it."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def acquire(self, name: str, *, holder: str, address: str, for_s: float) -> Lease | None:
        return await self._executor.write(partial(acquire, name=name, holder=holder, address=address, for_s=for_s))

    async def acquire_all(self, names: Collection[str], *, holder: str, address: str, for_s: float) -> Sequence[Lease]:
        return await self._executor.write(
            partial(acquire_all, names=tuple(names), holder=holder, address=address, for_s=for_s)
        )

    async def release(self, name: str, *, holder: str) -> None:
        await self._executor.write(partial(release, name=name, holder=holder))

    async def release_all(self, *, holder: str) -> None:
        await self._executor.write(partial(release_all, holder=holder))

    async def leases(self, prefix: str = "") -> Sequence[Lease]:
        return await self._executor.read(partial(list_leases, prefix=prefix))


_C = leases.c
_NOW: Mapping[str, ColumnElement[float]] = {
    "sqlite": literal_column("((julianday('now') - 2440587.5) * 86400.0)"),
    "postgresql": literal_column("extract(epoch FROM clock_timestamp())::double precision"),
}
_DIALECT_INSERT: Mapping[str, Callable[[Table], sqlite.Insert | postgresql.Insert]] = {
    "sqlite": sqlite.insert,
    "postgresql": postgresql.insert,
}


def _free_or_ours(dialect: str) -> ReturningInsert[Any]:
    """Insert a lease; prolong ours; take the place of one that has ended."""
    now = _NOW[dialect]
    insert = _DIALECT_INSERT[dialect](leases).values(
        name=bindparam("name"),
        holder=bindparam("holder"),
        address=bindparam("address"),
        fence=1,
        ends_at_s=now + bindparam("for_s"),
    )
    new = insert.excluded
    return insert.on_conflict_do_update(
        index_elements=["name"],
        set_={
            "holder": new.holder,
            "address": new.address,
            "fence": _C.fence + case((_C.holder == new.holder, 0), else_=1),
            "ends_at_s": new.ends_at_s,
        },
        where=or_(_C.holder == new.holder, _C.ends_at_s <= now),
    ).returning(_C.fence)


_ACQUIRE = {dialect: _free_or_ours(dialect) for dialect in _DIALECT_INSERT}
_RELEASE = (
    update(leases)
    .where(_C.name == bindparam("of_name"), _C.holder == bindparam("of_holder"))
    .values(ends_at_s=0.0, holder="")
)
_RELEASE_ALL = update(leases).where(_C.holder == bindparam("of_holder")).values(ends_at_s=0.0, holder="")
_LIST = {
    dialect: select(_C.name, _C.holder, _C.address, _C.fence, (_C.ends_at_s - now).label("remaining_s"))
    .where(func.substr(_C.name, 1, bindparam("prefix_length")) == bindparam("prefix"))
    .order_by(_C.name)
    for dialect, now in _NOW.items()
}


def acquire(connection: Connection, *, name: str, holder: str, address: str, for_s: float) -> Lease | None:
    """Take or prolong a lease; None if another one holds it."""
    values = {"name": name, "holder": holder, "address": address, "for_s": for_s}
    fence = connection.execute(_ACQUIRE[connection.dialect.name], values).scalar_one_or_none()
    if fence is None:
        return None
    return Lease(name=name, holder=holder, address=address, fence=int(fence), remaining_s=for_s)


def acquire_all(
    connection: Connection, *, names: Collection[str], holder: str, address: str, for_s: float
) -> Sequence[Lease]:
    # always in the same order: two that want the same leases at once then wait, instead of each for the other
    asked = (acquire(connection, name=name, holder=holder, address=address, for_s=for_s) for name in sorted(names))
    return [lease for lease in asked if lease is not None]


def release(connection: Connection, *, name: str, holder: str) -> None:
    """End a lease of this holder now, and keep its fence for the next."""
    connection.execute(_RELEASE, {"of_name": name, "of_holder": holder})


def release_all(connection: Connection, *, holder: str) -> None:
    """End every lease of this holder now, and keep their fences for the next."""
    connection.execute(_RELEASE_ALL, {"of_holder": holder})


def list_leases(connection: Connection, *, prefix: str) -> Sequence[Lease]:
    rows = connection.execute(_LIST[connection.dialect.name], {"prefix": prefix, "prefix_length": len(prefix)}).all()
    return [Lease(row.name, row.holder, row.address, row.fence, float(row.remaining_s)) for row in rows]
