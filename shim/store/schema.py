"""Bringing a database's tables up to this Heddle's, at every start."""

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from shim.errors import StoreUnavailableError

__all__ = ["HEAD", "MIGRATIONS", "known_revisions", "revision_of", "upgrade"]

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
    # Alembic takes a third of a second to import: only a start that has something to migrate pays for it.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
    from alembic.util import CommandError  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as exc:
        message = f"the state store is at revision {revision}, which this Heddle does not know: start the newer one"
        raise StoreUnavailableError(message) from exc
