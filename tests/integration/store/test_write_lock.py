"""The lock of a SQLite file is asked for often and for a second, and no other error is taken for a lock."""

import sqlite3

import pytest

from shim.store.group_commit import ONE_TRY_MS, WAIT_MS, begin_write

TRIES = WAIT_MS // ONE_TRY_MS


class Refusing:
    """A connection that refuses to begin for some times."""

    def __init__(self, times: int, code: int) -> None:
        self.left = times
        self.code = code
        self.asked = 0

    def execute(self, statement: str) -> None:
        assert statement == "BEGIN IMMEDIATE"
        self.asked += 1
        if self.left > 0:
            self.left -= 1
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = self.code
            raise error


@pytest.mark.parametrize("code", [sqlite3.SQLITE_BUSY, sqlite3.SQLITE_BUSY_SNAPSHOT, sqlite3.SQLITE_BUSY_RECOVERY])
def test_it_begins_as_soon_as_the_lock_is_there_and_not_again(code):
    connection = Refusing(TRIES - 1, code)
    begin_write(connection)
    assert connection.asked == TRIES


def test_after_a_second_it_is_refused(tmp_path):
    connection = Refusing(TRIES + 1, sqlite3.SQLITE_BUSY)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        begin_write(connection)
    assert connection.asked == TRIES


@pytest.mark.parametrize("code", [sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL])
def test_another_error_is_told_at_once(code):
    connection = Refusing(1, code)
    with pytest.raises(sqlite3.OperationalError):
        begin_write(connection)
    assert connection.asked == 1


def test_a_real_lock_is_waited_for_and_its_refusal_is_the_last_one(tmp_path):
    file = tmp_path / "held.db"
    holder, other = (sqlite3.connect(file, isolation_level=None) for _ in range(2))
    other.execute(f"PRAGMA busy_timeout={ONE_TRY_MS}")
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        begin_write(other)
    holder.execute("ROLLBACK")
    begin_write(other)
    assert other.in_transaction
    holder.close()
    other.close()
