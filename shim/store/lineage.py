"""Name of a copy of a database, which changes when another copy takes its place.

SQLite: the file. PostgreSQL: the server's identifier, its timeline, which each promotion and each recovery to a point
in time raises, and the table's own number, which a restored dump does not have. A copy that overwrites a SQLite file
in place cannot be told by this; `shim.submission.lost_time` finds it by what clusters list.
"""

import os

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

__all__ = ["lineage_of"]

_POSTGRESQL = text(
    "SELECT (SELECT system_identifier FROM pg_control_system())::text"
    " || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"
    " || '/' || 'federation'::regclass::oid::text"
)


def lineage_of(connection: Connection) -> str:
    """The name of this copy; empty where the database does not tell."""
    if connection.dialect.name == "sqlite":
        return _of_file(connection)
    try:
        with connection.begin_nested():  # a hosted server may not let us ask
            return str(connection.execute(_POSTGRESQL).scalar_one())
    except DBAPIError as exc:
        if exc.connection_invalidated:
            raise
        return ""


def _of_file(connection: Connection) -> str:
    path = connection.exec_driver_sql("PRAGMA database_list").first()
    if path is None or not path[2]:
        return ""
    try:
        found = os.stat(path[2])  # noqa: PTH116 - a name that SQLite gave
    except OSError:
        return ""
    return f"{found.st_dev}:{found.st_ino}"
