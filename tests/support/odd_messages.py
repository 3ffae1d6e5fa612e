"""Messages of protobuf with values that nobody expects, as bytes: repeated, nested, cut off, changed."""

import struct
from random import Random
from typing import Any

from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

NUMBERS = (0, 1, -1, 7, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))
TEXTS = (b"", b"root.default", b"heddle-span", b"\xff\xfe", b"\0", "\u202e\ud7ff".encode(), b"x" * 300, b"-1", b"NaN")
FLOATS = (0.0, -0.0, 1.5, float("nan"), float("inf"), float("-inf"), 1e38)


def odd(kind: type[Message], draw: Random, depth: int = 0) -> bytes:
    """Bytes of a message with values that nobody expects, repeated and nested, as a peer writes that checks nothing."""
    lacks = 0.002 if depth else 0.0
    written = b""
    for field in kind.DESCRIPTOR.fields:
        count = 1 if field.is_required else draw.choice((0, 1, 2) if field.is_repeated else (0, 1, 1))
        for _ in range(count if draw.random() >= lacks else 0):
            written += written_odd(field, draw, depth)
    return written


def written_odd(field: Any, draw: Random, depth: int) -> bytes:
    """One value of a field."""
    if field.message_type is not None:
        inner = odd(GetMessageClass(field.message_type), draw, depth + 1) if depth < 5 or field.is_required else b""
        return tag(field.number, 2) + varint(len(inner)) + inner
    if field.cpp_type == field.CPPTYPE_STRING:
        text = draw.choice(TEXTS)
        return tag(field.number, 2) + varint(len(text)) + text
    if field.cpp_type == field.CPPTYPE_FLOAT:
        return tag(field.number, 5) + struct.pack("<f", draw.choice(FLOATS))
    if field.cpp_type == field.CPPTYPE_DOUBLE:
        return tag(field.number, 1) + struct.pack("<d", draw.choice(FLOATS))
    return tag(field.number, 0) + varint(draw.choice(NUMBERS) & (1 << 64) - 1)


def tag(number: int, wire_type: int) -> bytes:
    return varint(number << 3 | wire_type)


def varint(value: int) -> bytes:
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*written, value))


def torn(payload: bytes, draw: Random) -> bytes:
    """The same bytes, some of them changed, cut off or doubled."""
    changed = bytearray(payload)
    for _ in range(draw.choice((0, 1, 3))):
        if changed:
            changed[draw.randrange(len(changed))] = draw.randrange(256)
    cut = draw.choice((None, None, draw.randrange(len(changed) + 1)))
    return bytes(changed[:cut]) * draw.choice((1, 1, 2))
