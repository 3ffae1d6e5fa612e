"""Printed output of the containers of an application: from their nodes while they run, then aggregated."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from heddle.client.workflows import CALLS, MANAGER_CALLS
from shim.cli.front import ExitCode, Front, FrontError
from shim.cli.output import say
from shim.domain import ApplicationId, ContainerId
from shim.protocol.wire_values import several
from shim.telemetry import escape

_CONTAINER = "container_"


@dataclass(frozen=True, slots=True)
class LogsWanted:
    """The logs that somebody wants to see.

    Attributes:
        application: Whose.
        container: Only this one; empty for all.
        file: Only files of this name; empty for all.
        tail: Bytes of the end of each file.
        of: The application's user; empty for whom Heddle knows it of.
        grep: Only lines that hold this; empty for all.
    """

    application: str
    container: str
    file: str
    tail: int
    of: str
    grep: str = ""

    @classmethod
    def parse(cls, text: str, *, file: str = "", tail: int = 4096, of: str = "", grep: str = "") -> "LogsWanted":
        """The logs of an application or of a container.

        Raises:
            MalformedIdError: The text is the id of neither.
        """
        if text.startswith(_CONTAINER):
            id_ = ContainerId.parse(text)
            return cls(str(id_.attempt.application), str(id_), file, tail, of, grep)
        return cls(str(ApplicationId.parse(text)), "", file, tail, of, grep)


def print_logs(heddle: Front, wanted: LogsWanted) -> None:
    """Print the logs of containers that run; where none does, those that were aggregated.

    Raises:
        FrontError: There is neither, or they are another's.
    """
    running = [wanted.container] if wanted.container else running_containers(heddle, wanted.application)
    complaints = [_print_running(heddle, container, wanted) for container in running]
    if not complaints or all(complaints):
        try:
            _print_aggregated(heddle, wanted)
        except FrontError as exc:
            if wanted.container or not running or exc.code is not ExitCode.NOT_FOUND:
                raise
        else:
            return
    for complaint in filter(None, complaints):
        say(escape(complaint))


def running_containers(heddle: Front, application: str) -> list[str]:
    """Containers of an application's newest attempt; none if nobody knows it any more."""
    try:
        told = heddle.ask(MANAGER_CALLS.attempts(application))["appAttempts"] or {}
    except FrontError as exc:
        return none_if_absent(exc)
    newest = max((str(each.get("appAttemptId", "")) for each in several(told.get("appAttempt"))), default="")
    if not newest:
        return []
    try:
        listed = heddle.ask(MANAGER_CALLS.containers(application, newest)) or {}
    except FrontError as exc:
        return none_if_absent(exc)
    return [str(each["containerId"]) for each in several(listed.get("container")) if "containerId" in each]


def none_if_absent(problem: FrontError) -> list[Any]:
    """An empty list, if a server's refusal says that there is nothing; any other is raised."""
    if problem.code is not ExitCode.NOT_FOUND:
        raise problem
    return []


def _print_running(heddle: Front, container: str, wanted: LogsWanted) -> str:
    """Print what a node has of a container, or tell why that is nothing: it may begin or end this moment.

    Those in a view ACL may read what was aggregated alone.
    """
    try:
        told = heddle.ask(CALLS.container_logs(container))
        say(escape(f"== {container} on {told['node']} of {told['cluster']}"))
        for name in (each["file"] for each in told["files"] if wanted.file in ("", each["file"])):
            call = CALLS.container_log(container, name, tail=wanted.tail, grep=wanted.grep)
            _print_file(name, heddle.ask(call))
    except FrontError as exc:
        if exc.code not in (ExitCode.NOT_FOUND, ExitCode.NOT_ALLOWED):
            raise
        return f"== {container}: {exc}"
    return ""


def _print_aggregated(heddle: Front, wanted: LogsWanted) -> None:
    of = wanted.of or user_of(heddle, wanted.application)
    count = 0
    for node in heddle.ask(CALLS.application_logs(wanted.application, of=of))["nodes"]:
        if node["wrong"]:
            say(escape(f"== {' of '.join(filter(None, (node['node'], node['cluster'])))}: {node['wrong']}"))
        for container, files in groupby(_wanted(node["files"], wanted), key=lambda each: str(each["container"])):
            say(escape(f"== {container} on {node['node']} of {node['cluster']}, aggregated"))
            for name in (str(each["file"]) for each in files):
                call = CALLS.application_log(
                    wanted.application,
                    container,
                    name,
                    tail=wanted.tail,
                    grep=wanted.grep,
                    of=of,
                    node=node["node"],
                )
                _print_file(name, heddle.ask(call))
                count += 1
    if not count:
        what = " ".join(filter(None, (wanted.container or wanted.application, wanted.file)))
        raise FrontError(ExitCode.NOT_FOUND, f"nothing of {what} runs or is aggregated")


def _wanted(files: Iterable[Mapping[str, Any]], wanted: LogsWanted) -> list[Mapping[str, Any]]:
    return [each for each in files if wanted.container in ("", each["container"]) and wanted.file in ("", each["file"])]


def user_of(heddle: Front, application: str) -> str:
    """The user of an application; empty if Heddle does not know it any more: it is the caller's then, or nobody's."""
    try:
        return str(heddle.ask(CALLS.application(application))["app"].get("user", ""))
    except FrontError as exc:
        none_if_absent(exc)
        return ""


def _print_file(name: str, told: Mapping[str, Any]) -> None:
    """Print a part of a file; of a search that found nothing in it, nothing."""
    if told.get("matches") == 0:
        return
    say(escape(f"-- {name}"))
    if told.get("more"):
        say("... older lines that hold it are left out")
    say(told["text"])
