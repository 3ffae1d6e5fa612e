"""`heddle submit`: an application from a submission context in a file, or from a simple command line."""

import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from heddle.client.workflows import CALLS, MANAGER_CALLS
from shim.cli.application import print_decision
from shim.cli.front import EXIT_CODES, ExitCode, Front, Server, User, fail, front
from shim.cli.output import Output, OutputFormat, print_fields
from shim.cli.settings import DEFAULT_SERVER, DryRun
from shim.domain import YarnApplicationState
from shim.domain.gangs import GANG_TAG, gang_of
from shim.domain.wishes import DEADLINE_TAG, deadline_of
from shim.errors import BadRequestError
from shim.telemetry import escape

EPILOG = EXIT_CODES

_ID = "application-id"
_POLL_S = 1.0


def submit(
    file: Annotated[
        Path | None, typer.Argument(help="Submission context of YARN's REST API as JSON; - for standard input")
    ] = None,
    *,
    command: Annotated[str, typer.Option(help="Instead of a file: the command of the ApplicationMaster")] = "",
    name: Annotated[str, typer.Option(help="Name of the application")] = "",
    queue: Annotated[str, typer.Option(help=r"Queue \[default: the scheduler's]", show_default=False)] = "",
    memory: Annotated[int, typer.Option(min=1, help="MiB of the ApplicationMaster")] = 512,
    vcores: Annotated[int, typer.Option(min=1, help="Virtual cores of the ApplicationMaster")] = 1,
    application_type: Annotated[str, typer.Option("--type", help="Type of the application")] = "YARN",
    tag: Annotated[list[str] | None, typer.Option(help="Tag; may be repeated")] = None,
    deadline: Annotated[
        str, typer.Option(help="When it should have ended: 2026-11-24T08:00:00Z, or +45m after its submission")
    ] = "",
    gang: Annotated[
        str, typer.Option(help="Containers that it must have together: 20, or 20@5m to hold some for at most 5 minutes")
    ] = "",
    unmanaged: Annotated[bool, typer.Option("--unmanaged", help="Its ApplicationMaster runs outside YARN")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it ends; exit code 1 unless it succeeded")] = False,
    dry_run: DryRun = False,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Submit an application. Heddle chooses the sub-cluster; --dry-run tells which, and why, without submitting.

    A command of --command is the ApplicationMaster: YARN calls the application FAILED unless it registers as one.
    """
    if (file is None) == (not command):
        raise typer.BadParameter("give either a file (or -) or --command")
    if file is not None:
        context = _read(file)
    else:
        context = _simple_context(
            command,
            name=name or command.split()[0],
            memory=memory,
            vcores=vcores,
            type_=application_type,
            tags=tag or [],
            unmanaged=unmanaged,
        )
    if queue:
        context["queue"] = queue
    if deadline:
        _add_tag(context, f"{DEADLINE_TAG}={deadline}")
    if gang:
        _add_tag(context, f"{GANG_TAG}={gang}")
    _check_tags(context)
    with front(server, user) as heddle:
        if dry_run:
            told = heddle.ask(CALLS.choose_home(context))
            print_decision(told, output)
            if not told.get("home"):
                fail("no cluster may take it now: it would be refused", ExitCode.UNAVAILABLE)
            return
        print_fields(_send(heddle, context, wait=wait), output)


def _read(file: Path) -> dict[str, Any]:
    try:
        context = json.loads(sys.stdin.read() if str(file) == "-" else file.read_text("utf-8"))
    except (OSError, ValueError) as exc:
        fail(f"{file}: {exc}", ExitCode.USAGE)
    if not isinstance(context, dict):
        fail(f"{file}: not a JSON object; see docs/clients/curl.md for a submission context", ExitCode.USAGE)
    return context


def _simple_context(
    command: str, *, name: str, memory: int, vcores: int, type_: str, tags: list[str], unmanaged: bool
) -> dict[str, Any]:
    context: dict[str, Any] = {
        "application-name": name,
        "application-type": type_,
        "am-container-spec": {"commands": {"command": command}},
        "resource": {"memory": memory, "vCores": vcores},
        "max-app-attempts": 1,
        "unmanaged-AM": unmanaged,
    }
    return context | ({"application-tags": {"tag": tags}} if tags else {})


def _add_tag(context: dict[str, Any], tag: str) -> None:
    """Add a tag to those of a context, which has one, several or none."""
    context["application-tags"] = {"tag": [*_tags_of(context), tag]}


def _check_tags(context: dict[str, Any]) -> None:
    """End the command where a tag says a deadline or a gang that is none: a dry run sends it nowhere."""
    tags = _tags_of(context)
    try:
        deadline_of(tags)
        gang_of(tags)
    except BadRequestError as exc:
        fail(str(exc), ExitCode.USAGE)


def _tags_of(context: dict[str, Any]) -> list[str]:
    listed = context.get("application-tags")
    tags = listed.get("tag", []) if isinstance(listed, dict) else []
    return [str(tag) for tag in ([tags] if isinstance(tags, str) else tags)]


def _send(heddle: Front, context: dict[str, Any], *, wait: bool) -> dict[str, Any]:
    if _ID not in context:
        context[_ID] = heddle.ask(MANAGER_CALLS.new_application())[_ID]
    id_ = context[_ID]
    heddle.ask(MANAGER_CALLS.submit_context(context))
    _warn_of_deadline(heddle, id_)
    shown = ("id", "cluster", "queue", "state", "finalStatus")
    while True:
        found = heddle.ask(CALLS.application(id_))["app"]
        if not wait or YarnApplicationState(found["state"]).is_final:
            break
        time.sleep(_POLL_S)
    if wait and found["finalStatus"] != "SUCCEEDED":
        fail(f"{id_} on {found.get('cluster')}: {found['state']}: {found.get('diagnostics', '')}")
    return {name: found.get(name) for name in shown}


def _warn_of_deadline(heddle: Front, id_: str) -> None:
    """Say on standard error that its deadline will not be met, where that is known already."""
    deadline = heddle.ask(CALLS.why(id_)).get("deadline")
    if deadline is not None and deadline["met"] == "no":
        typer.echo(escape(f"warning: the deadline will not be met: {deadline['text']}"), err=True)
