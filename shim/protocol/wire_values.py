"""Values inside a ResourceManager's documents, read across the versions of Hadoop (2.10 to 3.5).

Versions differ in form: lists that are empty are `null`, `{}`, `""` or missing; lists of one are the element itself;
numbers are quoted; a float may be the string "NaN". All of that is read alike.

A ResourceManager may tell any number, and one that counts wrongly tells negative ones: CapacityScheduler's pending
amounts overflow when an ApplicationMaster asks for more than there can be. Heddle divides by these numbers, sums and
stores them. So each is taken in here, by `whole` or `number`, and is none of those that an account cannot hold.
"""

import codecs
import math
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, ClassVar, TypeVar

import msgspec

from shim.domain.resources import ResourceVector
from shim.domain.told_bounds import LONGEST_NAME, MOST, MOST_TYPES
from shim.errors import RemoteProtocolError

T = TypeVar("T")
WireNumber = int | float | str | bool | None
"""A number as some version of Hadoop, or somebody who poses as one, writes it."""
_MEMORY_AND_VCORES = frozenset({"memory-mb", "vcores"})
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What reading JSON of others raises: to what is deep, or no UTF-8, a decoder says something else than to all else."""
_ROWS = msgspec.json.Decoder(list[msgspec.Raw])
_BARE = re.compile(rb'(?:"(?:[^"\\]++|\\.)*+"[^"NI-]*+)++|(?<![\w"])(-?)(?:(NaN)|INF\w*|Infinity)(?![\w"])')
_SIGNS_OF_BARE = (b"NaN", b"INF", b"Infinity", b"\\ud", b"\\uD")
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
"""In a text: a pair that is one letter, the half of one, or any other."""
_LONGEST_SIGN = max(map(len, _SIGNS_OF_BARE))
_TOKENS = re.compile(rb'(?:[^"]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
_REST_OF_WORD = re.compile(rb"[\w.+-]{0,64}")
_SLICE_BYTES = 256 * 1024
"""Of a list that are read in one go: a tenth of a millisecond of work, and a millisecond for what its rows mean."""
_LONGEST_MEMBER = 64
_PLAIN_BYTES = 64 * 1024
"""The same of a document with numbers that are not plain."""
_LONGEST_TEXT = 4 * 1024 * 1024
MOST_AT_ONCE = 16 * 1024 * 1024
"""Bytes of a document that cannot be read in slices: some ten milliseconds of work."""


class _Amount(msgspec.Struct):
    NOUN: ClassVar[str] = "resource types"
    name: str = ""
    value: WireNumber = 0


class WireResources(msgspec.Struct):
    """`resourceInformations`."""

    resourceInformation: list[_Amount] | _Amount | None = None  # noqa: N815 - Hadoop's name


class WireResource(msgspec.Struct):
    """`ResourceInfo`: MiB, virtual cores, and (from 3.0) every resource type by name."""

    memory: WireNumber = 0
    vCores: WireNumber = 0  # noqa: N815 - Hadoop's name
    resourceInformations: WireResources | None = None  # noqa: N815 - Hadoop's name


def vector(resource: WireResource | None) -> ResourceVector:
    """A resource as the domain has it; an absent one is empty."""
    if resource is None:
        return ResourceVector()
    information = resource.resourceInformations
    listed = several(information.resourceInformation) if information is not None else []
    others = {
        amount.name: whole(amount.value)
        for amount in islice(listed, MOST_TYPES)
        if amount.name not in _MEMORY_AND_VCORES and 0 < len(amount.name) <= LONGEST_NAME
    }
    if not others:
        return ResourceVector(whole(resource.memory), whole(resource.vCores))
    return ResourceVector(whole(resource.memory), whole(resource.vCores), others)


def text(value: Any) -> str:
    """A text, that may be absent; a number where a text should be is its digits, all else is nothing."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def rows_of(raw: msgspec.Raw) -> list[msgspec.Raw]:
    """Objects of a list, each to be read by itself: one that is odd costs itself alone.

    A list of one may be that one; what is neither has none.
    """
    kind = bytes(memoryview(raw)[:64]).lstrip()[:1]
    if kind == b"{":
        return [raw]
    return _ROWS.decode(raw) if kind == b"[" else []


def rows_in_slices(raw: bytes, head: bytes) -> Iterator[list[msgspec.Raw]]:
    """The objects of a document's only list, some at a time: a large one is not read in one go.

    A text of JSON has no bare quote, so where a row's end is followed by the name of the first row's first member a
    list goes on, and if each slice is a list of its own, it is this one.

    Args:
        raw: A document that was told to be text, and plain.

    Raises:
        RemoteProtocolError: If it is no such document, or one that cannot be cut so: it is to be read in one go.
    """
    begin, end = len(head), len(raw) - head.count(b"{") - 1
    if not raw.startswith(head) or raw[end:] != b"]" + b"}" * head.count(b"{"):
        raise RemoteProtocolError("the document does not begin and end as a list does")
    between = b"}," + raw[begin : raw.find(b'":', begin, begin + _LONGEST_MEMBER) + 2]
    if not between.startswith(b'},{"'):
        raise RemoteProtocolError("the list does not begin with an object")
    while begin < end:
        cut = raw.find(between, begin + _SLICE_BYTES, end)
        stop = end if cut < 0 else cut + 1
        if stop - begin > _LONGEST_TEXT:
            raise RemoteProtocolError(f"the list has a row of {stop - begin} bytes")
        yield decode(_ROWS, b"[%b]" % raw[begin:stop], "list")
        begin = stop + 1


