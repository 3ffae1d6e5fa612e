"""Files of aggregated logs, as NodeManagers write them: one for each node that an application ran on.

    keys     VERSION, APPLICATION_OWNER, APPLICATION_ACL, then containers
    value    of a container: name of a file, its length in digits, its bytes; and so on

Whoever may write into a user's folder decides every byte: all lengths are checked, and what one file may cost is
bounded. Pure; `ReadAt` brings the bytes.

Source: `org.apache.hadoop.yarn.logaggregation.AggregatedLogFormat` of Hadoop 3.4.2; 2.10.2 writes the same bytes.

TFiles: Hadoop's files of records, out of which files of aggregated logs are made.

    file     magic (16 bytes), blocks, meta blocks, index of meta blocks, its offset (8), version (4), magic (16)
    block    records, as they are (`none`) or as one zlib stream (`gz`)
    record   key: its length, its bytes; value: chunks, of which all but the last have their length negated

All lengths are checked, and what files may cost is bounded by an `Allowance`. Pure.

Source: `org.apache.hadoop.io.file.tfile.{BCFile,TFile,Chunk,Utils}` of Hadoop 3.4.2.
"""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from shim.domain.ids import ContainerId, MalformedIdError
from shim.protocol.yarn.log_text import LogText

ReadAt = Callable[[int, int], bytes]
"""At most so many bytes (second) from an offset (first); fewer at the end of the file alone."""

LONGEST_KEY = 256
"""Bytes of a record's key."""

_MAGIC = bytes.fromhex("d111d36891b5d7b639df414092bae150")
_TRAILER = 8 + 4 + len(_MAGIC)
_VERSION = bytes((0, 1, 0, 0))
_BLOCK_INDEX = "data:BCFile.index"
_MOST_INDEX = 1024 * 1024  # bytes
_MOST_STEPS = 250_000
_MOST_INFLATED = 1024 * 1024 * 1024  # bytes
_WINDOW = 64 * 1024  # bytes, read or inflated at once
_LONGEST_BLOCK = 2**62  # bytes in clear; what is inflated is bounded by the allowance
_NUMBERS = ((-32, 0, 0), (-72, 52, 1), (-104, 88, 2), (-120, 112, 3))
"""Forms of integers: the least first byte, what is added to it, how many bytes follow it."""
_FIRST_OF_WIDE = -129
_WIDTHS = range(4, 9)  # bytes after the first of an integer that begins with neither


class MalformedLogsError(ValueError):
    """Bytes that are no file of aggregated logs of that user, or cost too much to read."""


