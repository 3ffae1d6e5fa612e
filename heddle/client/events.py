"""Documents as they change: server-sent events of `/heddle/v1/live`, with its patches done.

Source: HTML Living Standard, section 9.2; RFC 6902 (JSON Patch), RFC 6901 (JSON Pointer).
"""

from dataclasses import dataclass
from typing import Any

import msgspec

from heddle.client.errors import ForeignAnswerError

__all__ = ["LIVE", "Event", "EventReader"]

LIVE = "/heddle/v1/live"


@dataclass(frozen=True, slots=True)
class Event:
    """News of a document.

    Attributes:
        watch: Its address below `/heddle/v1/`, as it was asked for.
        document: The whole of it, now; None if it cannot be read now.
        trouble: Why it cannot be read now; empty if it can.
    """

    watch: str
    document: Any
    trouble: str = ""


class EventReader:
    """Makes events of the lines of one stream."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}
        self._kind = ""
        self._data: list[str] = []

    def read(self, line: str) -> Event | None:
        """Read one line without its end; an event is whole at the empty one behind it.

        Raises:
            ForeignAnswerError: It is no event of a Heddle, or does not fit what came before it.
        """
        name, _, value = line.partition(":")
        if name == "event":
            self._kind = value.strip()
        elif name == "data":
            self._data.append(value.removeprefix(" "))
        elif not line:
            return self._whole()
        return None

    def _whole(self) -> Event | None:
        kind, text = self._kind, "\n".join(self._data)
        self._kind, self._data = "", []
        if kind not in ("state", "change", "trouble"):
            return None
        try:
            told = msgspec.json.decode(text)
            watch = str(told["watch"])
            if kind == "trouble":
                return Event(watch, None, str(told["message"]))
            if kind == "state":
                self._known[watch] = told["document"]
            else:
                self._known[watch] = _patched(self._known[watch], told["patch"])
        except (msgspec.MsgspecError, KeyError, IndexError, TypeError, ValueError) as exc:
            raise ForeignAnswerError(f"an event that cannot be read: {exc}", where=f"GET {LIVE}") from exc
        return Event(watch, self._known[watch])


def _patched(document: Any, patch: list[dict[str, Any]]) -> Any:
    """The document with a patch done; the old one is as it was."""
    holder = {"": msgspec.json.decode(msgspec.json.encode(document))}
    for step in patch:
        *way, last = [part.replace("~1", "/").replace("~0", "~") for part in str(step["path"]).split("/")]
        at: Any = holder
        for part in way:
            at = at[int(part) if isinstance(at, list) else part]
        _do(at, last, step)
    return holder[""]


def _do(at: Any, last: str, step: dict[str, Any]) -> None:
    kind = step["op"]
    if kind not in ("add", "remove", "replace"):
        raise ValueError(f"{kind!r} is not done")
    if isinstance(at, list):
        place = len(at) if last == "-" else int(last)
        at[place : place + (kind != "add")] = [] if kind == "remove" else [step["value"]]
    elif kind == "remove":
        del at[last]
    else:
        at[last] = step["value"]
