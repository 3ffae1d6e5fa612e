"""SQLite's write lock, where several processes write to one file.

SQLite asks for a lock after 1 ms, and then ever more seldom, up to every 100 ms. Against a process that writes without
a pause, which leaves the lock for less than a millisecond at a time, it would find none for seconds. Many short tries
ask every 2 ms instead.
"""

import sqlite3

__all__ = ["BEGIN_WRITE", "ONE_TRY_MS", "WAIT_MS", "begin_write"]

BEGIN_WRITE = "BEGIN IMMEDIATE"
WAIT_MS = 1000
"""How long a write waits for the lock in all."""
ONE_TRY_MS = 5
"""`busy_timeout` of a connection that writes: within it SQLite asks after 0, 1, 3 and 5 ms."""
_PRIMARY_CODE = 0xFF
"""Bits of an extended result code that say which error it is (sqlite.org/rescode.html)."""


def begin_write(connection: sqlite3.Connection) -> None:
    """Begin a transaction that holds the write lock.

    Args:
        connection: With a `busy_timeout` of `ONE_TRY_MS`.

    Raises:
        sqlite3.OperationalError: Another process held the lock for `WAIT_MS`, as one does that is frozen; or it is
            another error.
    """
    for _ in range(WAIT_MS // ONE_TRY_MS - 1):
        try:
            connection.execute(BEGIN_WRITE)
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode & _PRIMARY_CODE != sqlite3.SQLITE_BUSY:
                raise
        else:
            return
    connection.execute(BEGIN_WRITE)
