"""`TokenStore` over SQL, in the database of the state store."""

from functools import partial

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from shim.ports.token_store import StoredToken, TooManyTokensError
from shim.store.executors import Executor
from shim.store.tables import delegation_tokens

__all__ = ["SqlTokenStore"]

_C = delegation_tokens.c
_FIND = select(delegation_tokens).where(_C.key == bindparam("wanted"))
_RENEW = update(delegation_tokens).where(_C.key == bindparam("wanted")).values(good_until_ms=bindparam("until_ms"))
_REMOVE = delete(delegation_tokens).where(_C.key == bindparam("wanted"))
_PURGE = delete(delegation_tokens).where(_C.good_until_ms <= bindparam("now_ms"))
_COUNT = select(func.count()).select_from(delegation_tokens)
_COUNT_OF_OWNER = _COUNT.where(_C.owner == bindparam("of_owner"))


class SqlTokenStore:
    """Tokens in SQL; implements `shim.ports.TokenStore`. Closing the state store closes it."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def insert(self, token: StoredToken, *, now_ms: int, most_of_owner: int, most: int) -> None:
        """Keep a new token, and forget those that are over."""
        await self._executor.write(partial(_insert, token=token, now_ms=now_ms, most_of_owner=most_of_owner, most=most))

    async def find(self, key: str) -> StoredToken | None:
        """The token, if it was issued and not cancelled."""
        return await self._executor.read(partial(_find, key=key))

    async def renew(self, key: str, *, good_until_ms: int) -> bool:
        """Let a token be good for longer."""
        return await self._executor.write(partial(_renew, key=key, good_until_ms=good_until_ms))

    async def remove(self, key: str) -> bool:
        """Forget a token."""
        return await self._executor.write(partial(_remove, key=key))


def _insert(connection: Connection, *, token: StoredToken, now_ms: int, most_of_owner: int, most: int) -> None:
    """Count before anything is written: what raises has written nothing."""
    if _find(connection, key=token.key) is not None:
        return  # as after an answer of the database that was lost
    live = _C.good_until_ms > now_ms
    of_owner = connection.execute(_COUNT_OF_OWNER.where(live), {"of_owner": token.owner}).scalar_one()
    if of_owner >= most_of_owner:
        raise TooManyTokensError(f"{token.owner} has {of_owner} delegation tokens: cancel those that are not needed")
    if connection.execute(_COUNT.where(live)).scalar_one() >= most:
        raise TooManyTokensError(f"there are {most} delegation tokens, which is as many as may be")
    connection.execute(_PURGE, {"now_ms": now_ms})
    connection.execute(
        insert(delegation_tokens).values(
            key=token.key, owner=token.owner, is_proven=token.is_proven, good_until_ms=token.good_until_ms
        )
    )


def _find(connection: Connection, *, key: str) -> StoredToken | None:
    row = connection.execute(_FIND, {"wanted": key}).first()
    return None if row is None else StoredToken(row.key, row.owner, row.is_proven, row.good_until_ms)


def _renew(connection: Connection, *, key: str, good_until_ms: int) -> bool:
    return bool(connection.execute(_RENEW, {"wanted": key, "until_ms": good_until_ms}).rowcount)


def _remove(connection: Connection, *, key: str) -> bool:
    return bool(connection.execute(_REMOVE, {"wanted": key}).rowcount)
