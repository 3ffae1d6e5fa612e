"""Parts of a file of logs as the web services show them: its end, from an offset on, or lines that hold a text.

`text` is the part, `start` the offset of its first byte and `size` the file's (both null if the node does not tell).
With `grep`, `text` is the newest lines that hold it, as it is written and in no other case; `matches` tells how many
they are (at most 1,000), `searched` in how many bytes, and `more` whether older ones were left out.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Query

from shim.calls.container_logs import MOST_TAIL_BYTES
from shim.protocol.yarn.log_text import LogText, lines_holding

Tail = Annotated[int, Query(ge=1, le=MOST_TAIL_BYTES)]
After = Annotated[int, Query(ge=0, le=2**62)]
Grep = Annotated[str, Query(max_length=200, pattern=r"^[^\r\n]*$")]


@dataclass(frozen=True, slots=True)
class PartOfLog:
    """The part of a file that is wanted.

    Attributes:
        tail: Bytes of what is shown.
        after: Nothing before this offset.
        grep: Only lines that hold this; empty for all.
        most_searched: Bytes of the file's end in which lines are looked for.
    """

    tail: int
    after: int
    grep: str
    most_searched: int

    @property
    def most_bytes(self) -> int:
        """So much of the file's end is needed."""
        return self.most_searched if self.grep else self.tail

    def shown(self, told: LogText) -> dict[str, Any]:
        """The part as members of an answer."""
        part = told.after(self.after)
        where = {"start": part.start, "size": part.size} if part.size >= 0 else {"start": None, "size": None}
        if not self.grep:
            return {"text": part.data.decode("utf-8", "replace"), **where}
        found = lines_holding(part.data, self.grep.encode("utf-8", "replace"), self.tail)
        return {
            "text": found.text.decode("utf-8", "replace"),
            **where,
            "matches": found.matches,
            "searched": len(part.data),
            "more": found.is_cut,
        }
