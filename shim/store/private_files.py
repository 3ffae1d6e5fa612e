"""Files that only their owner reads, whatever the umask: the database, and the key that seals its contents."""

import os
import secrets
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from shim.errors import StoreUnavailableError

_OWNER_ONLY = 0o600
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_KEY_BYTES = 32
_COMPANIONS = ("", "-wal", "-shm")


def make_private(database: Path) -> None:
    """Make a SQLite file with mode 0600 before SQLite does, and take others' rights from one that has them.

    SQLite gives its journal files the mode of the database. A folder that is missing, or a file of another owner, is
    left to SQLite, whose error says more.
    """
    with suppress(OSError):
        os.close(os.open(database, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, _OWNER_ONLY))
    for companion in _COMPANIONS:
        file = database.with_name(database.name + companion)
        with suppress(OSError):
            if stat.S_IMODE(file.stat().st_mode) & _OTHERS:
                file.chmod(_OWNER_ONLY)


def key_beside(database: Path) -> bytes:
    """The key in the file `DATABASE.key`, made at the first call.

    The whole file appears at once, by a link: a second process that starts beside this one reads all of it or makes it.

    Raises:
        StoreUnavailableError: If it can neither be read nor made.
    """
    file = _key_file(database)
    try:
        if not file.exists():
            _make_key(file)
        return file.read_bytes().strip()
    except OSError as exc:
        message = f"the key {file} of the state store can neither be read nor made ({exc}): set security.secret_file"
        raise StoreUnavailableError(message) from exc


def has_key(database: Path) -> bool:
    return _key_file(database).exists()


def _key_file(database: Path) -> Path:
    return database.with_name(f"{database.name}.key")


def _make_key(file: Path) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)  # its mode is 0600
    try:
        with os.fdopen(descriptor, "wb") as written:
            written.write(secrets.token_hex(_KEY_BYTES).encode())
            written.flush()
            os.fsync(written.fileno())
        with suppress(FileExistsError):
            os.link(name, file)
    finally:
        os.unlink(name)  # noqa: PTH108 - beside the calls that it undoes
