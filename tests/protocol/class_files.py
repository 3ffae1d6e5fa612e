"""Descriptors out of Hadoop's jars: generated Java classes hold them as string constants."""

import re
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError

_JARS = re.compile(r"hadoop-(common|yarn-api|yarn-common|yarn-server-common)-[0-9.]+\.jar")
_WIDTHS = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
_UTF8, _STRING, _WIDE = 1, 8, {5, 6}


def descriptors(folder: Path) -> dict[str, FileDescriptorProto]:
    """Every descriptor in the jars of a folder, by the name of its `.proto` file."""
    found: dict[str, FileDescriptorProto] = {}
    for jar in sorted(folder.glob("*.jar")):
        if _JARS.fullmatch(jar.name):
            with zipfile.ZipFile(jar) as archive:
                for name in archive.namelist():
                    if "proto" in name.lower() and name.endswith(".class") and "$" not in name:
                        found |= {file.name: file for file in _files(_strings(archive.read(name)))}
    return found


def _strings(data: bytes) -> list[bytes]:
    """String constants of a class file in the order of its pool, one byte for each character."""
    texts: dict[int, bytes] = {}
    order: list[int] = []
    at, index, count = 10, 1, struct.unpack_from(">H", data, 8)[0]
    while index < count:
        tag, at = data[at], at + 1
        if tag == _UTF8:
            (length,) = struct.unpack_from(">H", data, at)
            texts[index] = data[at + 2 : at + 2 + length]
            at += 2 + length
        else:
            if tag == _STRING:
                order.append(struct.unpack_from(">H", data, at)[0])
            at += _WIDTHS[tag]
        index += 2 if tag in _WIDE else 1
    return [_latin1(texts[which]) for which in order]


def _latin1(modified: bytes) -> bytes:
    """Modified UTF-8 of characters up to 255 (zero is written in two bytes)."""
    return modified.replace(b"\xc0\x80", b"\x00").decode("utf-8", "replace").encode("latin-1", "replace")


def _files(strings: list[bytes]) -> Iterator[FileDescriptorProto]:
    """Descriptors that begin in one string and may go on in the following ones: the longest that decodes is it."""
    for first, text in enumerate(strings):
        if text[:1] == b"\n" and b".proto" in text[:120]:
            longest = None
            for last in range(first + 1, len(strings) + 1):
                try:
                    longest = FileDescriptorProto.FromString(b"".join(strings[first:last]))
                except DecodeError:
                    continue
            if longest is not None:
                yield longest
