"""Growing logs of an application, printed part by part: nodes are asked for what came after the last.

Whole lines are printed; of one that has no end yet, up to 64 KiB are held. After the application has ended, what nodes
did not tell any more is read from what was aggregated.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from heddle.applications import LogPart
from heddle.client.calls import Call
from heddle.client.workflows import CALLS
from shim.cli.application_logs import LogsWanted, none_if_absent, running_containers, user_of
from shim.cli.front import ExitCode, Front, FrontError
from shim.cli.output import say
from shim.domain import YarnApplicationState
from shim.telemetry import escape

_EVERY_S = 2.0
_MOST_CONTAINERS = 100
_MOST_PART = 1024 * 1024  # bytes that are asked for at a time
_ROOM = 65_536  # bytes that a file may grow by between two questions
_LONGEST_HELD = 65_536  # characters of a line without an end
_LAST_TRIES = 10
_GONE = frozenset({ExitCode.NOT_FOUND, ExitCode.UNAVAILABLE, ExitCode.UNREACHABLE})


def follow_logs(heddle: Front, wanted: LogsWanted, sleep: Callable[[float], None]) -> None:
    """Print logs as they grow, until the application has ended.

    Args:
        heddle: Who is asked.
        wanted: What; of each file `tail` bytes from before the beginning.
        sleep: Waits so many seconds.

    Raises:
        FrontError: Heddle does not answer, or the logs are another's.
    """
    followed = _Followed(heddle, wanted)
    while not _has_ended(heddle, wanted.application):
        followed.look()
        sleep(_EVERY_S)
    followed.look()
    for _ in range(_LAST_TRIES):
        if followed.look_at_aggregated() or not followed.has_begun:
            break
        sleep(_EVERY_S)
    followed.finish()
    if not followed.has_begun:
        raise FrontError(ExitCode.NOT_FOUND, f"nothing of {wanted.container or wanted.application} is there")


class _Followed:
    """The files of an application's containers, and how far each was printed."""

    def __init__(self, heddle: Front, wanted: LogsWanted) -> None:
        self._heddle = heddle
        self._wanted = wanted
        self._positions: dict[tuple[str, str], int] = {}
        self._held: dict[tuple[str, str], str] = {}
        self._last: tuple[str, str] | None = None
        self._is_first = True
        self._is_told_of_more = False

    @property
    def has_begun(self) -> bool:
        """Return whether there was a file."""
        return bool(self._positions)

    def look(self) -> None:
        """Print what nodes have more of than was printed."""
        for container in self._containers():
            try:
                for each in self._heddle.ask(CALLS.container_logs(container))["files"]:
                    if not self._is_first:  # what begins from now on is shown from its beginning
                        self._positions.setdefault((container, str(each["file"])), 0)
                    self._look_at(container, each, partial(CALLS.container_log, container))
            except FrontError as exc:
                if exc.code not in _GONE:  # it may begin or end this moment
                    raise
        self._is_first = False

    def look_at_aggregated(self) -> bool:
        """Print what was aggregated and not told before; tell whether every file that was begun is there."""
        application = self._wanted.application
        of = self._wanted.of or user_of(self._heddle, application)
        seen = set()
        try:
            for node in self._heddle.ask(CALLS.application_logs(application, of=of))["nodes"]:
                for each in node["files"]:
                    seen.add((each["container"], each["file"]))
                    part = partial(CALLS.application_log, application, each["container"], of=of, node=node["node"])
                    self._look_at(each["container"], each, part)
        except FrontError as exc:
            none_if_absent(exc)
            return False
        return seen.issuperset(self._positions)

    def finish(self) -> None:
        """Print what has no end of its line."""
        for place, text in self._held.items():
            if text:
                self._print(place, [text])
        self._held.clear()

    def _containers(self) -> list[str]:
        if self._wanted.container:
            return [self._wanted.container]
        running = running_containers(self._heddle, self._wanted.application)
        if len(running) > _MOST_CONTAINERS and not self._is_told_of_more:
            self._is_told_of_more = True
            say(f"== {len(running)} containers run: {_MOST_CONTAINERS} of them are followed; name one to follow it")
        return running[:_MOST_CONTAINERS]

    def _look_at(self, container: str, file: Mapping[str, Any], part: Callable[..., Call[LogPart]]) -> None:
        place = (container, str(file["file"]))
        if self._wanted.file not in ("", place[1]) or self._wanted.container not in ("", container):
            return
        at, size = self._positions.get(place), int(file["bytes"])
        if size <= (at or 0) and size >= 0:
            self._positions.setdefault(place, 0)
            return
        tail = self._wanted.tail if at is None else min(_MOST_PART, size - at + _ROOM)
        told = self._heddle.ask(part(place[1], tail=tail, after=at or 0))
        if told["size"] is None:
            raise FrontError(
                ExitCode.FAILED, f"the node of {container} does not tell where its text lies in {place[1]}"
            )
        if at is not None and told["start"] > at:
            self._print(place, [f"... {told['start'] - at} bytes passed over"], is_own=True)
        self._positions[place] = int(told["size"])
        self._print(place, self._lines(place, str(told["text"])))

    def _lines(self, place: tuple[str, str], text: str) -> Iterator[str]:
        """Whole lines; what is behind the last end of one is held."""
        *lines, rest = (self._held.pop(place, "") + text).split("\n")
        if len(rest) > _LONGEST_HELD:
            lines.append(rest)
            rest = ""
        self._held[place] = rest
        return iter(lines)

    def _print(self, place: tuple[str, str], lines: Iterator[str] | list[str], *, is_own: bool = False) -> None:
        for line in lines:
            if is_own or self._wanted.grep in line:
                if self._last != place:
                    say(escape(f"== {place[0]} {place[1]}"))
                    self._last = place
                say(line)


def _has_ended(heddle: Front, application: str) -> bool:
    """Return whether an application has ended; one that nobody knows any more has."""
    try:
        return YarnApplicationState(heddle.ask(CALLS.application(application))["app"]["state"]).is_final
    except FrontError as exc:
        none_if_absent(exc)
        return True
