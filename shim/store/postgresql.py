"""The way to PostgreSQL: one constructor of engines, with TLS by libpq's words in the URL.

`sslmode`, `sslrootcert`, `sslcert` and `sslkey` mean what they mean to libpq (PostgreSQL's manual, "SSL Support"), and
its variables (`PGSSLMODE`, ...) stand in for what the URL leaves out. All of it is resolved here: the driver and
PostgreSQL's own tools get the same.
"""

import ipaddress
import os
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

from sqlalchemy import Connection
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from shim.errors import ConfigError
from shim.store.executors import translated

_KEY = "store.url"
_SOURCE = "the configuration"
_MODES: Final = ("disable", "prefer", "require", "verify-ca", "verify-full")
_VERIFYING: Final = ("verify-ca", "verify-full")
_MORE: Final = ("host", "port", "prepared_statement_cache_size")
"""What a query may name beside TLS: a folder of sockets or several servers; 0 where a PgBouncer is between."""
_DEFAULT_ROOT: Final = Path(".postgresql") / "root.crt"
"""In the home folder: the CAs that libpq believes if none is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreTLS:
    """TLS towards PostgreSQL; paths are empty where none is named.

    Attributes:
        sslmode: `disable`; `prefer`, TLS if the server has it; `require`, TLS or nothing; `verify-ca`, the server's
            certificate is of our CA, too; `verify-full`, and names the host that we connected to.
        sslcert: File with our own certificate.
    """

    sslmode: str = "prefer"
    sslrootcert: str = ""
    sslcert: str = ""
    sslkey: str = ""

    @property
    def verifies(self) -> bool:
        """True if a server without a certificate of our CA is refused; with a CA `require` is `verify-ca`."""
        return self.sslmode in _VERIFYING or (self.sslmode == "require" and bool(self.sslrootcert))

    @property
    def words(self) -> dict[str, str]:
        """Each of libpq's parameters that is not empty."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name))}


_WORDS: Final = tuple(each.name for each in fields(StoreTLS))


def postgresql_engine(url: URL, *, connect_args: Mapping[str, Any] | None = None, **pool: Any) -> AsyncEngine:
    """Make the engine of a PostgreSQL database; nothing is connected yet.

    Args:
        url: Of the store, whatever its driver.
        connect_args: Further parameters of `asyncpg.connect`.
        pool: Further parameters of `create_async_engine`.

    Raises:
        ConfigError: If what the URL says of TLS cannot be used.
    """
    tls = _usable(url, os.environ)
    plain = url.difference_update_query(_WORDS).set(drivername="postgresql+asyncpg")
    # the driver takes libpq's words in an address alone; one without a host changes nothing else
    address = f"postgresql://?{urlencode(tls.words)}"
    return create_async_engine(plain, connect_args={"dsn": address, **(connect_args or {})}, **pool)


def tool_settings(url: URL) -> dict[str, str]:
    """Variables by which PostgreSQL's own tools reach a database as `postgresql_engine` does.

    Raises:
        ConfigError: If what the URL says of TLS cannot be used.
    """
    variables = {f"PG{name.upper()}": value for name, value in _usable(url, os.environ).words.items()}
    hosts, ports = _servers(url)
    places = {"PGHOST": ",".join(hosts), "PGPORT": ",".join(ports)}
    secret = {"PGPASSWORD": str(url.password)} if url.password else {}
    return variables | {name: value for name, value in places.items() if value} | secret


def check_store_url(url: str) -> None:
    """See whether a store could be reached as its address says, without reaching for it.

    Raises:
        ConfigError: If it is no address, or its TLS cannot be used.
    """
    parsed = store_address(url)
    if parsed.get_backend_name() == "postgresql":
        _usable(parsed, os.environ)


def unverified_server(url: str) -> str:
    """Name the PostgreSQL of another machine that anybody on the way could pose as; empty if there is none.

    Raises:
        ConfigError: If it is no address, or its TLS cannot be used.
    """
    parsed = store_address(url)
    if parsed.get_backend_name() != "postgresql" or _usable(parsed, os.environ).verifies:
        return ""
    hosts, _ = _servers(parsed)
    return ", ".join(host for host in hosts if not _is_here(host))


def _is_here(host: str) -> bool:
    """True if a host is this machine, or a folder of its sockets; a name that is not localhost may be anything."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.startswith("/")


def _servers(url: URL) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Hosts and ports that a URL names, in either of the ways that SQLAlchemy knows."""
    driven = url.set(drivername="postgresql+asyncpg")
    _, named = driven.get_dialect()().create_connect_args(driven)
    hosts, ports = named.get("host") or (), named.get("port") or ()
    return (hosts,) if isinstance(hosts, str) else tuple(hosts), (
        (str(ports),) if isinstance(ports, int) else tuple(str(port) for port in ports)
    )