def are_plain(body: bytes) -> Iterator[bool]:
    """Whether a document has no sign of what is not plain to here, piece by piece as `are_text`."""
    for begin in range(0, len(body), _SLICE_BYTES):
        piece = body[begin : begin + _SLICE_BYTES + _LONGEST_SIGN]
        yield not any(sign in piece for sign in _SIGNS_OF_BARE)


def plain_pieces(body: bytes) -> Iterator[bytes]:
    """A document with `NaN` and `INF`, which older versions write as they are, as texts: so it is JSON.

    The half of a letter, which is left of a name that was cut within it, is the sign for what cannot be shown.

    It is told in pieces: a large one is not gone through in one go.

    Raises:
        RemoteProtocolError: If it has a text of more than 4 MiB.
    """
    begin, count = 0, len(body)
    while begin < count:
        stop = _tokens_end(body, begin, begin + _PLAIN_BYTES)
        if stop == begin:  # a text that is longer, or that does not end: the rest is no JSON
            stop = _tokens_end(body, begin, begin + _LONGEST_TEXT)
            if stop == begin and count - begin > _LONGEST_TEXT:
                raise RemoteProtocolError(f"the document has a text of more than {_LONGEST_TEXT} bytes")
            stop = stop if stop > begin else count
        yield _BARE.sub(_as_text, body[begin:stop])
        begin = stop


def _tokens_end(body: bytes, begin: int, most: int) -> int:
    found = _TOKENS.match(body, begin, most)
    end = begin if found is None else found.end()
    rest = _REST_OF_WORD.match(body, end) if end >= most else None
    return end if rest is None else rest.end()


def _as_text(found: "re.Match[bytes]") -> bytes:
    if found[1] is None:  # a text, in which anything may be
        return found[0] if b"\\" not in found[0] else _ESCAPE.sub(_as_letter, found[0])
    return b'"NaN"' if found[2] else b'"' + found[1] + b'Infinity"'


def _as_letter(found: "re.Match[bytes]") -> bytes:
    return b"\\ufffd" if found[1] else found[0]


def several(value: list[T] | T | None) -> list[T]:
    """List of a value that some version of Hadoop unwrapped or dropped."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def text_of(value_untrusted: str | bytes) -> str:
    """A string field as text: protobuf hands out bytes where a peer wrote something that is not UTF-8."""
    return value_untrusted if isinstance(value_untrusted, str) else value_untrusted.decode("utf-8", "replace")


def whole(value: WireNumber) -> int:
    """An amount, a count or a time: a whole number from 0 to `MOST`; 0 for what is less, and for what is no number."""
    if type(value) is not int:
        value = _rounded(value)
    return value if 0 <= value <= MOST else 0 if value < 0 else MOST


def _rounded(value: WireNumber) -> int:
    if value is None or isinstance(value, bool):
        return 0
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return 0
    return 0 if math.isnan(found) else int(min(max(found, 0.0), float(MOST)))


def number(value: WireNumber, default: float = 0.0, *, most: float = float(MOST)) -> float:
    """A float from 0 to `most`, that may be quoted, absent or not a number."""
    if value is None or isinstance(value, bool):
        return default
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return default
    return min(max(found, 0.0), most) if math.isfinite(found) else default


def decode(decoder: "msgspec.json.Decoder[T]", raw: bytes | msgspec.Raw, what: str) -> T:
    """Decode JSON.

    Raises:
        RemoteProtocolError: If it is not JSON of the expected form; `what` names the document.
    """
    try:
        return decoder.decode(raw)
    except UNREADABLE as exc:
        beginning = bytes(memoryview(raw)[:80])
        raise RemoteProtocolError(f"the {what} document is not readable: {exc}; it begins {beginning!r}") from exc


def is_document(body: bytes) -> bool:
    """True for a JSON object, or null, in UTF-8: what is not, or is endless, is nobody's part of an answer."""
    if len(body) > MOST_AT_ONCE:
        return False
    try:
        msgspec.json.decode(body, type=dict[str, msgspec.Raw] | None)
    except UNREADABLE:
        return False
    return is_text(body)


def is_text(body: bytes) -> bool:
    """True for UTF-8. What is carried as bytes is not looked into by a reader of JSON, and would spoil a whole list."""
    return all(are_text(body))


def are_text(body: bytes) -> Iterator[bool]:
    """Whether a document is UTF-8 to here, piece by piece: a large one is neither gone through nor kept in one go."""
    if len(body) <= _SLICE_BYTES and body.isascii():
        yield True
        return
    reader = codecs.getincrementaldecoder("utf-8")()
    for begin in range(0, len(body) + 1, _SLICE_BYTES):
        piece = body[begin : begin + _SLICE_BYTES]
        try:
            reader.decode(piece, final=begin + _SLICE_BYTES > len(body))
        except UnicodeDecodeError:
            yield False
            return
        yield True
