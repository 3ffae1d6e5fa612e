"""Longest names and lists that the federation takes from a client: one table for every protocol.

A ResourceManager itself takes names of any length, and writes them into its state store, its logs and every list. Its
CapacityScheduler makes a string of each prefix of a path (`CapacitySchedulerQueueManager.determineMissingParents`):
a path of 30,000 parts and 60 kB takes 900 MB, and ends the JVM. The limits are far above what people use.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import islice


class TextKind(Enum):
    """Kind of a text that has a limit."""

    USER = "user name"
    QUEUE = "queue"
    APPLICATION_NAME = "application name"
    APPLICATION_TYPE = "application type"
    TAG = "application tag"
    LABEL_EXPRESSION = "node label expression"
    NODE_LABEL = "node label"
    NODE = "node"
    RESERVATION_NAME = "reservation name"
    RENEWER = "renewer"
    WORD = "value"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Limit:
    """Limits of one kind of text.

    Attributes:
        most_bytes: Longest text, as UTF-8.
    """

    most_bytes: int
    most_count: int
    forbidden: re.Pattern[str]


# U+FFFE, U+FFFF and most control characters cannot be written in XML: one of them in a name would end every XML list
_NOT_IN_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]")

LIMITS: Mapping[TextKind, Limit] = {
    TextKind.USER: Limit(256, 1000, _CONTROL),
    TextKind.QUEUE: Limit(1024, 1000, re.compile(r"[^\S ]|[\x00-\x1f\x7f-\x9f\ufffe\uffff]")),
    TextKind.APPLICATION_NAME: Limit(8192, 1, _NOT_IN_XML),
    TextKind.APPLICATION_TYPE: Limit(1024, 100, _CONTROL),
    TextKind.TAG: Limit(1024, 100, _NOT_IN_XML),
    TextKind.LABEL_EXPRESSION: Limit(1024, 1000, _CONTROL),
    TextKind.NODE_LABEL: Limit(1024, 10_000, _CONTROL),
    TextKind.NODE: Limit(512, 20_000, _CONTROL),
    TextKind.RESERVATION_NAME: Limit(1024, 1, _NOT_IN_XML),
    TextKind.RENEWER: Limit(256, 1, _CONTROL),
    TextKind.WORD: Limit(1024, 1000, _NOT_IN_XML),
    TextKind.TEXT: Limit(32 * 1024, 20_000, re.compile(r"[\x00]")),
}
"""By the kind of text."""

MOST_PARTS = 64
"""Most parts of a queue's path."""

_SHOWN = 80  # characters of a text that a message repeats


def rejection(kind: TextKind, text: str) -> str:
    """Reason why a text cannot be taken; empty if it can."""
    limit = LIMITS[kind]
    # a character has four bytes at most: a short text need not be encoded
    if len(text) * 4 > limit.most_bytes and len(text.encode("utf-8", "replace")) > limit.most_bytes:
        return f"the {kind.value} {text[:_SHOWN]!r}... is longer than {limit.most_bytes} bytes"
    if limit.forbidden.search(text):
        return f"the {kind.value} {text[:_SHOWN]!r} has a character that may not stand in it"
    return _rejection_of_queue(text) if kind is TextKind.QUEUE and text else ""


def _rejection_of_queue(text: str) -> str:
    """A ResourceManager knows no such queue; what else it might read there, no access list has checked."""
    if text != text.strip():
        return f"the queue {text[:_SHOWN]!r} begins or ends with a blank"
    if text.count(".") >= MOST_PARTS:
        return f"the queue {text[:_SHOWN]!r}... has more than {MOST_PARTS} parts"
    if not all(text.split(".")):
        return f"the queue {text[:_SHOWN]!r} has an empty part: name it as root.parent.leaf"
    return ""


def count_rejection(kind: TextKind, texts: Iterable[str | bytes]) -> str:
    """Reason why a list of texts cannot be taken; empty if it can.

    Args:
        texts: As they were understood; bytes where one is not UTF-8. No more are read than there may be, and one.
    """
    most = LIMITS[kind].most_count
    found = list(islice(texts, most + 1))
    if len(found) > most:  # before any of them is looked at: that takes a millionth of a second each
        return f"more than {most} of {kind.value}"
    readable = [text for text in found if isinstance(text, str)]
    if len(readable) < len(found):
        return f"the {kind.value} is not UTF-8"
    return next(filter(None, (rejection(kind, text) for text in readable)), "")
