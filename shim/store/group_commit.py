"""SQLite: one thread writes, and everything that waits for it shares a commit.

A commit that survives a power loss costs a flush of the disk, one to five milliseconds, and SQLite has one writer
anyway. So operations queue for one thread, which takes all that are there into one transaction, commits, and then
answers all of them. Alone, a submission waits for one flush; a thousand at once wait for a few.

Reads run beside it in threads of their own, on the snapshot of the last commit (WAL).

SQLite's write lock, where several processes write to one file.

SQLite asks for a lock after 1 ms, and then ever more seldom, up to every 100 ms. Against a process that writes without
a pause, which leaves the lock for less than a millisecond at a time, it would find none for seconds. Many short tries
ask every 2 ms instead.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import SQLAlchemyError

from shim.errors import HeddleError, StoreUnavailableError
from shim.store.executors import translated
from shim.store.private_files import make_private

T = TypeVar("T")

_LARGEST_GROUP = 256
_READERS = 2


def sqlite_engine(path: Path, *, begin: str) -> Engine:
    """An engine on a SQLite file whose commits survive a power loss.

    Args:
        path: The file; it is made if its folder exists.
        begin: How a transaction begins: `BEGIN IMMEDIATE` takes the write lock at once, so that a transaction that
            read first never fails half-way; `BEGIN` only reads.
    """
    engine = create_engine(URL.create("sqlite", database=str(path)))
    writes = begin == BEGIN_WRITE

    @event.listens_for(engine, "connect")
    def _configure(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # the driver must not begin transactions by itself
        for pragma in (
            f"busy_timeout={WAIT_MS}",
            "journal_mode=WAL",
            "synchronous=FULL",
            "foreign_keys=ON",
        ):
            connection.execute(f"PRAGMA {pragma}")
        if writes:  # who has begun has the lock, and waits for nothing more
            connection.execute(f"PRAGMA busy_timeout={ONE_TRY_MS}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # by the driver's own function: with all that SQLAlchemy does around a statement it costs ten times as much
        driver: Any = connection.connection.dbapi_connection
        if writes:
            begin_write(driver)
        else:
            driver.execute(begin)

    return engine


@dataclass(slots=True)
class _Write:
    """An operation that waits for its commit, and who waits for it."""

    operation: Callable[[Connection], Any]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"
    result: Any = None
    error: BaseException | None = None

    def answer(self) -> None:
        """Tell the one who waits; he may have gone. Runs in his event loop."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


@dataclass(slots=True)
class GroupCommitExecutor:
    """Operations on one SQLite file; an `Executor`.

    Several processes may share the file: each group takes the write lock, waits up to a second for it, and gives up
    with `StoreUnavailableError`.
    """

    path: Path
    _queue: "SimpleQueue[_Write | None]" = field(default_factory=SimpleQueue)
    _writer_engine: Engine = field(init=False)
    _reader_engine: Engine = field(init=False)
    _writer: Connection | None = None
    _readers: ThreadPoolExecutor = field(init=False)
    _thread: threading.Thread = field(init=False)
    _is_closed: bool = False

    def __post_init__(self) -> None:
        make_private(self.path)
        self._writer_engine = sqlite_engine(self.path, begin=BEGIN_WRITE)
        self._reader_engine = sqlite_engine(self.path, begin="BEGIN")
        self._readers = ThreadPoolExecutor(_READERS, "heddle-store-read")
        self._thread = threading.Thread(target=self._write_groups, name="heddle-store-write", daemon=True)
        self._thread.start()

    async def write(self, operation: Callable[[Connection], T]) -> T:
        if self._is_closed:
            raise StoreUnavailableError(f"the state store {self.path} is closed")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._queue.put(_Write(operation, loop, future))
        return await future

    async def read(self, operation: Callable[[Connection], T]) -> T:
        if self._is_closed:
            raise StoreUnavailableError(f"the state store {self.path} is closed")
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, operation)

    async def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)
        self._readers.shutdown()
        self._writer_engine.dispose()
        self._reader_engine.dispose()

    def _read(self, operation: Callable[[Connection], T]) -> T:
        with translated(str(self.path)), self._reader_engine.begin() as connection:
            return operation(connection)

    def _write_groups(self) -> None:
        while (group := self._next_group()) is not None:
            self._commit(group)
            for loop in {write.loop for write in group}:
                _call_soon(loop, [write for write in group if write.loop is loop])
        self._forget_writer()

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        """A transaction on the connection that is kept for the next one too, unless something fails."""
        with translated(str(self.path)):
            if self._writer is None:
                self._writer = self._writer_engine.connect()
            try:
                with self._writer.begin():
                    yield self._writer
            except BaseException:
                self._forget_writer()
                raise

    def _forget_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _next_group(self) -> list[_Write] | None:
        """Wait for an operation and take all that came with it; None at the end."""
        first = self._queue.get()
        if first is None:
            return None
        group = [first]
        while len(group) < _LARGEST_GROUP:
            try:
                write = self._queue.get_nowait()
            except Empty:
                break
            if write is None:
                self._queue.put(None)  # seen again after this group
                break
            group.append(write)
        return group

    def _commit(self, group: Sequence[_Write]) -> None:
        """Run a group in one transaction; leave each one's result or error with it."""
        try:
            with self._transaction() as connection:
                for write in group:
                    _run(write, connection)
        except StoreUnavailableError as exc:
            if _is_the_fault_of_one(exc) and len(group) > 1:
                self._commit_singly(group)
                return
            for write in group:
                write.error = exc
        except Exception as exc:  # noqa: BLE001 - whatever an operation raises goes to the one who asked for it
            if len(group) > 1:
                self._commit_singly(group)
                return
            group[0].error = exc

    def _commit_singly(self, group: Sequence[_Write]) -> None:
        """One operation spoils a group for all: give each a transaction of its own."""
        for write in group:
            write.error = write.result = None
            self._commit([write])


def _run(write: _Write, connection: Connection) -> None:
    try:
        write.result = write.operation(connection)
    except HeddleError as exc:
        write.error = exc  # it has written nothing; the others go on


def _is_the_fault_of_one(exc: StoreUnavailableError) -> bool:
    """True if a value was refused (too large for its column, ...) rather than the database away for everybody."""
    cause = exc.__cause__
    return isinstance(cause, (SQLAlchemyError, sqlite3.Error)) and type(cause).__name__ != "OperationalError"


def _call_soon(loop: asyncio.AbstractEventLoop, writes: Sequence[_Write]) -> None:
    """Answer a group with one wake-up of its event loop."""

    def answer_all() -> None:
        for write in writes:
            write.answer()

    try:
        loop.call_soon_threadsafe(answer_all)
    except RuntimeError:
        return  # that event loop is closed: nobody waits any more


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
