"""`APITokenStore` over SQL, in the database of the state store."""

from collections.abc import Sequence
from functools import partial

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select

from shim.domain.token_scopes import TokenScope
from shim.ports.api_token_store import APIToken
from shim.ports.token_store import TooManyTokensError
from shim.store.executors import Executor
from shim.store.tables import api_tokens

__all__ = ["SqlAPITokenStore"]

_C = api_tokens.c
_FIND = select(api_tokens).where(_C.id == bindparam("wanted"))
_NEWEST_FIRST = select(api_tokens).order_by(_C.created_at_ms.desc(), _C.id)
_PURGE = delete(api_tokens).where(_C.good_until_ms <= bindparam("now_ms"))
_COUNT = select(func.count()).select_from(api_tokens)


class SqlAPITokenStore:
    """API tokens in SQL; implements `shim.ports.APITokenStore`. Closing the state store closes it."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def insert(self, token: APIToken, *, most_of_owner: int, most: int) -> None:
        """Keep a new token, and forget those that are over."""
        await self._executor.write(partial(_insert, token=token, most_of_owner=most_of_owner, most=most))

    async def find(self, token_id: str) -> APIToken | None:
        """The token, if it was created and not revoked."""
        return await self._executor.read(partial(_find, token_id=token_id))

    async def of(self, owner: str | None) -> Sequence[APIToken]:
        """Tokens, the newest first."""
        return await self._executor.read(partial(_of, owner=owner))

    async def remove(self, token_id: str, owner: str | None) -> bool:
        """Forget a token."""
        return await self._executor.write(partial(_remove, token_id=token_id, owner=owner))


def _insert(connection: Connection, *, token: APIToken, most_of_owner: int, most: int) -> None:
    """Count before anything is written: what raises has written nothing."""
    if _find(connection, token_id=token.id) is not None:
        return  # as after an answer of the database that was lost
    live = _C.good_until_ms > token.created_at_ms
    of_owner = connection.execute(_COUNT.where(live, _C.owner == token.owner)).scalar_one()
    if of_owner >= most_of_owner:
        raise TooManyTokensError(f"{token.owner} has {of_owner} API tokens: revoke those that are not needed")
    if connection.execute(_COUNT.where(live)).scalar_one() >= most:
        raise TooManyTokensError(f"there are {most} API tokens, which is as many as may be")
    connection.execute(_PURGE, {"now_ms": token.created_at_ms})
    connection.execute(
        insert(api_tokens).values(
            id=token.id,
            digest=token.digest,
            name=token.name,
            owner=token.owner,
            scopes=sorted(token.scopes),
            created_by=token.created_by,
            is_proven=token.is_proven,
            created_at_ms=token.created_at_ms,
            good_until_ms=token.good_until_ms,
        )
    )


def _find(connection: Connection, *, token_id: str) -> APIToken | None:
    row = connection.execute(_FIND, {"wanted": token_id}).first()
    return None if row is None else _token(row)


def _of(connection: Connection, *, owner: str | None) -> Sequence[APIToken]:
    wanted = _NEWEST_FIRST if owner is None else _NEWEST_FIRST.where(_C.owner == owner)
    return [_token(row) for row in connection.execute(wanted)]


def _remove(connection: Connection, *, token_id: str, owner: str | None) -> bool:
    wanted = delete(api_tokens).where(_C.id == token_id)
    return bool(connection.execute(wanted if owner is None else wanted.where(_C.owner == owner)).rowcount)


def _token(row: Row[tuple[object, ...]]) -> APIToken:
    known = frozenset(map(str, TokenScope))
    return APIToken(
        id=row.id,
        digest=row.digest,
        name=row.name,
        owner=row.owner,
        scopes=frozenset(TokenScope(scope) for scope in row.scopes if scope in known),  # others: of a newer Heddle
        created_by=row.created_by,
        is_proven=row.is_proven,
        created_at_ms=row.created_at_ms,
        good_until_ms=row.good_until_ms,
    )
