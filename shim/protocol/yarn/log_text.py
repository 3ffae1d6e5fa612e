"""Text of containers' logs: a part of a file that knows where it lies, and the lines in it that hold some words.

Whoever runs a program decides what it prints: what is found is bounded in lines and bytes, and words are looked for as
they are, never as a pattern. Pure.

Source: `org.apache.hadoop.yarn.logaggregation.LogToolUtils.outputContainerLog` of Hadoop 3.4.2 and 2.10.2.
"""

import re
from typing import NamedTuple

_MOST_LINES = 1000
_LONGEST_LINE = 4096
_MOST_HEAD = 4096  # bytes that a node may tell of a file before it
_HEAD = re.compile(rb"LogLength:(\d{1,18})\nLog ?Contents:\n")


class LogText(NamedTuple):
    """The end of a file as it was at one moment; the size of all of it in bytes, -1 if it is not known."""

    data: bytes
    size: int

    @property
    def start(self) -> int:
        """The offset of its first byte; -1 if it is not known."""
        return self.size - len(self.data) if self.size >= 0 else -1

    def after(self, offset: int) -> "LogText":
        """The part at an offset and behind it; all if it is not known where that lies."""
        return LogText(self.data[max(0, offset - self.start) :], self.size) if self.size >= 0 else self


class FoundLines(NamedTuple):
    """Lines that hold some words, in their order."""

    text: bytes
    matches: int
    is_cut: bool


def told_by_node(body: bytes, most_bytes: int) -> LogText:
    """The end of a file, out of a NodeManager's answer: without the lines that it writes around it."""
    head = _HEAD.search(body, 0, _MOST_HEAD)
    if head is None:
        return LogText(body, -1)
    size = int(head[1])
    data = body[head.end() : head.end() + min(size, most_bytes)]
    return LogText(data, size) if len(data) == min(size, most_bytes) else LogText(data, -1)


def lines_holding(data: bytes, words: bytes, most_bytes: int) -> FoundLines:
    """The newest lines that hold `words`: up to 1,000 of up to 4,096 bytes each, and `most_bytes` together."""
    found: list[bytes] = []
    end = len(data) if words in data else -1
    left = most_bytes
    while end >= 0:
        start = data.rfind(b"\n", 0, end) + 1
        if words in data[start:end]:
            line = data[start : min(end, start + _LONGEST_LINE)] + b"\n"
            left -= len(line)
            if left < 0 or len(found) == _MOST_LINES:
                return _found(found, is_cut=True)
            found.append(line)
        end = start - 1
    return _found(found, is_cut=False)


def _found(newest_first: list[bytes], *, is_cut: bool) -> FoundLines:
    return FoundLines(b"".join(reversed(newest_first)), len(newest_first), is_cut)
