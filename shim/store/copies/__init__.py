"""Copies of a store: taken while it is used, put back while it is not, and looked at."""

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from shim.errors import ConfigError
from shim.store.copies.copying import Copied, Copying, StoreHeldError, WentBack
from shim.store.copies.looking import StoreFacts, look
from shim.store.copies.postgresql import PostgreSQLCopying
from shim.store.copies.sqlite import SQLiteCopying

__all__ = ["Copied", "Copying", "StoreFacts", "StoreHeldError", "WentBack", "copying_of", "look"]


def copying_of(url: str) -> Copying:
    """The way to copy a store.

    Args:
        url: As `open_state_store` takes it.

    Raises:
        ConfigError: If the URL is not one of these.
    """
    try:
        parsed = make_url(url)
    except ArgumentError as exc:
        raise ConfigError("the configuration", "store.url", "it is not a database URL") from exc
    return _by_backend(parsed)


def _by_backend(url: URL) -> Copying:
    match url.get_backend_name(), url.database:
        case "sqlite", str() as file if file and file != ":memory:":
            return SQLiteCopying(file)
        case "postgresql", str() as database if database:
            return PostgreSQLCopying(url)
        case _:
            raise ConfigError("the configuration", "store.url", "only sqlite:///FILE and PostgreSQL can be copied")
