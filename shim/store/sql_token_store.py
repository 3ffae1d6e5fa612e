"""`TokenStore` and `APITokenStore` over SQL, in the database of the state store."""

from collections.abc import Sequence
from functools import partial

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, update

from shim.domain.roles import TokenScope
from shim.ports.token_store import APIToken, StoredToken, TooManyTokensError
from shim.store.executors import Executor
from shim.store.rows import readable
from shim.store.tables import api_tokens, delegation_tokens

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
        return await self._executor.write(partial(_renew, key=key, good_until_ms=good_until_ms))

    async def remove(self, key: str) -> bool:
        return await self._executor.write(partial(_remove, key=key))


def _insert(connection: Connection, *, token: StoredToken, now_ms: int, most_of_owner: int, most: int) -> None:
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


_API = api_tokens.c
_FIND_API = select(api_tokens).where(_API.id == bindparam("wanted"))
_NEWEST_FIRST = select(api_tokens).order_by(_API.created_at_ms.desc(), _API.id)
_PURGE_API = delete(api_tokens).where(_API.good_until_ms <= bindparam("now_ms"))
_COUNT_API = select(func.count()).select_from(api_tokens)


class SqlAPITokenStore:
    """API tokens in SQL; implements `shim.ports.APITokenStore`. Closing the state store closes it."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def insert(self, token: APIToken, *, most_of_owner: int, most: int) -> None:
        await self._executor.write(partial(_insert_api, token=token, most_of_owner=most_of_owner, most=most))

    async def find(self, token_id: str) -> APIToken | None:
        """The token, if it was created and not revoked."""
        return await self._executor.read(partial(_find_api, token_id=token_id))

    async def of(self, owner: str | None) -> Sequence[APIToken]:
        """Tokens, the newest first."""
        return await self._executor.read(partial(_of, owner=owner))

    async def remove(self, token_id: str, owner: str | None) -> bool:
        return await self._executor.write(partial(_remove_api, token_id=token_id, owner=owner))


def _insert_api(connection: Connection, *, token: APIToken, most_of_owner: int, most: int) -> None:
    if _find_api(connection, token_id=token.id) is not None:
        return  # as after an answer of the database that was lost
    live = _API.good_until_ms > token.created_at_ms
    of_owner = connection.execute(_COUNT_API.where(live, _API.owner == token.owner)).scalar_one()
    if of_owner >= most_of_owner:
        raise TooManyTokensError(f"{token.owner} has {of_owner} API tokens: revoke those that are not needed")
    if connection.execute(_COUNT_API.where(live)).scalar_one() >= most:
        raise TooManyTokensError(f"there are {most} API tokens, which is as many as may be")
    connection.execute(_PURGE_API, {"now_ms": token.created_at_ms})
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


def _find_api(connection: Connection, *, token_id: str) -> APIToken | None:
    row = connection.execute(_FIND_API, {"wanted": token_id}).first()
    return None if row is None else _token(row)


def _of(connection: Connection, *, owner: str | None) -> Sequence[APIToken]:
    wanted = _NEWEST_FIRST if owner is None else _NEWEST_FIRST.where(_API.owner == owner)
    return readable(connection.execute(wanted), _token)


def _remove_api(connection: Connection, *, token_id: str, owner: str | None) -> bool:
    wanted = delete(api_tokens).where(_API.id == token_id)
    return bool(connection.execute(wanted if owner is None else wanted.where(_API.owner == owner)).rowcount)


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