def store_address(url: str) -> URL:
    """Read the address of a store.

    Raises:
        ConfigError: If it is none.
    """
    try:
        return make_url(url)
    except ArgumentError as exc:
        raise ConfigError(_SOURCE, _KEY, "it is not a database URL") from exc


def _usable(url: URL, environ: Mapping[str, str]) -> StoreTLS:
    unknown = sorted(set(url.query) - {*_WORDS, *_MORE})
    if unknown:
        raise ConfigError(_SOURCE, _KEY, f"{unknown[0]}= is not known; known are {', '.join((*_WORDS, *_MORE))}")
    told: dict[str, str] = {}
    for name in _WORDS:
        value = url.query.get(name) or environ.get(f"PG{name.upper()}", "")
        if not isinstance(value, str):
            raise ConfigError(_SOURCE, _KEY, f"{name}= is there more than once")
        told[name] = value
    tls = StoreTLS(**(told | {"sslmode": told["sslmode"] or "prefer", "sslrootcert": _root(told["sslrootcert"])}))
    _check(tls)
    return tls


def _root(named: str) -> str:
    default = Path(os.path.expanduser("~")) / _DEFAULT_ROOT  # noqa: PTH111 - Path.home raises where there is none
    return named or (str(default) if default.is_file() else "")


def _check(tls: StoreTLS) -> None:
    """Read the files that are named: what is wrong with them shall be said at the start, with the file's name."""
    if tls.sslmode not in _MODES:
        raise ConfigError(_SOURCE, _KEY, f"sslmode={tls.sslmode} is not known; write one of {', '.join(_MODES)}")
    if tls.sslmode == "disable":
        return
    if tls.sslmode in _VERIFYING and not tls.sslrootcert:
        raise ConfigError(_SOURCE, _KEY, f"sslmode={tls.sslmode} needs sslrootcert=FILE, the CA of the server")
    if bool(tls.sslcert) != bool(tls.sslkey):
        raise ConfigError(_SOURCE, _KEY, "sslcert=FILE and sslkey=FILE come together: our certificate and its key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if tls.sslrootcert:
        with _named("sslrootcert", tls.sslrootcert):
            context.load_verify_locations(tls.sslrootcert)
    if tls.sslcert:
        with _named("sslcert", tls.sslcert):
            # a key with a passphrase would ask the terminal; nobody sits there
            context.load_cert_chain(tls.sslcert, tls.sslkey, password="")


@contextmanager
def _named(word: str, file: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as exc:  # ssl.SSLError is an OSError
        reason = exc.strerror or str(exc) if isinstance(exc, OSError) else str(exc)
        raise ConfigError(_SOURCE, _KEY, f"{word}={file} cannot be used: {reason}") from exc


# PostgreSQL: a pool of connections, shared by any number of Heddles on any number of machines.

T = TypeVar("T")

SESSION_NAME = "heddle"
"""How connections of a running Heddle are called in `pg_stat_activity`."""

_CONNECTIONS = 10
_BURST = 10
_CONNECT_TIMEOUT_S = 2
_QUEUE_TIMEOUT_S = 5
_COMMAND_TIMEOUT_S = 2


class PooledExecutor:
    """Operations on a PostgreSQL database; an `Executor`.

    A connection that turns out to be dead (the server was restarted) is thrown away with all of the pool's, and the
    operation runs once more: every operation may be repeated.
    """

    def __init__(self, url: URL) -> None:
        self._name = url.render_as_string(hide_password=True)
        self._engine: AsyncEngine = postgresql_engine(
            url,
            pool_size=_CONNECTIONS,
            max_overflow=_BURST,
            pool_timeout=_QUEUE_TIMEOUT_S,
            connect_args={
                "timeout": _CONNECT_TIMEOUT_S,
                "command_timeout": _COMMAND_TIMEOUT_S,
                "server_settings": {"application_name": SESSION_NAME},
            },
        )

    async def write(self, operation: Callable[[Connection], T]) -> T:
        with translated(self._name):
            try:
                return await self._run(operation)
            except DBAPIError as exc:
                if not exc.connection_invalidated:
                    raise
            return await self._run(operation)

    async def read(self, operation: Callable[[Connection], T]) -> T:
        return await self.write(operation)

    async def close(self) -> None:
        await self._engine.dispose()

    async def _run(self, operation: Callable[[Connection], T]) -> T:
        async with self._engine.begin() as connection:
            return await connection.run_sync(operation)