class Allowance:
    """Bounds of what the files of one request may cost together, so that many of them cost no more than one.

    Args:
        steps: Regions, chunks and files that are looked at: some microseconds each.
        inflated: Bytes that are inflated.
    """

    def __init__(self, *, steps: int = _MOST_STEPS, inflated: int = _MOST_INFLATED) -> None:
        self._steps = steps
        self._inflated = inflated

    def step(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise MalformedLogsError("these logs have too many parts to be read at once")

    def inflate(self, count: int) -> None:
        """Inflate so many bytes more."""
        self._inflated -= count
        if self._inflated < 0:
            raise MalformedLogsError("these logs are too many bytes to be inflated at once")


class _Bytes(Protocol):
    def take(self, count: int) -> bytes: ...

    def skip(self, count: int) -> None: ...


def records(read: ReadAt, size: int, allowance: Allowance) -> Iterator[tuple[str, "Value"]]:
    """Every record: its key, and its value, which is passed over as far as it was not taken.

    Raises:
        MalformedLogsError: That is no TFile, or one that costs too much to read.
    """
    for block in _blocks(read, size, allowance):
        while block.left:  # of each record at least one chunk is looked at
            _bounded(_number(block), LONGEST_KEY)
            key = text_of(block, int.from_bytes(block.take(2), "big"), LONGEST_KEY)
            value = Value(block, allowance)
            yield key, value
            value.finish()


# -- blocks ------------------------------------------------------------------------------------------------------------


class _Block:
    """The bytes of a region, one after the other: as they are, or inflated out of it.

    Attributes:
        left: Bytes that are still to come.
    """

    def __init__(
        self, read: ReadAt, offset: int, stored: int, raw: int, *, is_zlib: bool, allowance: Allowance
    ) -> None:
        self._read = read
        self._allowance = allowance
        self._offset = offset
        self._stored = stored
        self._inflater = zlib.decompressobj() if is_zlib else None
        self._window = b""
        self._at = 0
        self.left = raw

    def take(self, count: int) -> bytes:
        self._spend(count)
        parts = bytearray()
        while len(parts) < count:
            if self._at == len(self._window):
                self._fill()
            part = self._window[self._at : self._at + count - len(parts)]
            parts += part
            self._at += len(part)
        return bytes(parts)

    def skip(self, count: int) -> None:
        """Pass bytes over: what is stored as it is, is not read."""
        self._spend(count)
        while count:
            held = min(count, len(self._window) - self._at)
            self._at += held
            count -= held
            if count and self._inflater is None:
                self._offset += count
                self._stored -= count
                return
            if count:
                self._fill()

    def _spend(self, count: int) -> None:
        if not 0 <= count <= self.left:
            raise MalformedLogsError("a length leads out of its block")
        self.left -= count

    def _fill(self) -> None:
        """Put the next bytes into the window: at least one."""
        self._at = 0
        self._window = self._stored_bytes() if self._inflater is None else self._inflated(self._inflater)
        if not self._window:
            raise MalformedLogsError("a block ends early")

    def _stored_bytes(self) -> bytes:
        told = self._read(self._offset, min(_WINDOW, max(self._stored, 0)))
        self._offset += len(told)
        self._stored -= len(told)
        return told

    def _inflated(self, inflater: "zlib._Decompress") -> bytes:
        try:
            while not inflater.eof:
                stored = inflater.unconsumed_tail or self._stored_bytes()
                inflated = inflater.decompress(stored, _WINDOW)
                self._allowance.inflate(len(inflated))
                if inflated or not stored:
                    return inflated
        except zlib.error as exc:
            raise MalformedLogsError("a block is not compressed as it says") from exc
        return b""


class Value:
    """The value of a record: chunks put together.

    Attributes:
        passed: Bytes that were taken or skipped.
    """

    def __init__(self, block: _Block, allowance: Allowance) -> None:
        self._block = block
        self._allowance = allowance
        self._left = 0
        self._is_last = False
        self.passed = 0

    def has_more(self) -> bool:
        if not self._left and not self._is_last:
            self._allowance.step()
            count = _number(self._block)
            self._is_last = count >= 0
            self._left = abs(count)
        return self._left > 0

    def take(self, count: int) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            parts += self._block.take(self._step(count - len(parts)))
        return bytes(parts)

    def skip(self, count: int) -> None:
        """Pass bytes over."""
        while count:
            step = self._step(count)
            self._block.skip(step)
            count -= step

    def integer(self, width: int) -> int:
        """The next `width` bytes as a number without a sign."""
        return int.from_bytes(self.take(width), "big")

    def finish(self) -> None:
        """Pass over what is left of it."""
        while self.has_more():
            self.skip(self._left)

    def _step(self, most: int) -> int:
        if not self.has_more():
            raise MalformedLogsError("a value ends early")
        step = min(most, self._left)
        self._left -= step
        self.passed += step
        return step


def _blocks(read: ReadAt, size: int, allowance: Allowance) -> Iterator[_Block]:
    for is_zlib, offset, stored, raw in _regions(read, size, allowance):
        _within(offset, stored, size)
        clear = _bounded(raw, _LONGEST_BLOCK) if is_zlib else stored
        yield _Block(read, offset, stored, clear, is_zlib=is_zlib, allowance=allowance)


def _regions(read: ReadAt, size: int, allowance: Allowance) -> Iterator[tuple[bool, int, int, int]]:
    """Blocks of records: whether each is compressed, its offset, its bytes there, its bytes in clear."""
    index = _meta_block(read, size, allowance)
    is_zlib = _is_zlib(_name(index))
    for _ in range(_bounded(_number(index), index.left)):
        allowance.step()
        yield is_zlib, _number(index), _number(index), _number(index)


def _meta_block(read: ReadAt, size: int, allowance: Allowance) -> _Block:
    """The index of blocks, out of the index of meta blocks."""
    if size < _TRAILER + len(_MAGIC):
        raise MalformedLogsError("it is too short")
    end = read(size - _TRAILER, _TRAILER)
    if end[12:] != _MAGIC or end[8:12] != _VERSION:
        raise MalformedLogsError("it is no TFile of version 1")
    offset = int.from_bytes(end[:8], "big")
    stored = _bounded(size - _TRAILER - offset, _MOST_INDEX)
    index = _Block(read, offset, stored, stored, is_zlib=False, allowance=allowance)
    for _ in range(_bounded(_number(index), stored)):
        allowance.step()
        name, is_zlib = _name(index), _is_zlib(_name(index))
        offset, stored, raw = _number(index), _number(index), _number(index)
        if name == _BLOCK_INDEX:
            _within(offset, stored, size)
            return _Block(read, offset, stored, _bounded(raw, _MOST_INDEX), is_zlib=is_zlib, allowance=allowance)
    raise MalformedLogsError("it has no index of its blocks")


def _is_zlib(algorithm: str) -> bool:
    if algorithm not in ("gz", "none"):
        raise MalformedLogsError("it is compressed in another way than gz")
    return algorithm == "gz"


# -- numbers and texts -------------------------------------------------------------------------------------------------


def _number(source: _Bytes) -> int:
    """An integer as `Utils.readVLong` reads it: its first byte tells how many follow."""
    first = int.from_bytes(source.take(1), "big", signed=True)
    for least, base, count in _NUMBERS:
        if first >= least:
            return ((first + base) << 8 * count) | int.from_bytes(source.take(count), "big")
    count = first - _FIRST_OF_WIDE
    if count not in _WIDTHS:
        raise MalformedLogsError("a number is malformed")
    return int.from_bytes(source.take(count), "big", signed=True)


def _name(source: _Bytes) -> str:
    return text_of(source, _number(source), _LONGEST_NAME)


def text_of(source: _Bytes, length: int, longest: int) -> str:
    """The next `length` bytes as a text, of at most `longest` bytes."""
    try:
        return source.take(_bounded(length, longest)).decode()
    except UnicodeDecodeError as exc:
        raise MalformedLogsError("a text is no UTF-8") from exc


def _bounded(number: int, most: int) -> int:
    if not 0 <= number <= most:
        raise MalformedLogsError(f"a number is not between 0 and {most}")
    return number


def _within(offset: int, stored: int, size: int) -> None:
    if offset < len(_MAGIC) or stored < 0 or offset + stored > size - _TRAILER:
        raise MalformedLogsError("a region leads out of the file")


_LONGEST_NAME = 255
_LONGEST_LENGTH = 19  # digits
_OWNER = "APPLICATION_OWNER"
_ACL = "APPLICATION_ACL"
_RESERVED = frozenset({"VERSION", _OWNER, _ACL})
_VIEW = "VIEW_APP"
_LONGEST_ACL = 65_535
_NO_NAMES = frozenset({"", ".", ".."})


@dataclass(frozen=True, slots=True)
class AggregatedFile:
    """A file of a container's logs; its size in bytes."""

    container: ContainerId
    name: str
    size: int


def list_files(read: ReadAt, size: int, owner: str, allowance: Allowance) -> Iterator[AggregatedFile]:
    """The files of all containers.

    Args:
        read: Brings bytes.
        size: Of the whole, in bytes.
        owner: The user whose logs they must be.
        allowance: What is left of what a request may cost.

    Raises:
        MalformedLogsError: They are not.
    """
    return (file for file, _ in _each(read, size, owner, allowance))


def tail_of(
    read: ReadAt,
    size: int,
    owner: str,
    allowance: Allowance,
    *,
    container: ContainerId,
    name: str,
    most_bytes: int,
) -> LogText | None:
    """The end of a container's file, up to `most_bytes`; None if it is not there.

    Raises:
        MalformedLogsError: As of `list_files`.
    """
    for file, value in _each(read, size, owner, allowance):
        if (file.container, file.name) == (container, name):
            kept = min(most_bytes, file.size)
            value.skip(file.size - kept)
            return LogText(value.take(kept), file.size)
    return None


def view_acl_of(read: ReadAt, size: int, allowance: Allowance) -> str:
    """The users and groups that may view the application besides its user, `user,user group,group` or `*`.

    Raises:
        MalformedLogsError: As of `list_files`.
    """
    for key, value in records(read, size, allowance):
        if key == _ACL:
            while value.has_more():
                kind = text_of(value, value.integer(2), _LONGEST_NAME)
                acl = text_of(value, value.integer(2), _LONGEST_ACL)
                if kind == _VIEW:
                    return acl
        elif key not in _RESERVED:
            break  # a NodeManager writes it before containers
    return ""


def _each(read: ReadAt, size: int, owner: str, allowance: Allowance) -> Iterator[tuple[AggregatedFile, Value]]:
    """Every file of a container, with the value that its bytes are next in."""
    is_owners = False
    for key, value in records(read, size, allowance):
        if key == _OWNER:
            is_owners = text_of(value, value.integer(2), LONGEST_KEY) == owner
            if not is_owners:
                raise MalformedLogsError("these are the logs of another user")
        elif key not in _RESERVED:
            if not is_owners:
                raise MalformedLogsError("it does not say whose logs these are")
            yield from _files(value, _container(key), allowance)


def _files(value: Value, container: ContainerId, allowance: Allowance) -> Iterator[tuple[AggregatedFile, Value]]:
    while value.has_more():
        allowance.step()
        name = text_of(value, value.integer(2), _LONGEST_NAME)
        digits = text_of(value, value.integer(2), _LONGEST_LENGTH)
        if not (digits.isascii() and digits.isdigit()):
            raise MalformedLogsError("a length is no number")
        size = int(digits)
        end = value.passed + size
        if name.isprintable() and "/" not in name and name not in _NO_NAMES:
            yield AggregatedFile(container, name, size), value
        value.skip(end - value.passed)


def _container(key: str) -> ContainerId:
    try:
        return ContainerId.parse(key)
    except MalformedIdError as exc:
        raise MalformedLogsError("a key is no container") from exc
