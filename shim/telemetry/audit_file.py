"""An audit file whose lines are a chain: appended to, its owner's alone, opened anew when it was rotated away.

The line is written first and the head of the chain after it. A crash between the two is found at the next start.
"""

import fcntl
import hmac
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shim.telemetry.audit_chain import ChainHead, follow, linked, seal_of

_PRIVATE = 0o600
_HEAD_BYTES = 256
_TAIL_BYTES = 256 * 1024  # as many lines as may be written and not told of in the head
_NUMBER_DIGITS = 20


def head_file_of(file: Path) -> Path:
    """The file with the head of an audit file's chain."""
    return file.with_name(f"{file.name}.head")


@dataclass(frozen=True, slots=True)
class KeptHead:
    """A head as it stands beside an audit file.

    Attributes:
        seal: Of the head; empty for none.
    """

    head: ChainHead
    seal: str

    def is_sealed(self, key: bytes) -> bool:
        return hmac.compare_digest(self.seal, seal_of(str(self.head).encode(), key))


def read_kept_head(file: Path) -> KeptHead | None:
    """The head that is kept beside an audit file; None if there is none.

    Raises:
        OSError: It is there, and cannot be read.
    """
    try:
        with head_file_of(file).open("rb") as opened:
            return _read_head(opened.read(_HEAD_BYTES))
    except FileNotFoundError:
        return None


@dataclass(frozen=True, slots=True)
class _Rest:
    """The end of a file behind its last whole line.

    Attributes:
        is_open: There is something, which has to be ended first.
        torn: That, if it is no record; a crash cut it.
    """

    is_open: bool = False
    torn: bytes = b""

    @classmethod
    def of(cls, data: bytes) -> "_Rest":
        return cls(bool(data), data)


_WHOLE = _Rest()


class AuditFile:
    """One writer of an audit file.

    A second process that writes the same file has a chain of its own, which begins anew with each of its starts.

    Args:
        file: It is made if its folder exists.
        key: Of the seals of lines and of the head; empty for none.

    Raises:
        OSError: It cannot be written.
    """

    def __init__(self, file: Path, *, key: bytes = b"") -> None:
        self._path = file
        self._key = key
        self._log = _opened(file, os.O_APPEND)
        self._kept: int | None = None
        try:
            self._kept = _locked(head_file_of(file))
            self._head, self._rest = _resumed(self._kept, self._log)
        except BaseException:
            self.close()
            raise

    @property
    def head(self) -> ChainHead:
        return self._head

    def append(self, said: Mapping[str, Any]) -> None:
        """Write one line.

        Raises:
            OSError: It was not written whole.
        """
        self._follow_rotation()
        line, head = linked(said, self._head, torn=self._rest.torn, key=self._key)
        data = (b"\n" if self._rest.is_open else b"") + line + b"\n"
        if os.write(self._log, data) != len(data):
            self._rest = _Rest.of(_tail(self._log)[1])
            raise OSError(f"{self._path}: an audit line was cut: is the disk full?")
        self._head, self._rest = head, _WHOLE
        if self._kept is not None:
            kept = str(head).encode()
            seal = seal_of(kept, self._key).encode() if self._key else b""
            os.pwrite(self._kept, (kept + b" " + seal).ljust(_HEAD_BYTES), 0)

    def close(self) -> None:
        for handle in (self._log, self._kept):
            if handle is not None:
                with suppress(OSError):
                    os.close(handle)

    def _follow_rotation(self) -> None:
        try:
            there = self._path.stat()
            is_same = os.path.samestat(there, os.fstat(self._log))
        except FileNotFoundError:
            is_same = False
        if not is_same:
            os.close(self._log)
            self._log = _opened(self._path, os.O_APPEND)
            self._rest = _Rest.of(_tail(self._log)[1])


def _opened(file: Path, flags: int = 0) -> int:
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | flags, _PRIVATE)
    os.fchmod(handle, _PRIVATE)
    return handle


def _locked(file: Path) -> int | None:
    """The file with the head, which is this process's alone; None if another process has it."""
    handle = _opened(file)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle


def _resumed(kept: int | None, log: int) -> tuple[ChainHead, _Rest]:
    lines, data = _tail(log)
    found = None if kept is None else _read_head(os.pread(kept, _HEAD_BYTES, 0))
    if found is None:
        return ChainHead(secrets.token_hex(8)), _Rest.of(data)
    head = follow(found.head, lines)
    last = follow(head, [data])  # a whole record of which nothing but the end of its line was lost
    return last, _Rest.of(data) if last == head else _Rest(is_open=True)


def _read_head(data: bytes) -> KeptHead | None:
    text, _, seal = data.decode("ascii", "replace").strip("\0 \n").partition(" ")
    chain, _, rest = text.partition(":")
    number, _, digest = rest.partition(":")
    if not chain or not digest or not number.isdecimal() or len(number) > _NUMBER_DIGITS:
        return None
    return KeptHead(ChainHead(chain, int(number), digest), seal if seal.isascii() else "")


def _tail(log: int) -> tuple[list[bytes], bytes]:
    """Whole lines at the end of a file, and what follows the last of them."""
    size = os.fstat(log).st_size
    data = os.pread(log, _TAIL_BYTES, max(0, size - _TAIL_BYTES))
    *lines, rest = data.split(b"\n")
    return lines, rest
