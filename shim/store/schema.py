"""Bringing a database's tables up to this Heddle's, at every start; and back, where an operator says so."""

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text

from shim.errors import StoreUnavailableError

if TYPE_CHECKING:
    from alembic.config import Config

MIGRATIONS = Path(__file__).parent / "migrations"

_LOCK = 0x48454444  # "HEDD": one Heddle at a time upgrades a PostgreSQL database


def upgrade(connection: Connection) -> None:
    """Make the tables, or upgrade them, inside the caller's transaction.

    Raises:
        StoreUnavailableError: If a newer Heddle upgraded the database.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    revision = revision_of(connection)
    if revision == HEAD:
        return
    _migrate(connection, revision)


def downgrade(connection: Connection, revision: str) -> None:
    """Take the tables back to an older revision, inside the caller's transaction; what only newer ones have is dropped.

    Raises:
        StoreUnavailableError: If the tables are not newer than that, or this Heddle does not know one of both.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    now, known = revision_of(connection), known_revisions()
    if now not in known or revision not in known or revision >= now:
        message = f"the state store is at revision {now or 'none'}, and cannot go back to {revision}"
        raise StoreUnavailableError(f"{message}; this Heddle knows {', '.join(sorted(known))}")
    from alembic import command  # noqa: PLC0415 - see `_configuration`

    command.downgrade(_configuration(connection), revision)


def known_revisions() -> frozenset[str]:
    """Every revision that this Heddle can upgrade from, its own included."""
    return frozenset(file.name[1:5] for file in (MIGRATIONS / "versions").glob("r[0-9][0-9][0-9][0-9]_*.py"))


HEAD = max(known_revisions())
"""Newest revision in `migrations/versions`; they are numbered in the order in which they are made."""


def revision_of(connection: Connection) -> str | None:
    """The revision of a database's tables; None if it has none of a store."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def _migrate(connection: Connection, revision: str | None) -> None:
    from alembic import command  # noqa: PLC0415 - see `_configuration`
    from alembic.util import CommandError  # noqa: PLC0415 - see there

    try:
        command.upgrade(_configuration(connection), "head")
    except CommandError as exc:
        message = f"the state store is at revision {revision}, which this Heddle does not know: start the newer one"
        raise StoreUnavailableError(message) from exc


def _configuration(connection: Connection) -> "Config":
    # Alembic takes a third of a second to import: only a start that has something to migrate pays for it.
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
