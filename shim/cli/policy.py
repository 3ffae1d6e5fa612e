"""`heddle policy`: how queues share the federation, version by version."""

import difflib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from heddle.client.workflows import CALLS
from shim.cli.front import EXIT_CODES, ExitCode, Front, Server, User, fail, front
from shim.cli.output import Output, OutputFormat, print_fields, print_rows, say
from shim.cli.policy_advice import EPILOG as ADVICE_EPILOG
from shim.cli.policy_advice import advise
from shim.cli.settings import DEFAULT_SERVER, DryRun
from shim.errors import reason_of
from shim.scheduling.parameters import parameters_of
from shim.scheduling.policy import WORKLOAD_FACTS, World
from shim.scheduling.queue_policies import QUEUE_POLICIES, queue_rejection
from shim.scheduling.registry import KINDS, PolicyKind
from shim.telemetry import escape

# `heddle policy shadow`: where the policy in a queue's shadow differs from the one in force.

_QUEUES = (
    ("QUEUE", "queue"),
    ("IN FORCE", "in_force"),
    ("SHADOW", "shadow"),
    ("CYCLES", "cycles"),
    ("SKIPPED", "skipped"),
    ("UNSOLVED", "unsolved"),
    ("HELD", "held"),
    ("GRANTED", "granted"),
    ("OTHER CLUSTER", "other-cluster"),
    ("ORDER", "order"),
)
_NEWEST = (
    ("AT", "at_ms"),
    ("KIND", "kind"),
    ("APPLICATION", "application"),
    ("PRIORITY", "priority"),
    ("IN FORCE", "in_force"),
    ("SHADOW", "shadow"),
)


def shadow(
    *,
    newest: Annotated[
        int, typer.Option("--newest", "-n", help="Print so many of each queue's newest differences too", min=0, max=50)
    ] = 0,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Print how often the policy in the shadow of each queue would have decided otherwise. For operators.

    HELD: it would start fewer containers of a request; GRANTED: more of them; OTHER CLUSTER: as many, elsewhere; ORDER:
    another application would be first in line. A difference counts once for as long as it stands. SKIPPED: cycles that
    were not compared, to save time, or before its solver had answered; UNSOLVED: compared by its own plan, as the
    solver had no answer in time.
    """
    with front(server, user) as heddle:
        queues = heddle.ask(CALLS.shadows())["queues"]
    rows = [each | each["differences"] | {"newest": each["newest"][:newest]} for each in queues]
    print_rows(rows, _QUEUES, output)
    if output is not OutputFormat.TABLE:
        return
    for each in rows:
        if each["newest"]:
            say("\n" + escape(str(each["queue"])))
            print_rows([_told(found) for found in each["newest"]], _NEWEST, output)


def _told(difference: Mapping[str, Any]) -> dict[str, Any]:
    """Say both sides of a difference in words."""
    sides = {}
    for side in ("in_force", "shadow"):
        starts = ", ".join(f"{count} on {cluster}" for cluster, count in difference[side].items())
        reason = difference[f"{side}_reason"]
        sides[side] = f"{starts}: {reason}" if starts else reason
    return {**difference, **sides}


app = typer.Typer(
    help="The policy of shares: show, validate, diff, apply, history, rollback, release; kinds of scheduling policies.",
    no_args_is_help=True,
    epilog=EXIT_CODES,
)

PolicyFile = Annotated[Path, typer.Argument(help=r"A policy file: [\[queue]] and [\[mapping]] tables", metavar="FILE")]
Version = Annotated[int, typer.Argument(help="As `heddle policy history` tells it", metavar="VERSION", min=0)]

_KINDS = (
    ("POLICY", "policy"),
    ("RUNS IN", "worlds"),
    ("QUEUES", "may_queue"),
    ("WHAT IT IS", "summary"),
)
_PARAMETERS = (
    ("KEY", "key"),
    ("DEFAULT", "default"),
    ("PAPER", "paper"),
    ("ALLOWED", "allowed"),
    ("SECTION", "section"),
    ("MEANING", "meaning"),
)
_NO_POLICY = "# no policy: queues have no shares over the federation; see `heddle policy apply --help`"
_HISTORY = (("VERSION", "version"), ("APPLIED AT", "applied_at"), ("BY", "applied_by"), ("NOTE", "note"))


@app.command(epilog=EXIT_CODES)
def show(*, output: Output = OutputFormat.TABLE, server: Server = DEFAULT_SERVER, user: User = "") -> None:
    """Print the policy that holds."""
    with front(server, user) as heddle:
        told = heddle.ask(CALLS.policy())
    if output is OutputFormat.TABLE:
        say(_printable(told["text"]) or _NO_POLICY)
    else:
        print_fields(told, output)


@app.command(epilog=EXIT_CODES)
def validate(
    file: PolicyFile,
    *,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail if it names a queue that no cluster has, or no cluster is known")
    ] = False,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Say whether a policy could be applied; if not, in which line it is wrong, and why."""
    with front(server, user) as heddle:
        told = heddle.ask(CALLS.validate_policy(text_of_policy(file), source=file.name))
    print_fields(told, output)
    if strict and told["nowhere"]:
        fail(f"no cluster has {', '.join(told['nowhere'])}; asked were {', '.join(told['checked_on'])}")
    if strict and not told["checked_on"]:
        fail("no cluster tells which queues it has: nothing was checked against them", ExitCode.UNAVAILABLE)


@app.command(epilog=EXIT_CODES)
def diff(file: PolicyFile, *, server: Server = DEFAULT_SERVER, user: User = "") -> None:
    """Show what would change in the policy that holds. Exit code 1 if anything would."""
    with front(server, user) as heddle:
        text = text_of_policy(file)
        heddle.ask(CALLS.validate_policy(text, source=file.name))
        lines = _difference(heddle, text, str(file))
    for line in lines:
        say(_printable(line))
    if lines:
        raise typer.Exit(ExitCode.FAILED)


@app.command(epilog=EXIT_CODES)
def apply(
    file: PolicyFile,
    *,
    note: Annotated[str, typer.Option("--note", "-m", help="Why; kept in the history")] = "",
    expected: Annotated[
        int | None, typer.Option("--expect", help="Refuse unless this version holds now", metavar="VERSION")
    ] = None,
    dry_run: DryRun = False,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Let a policy hold from now on, without a restart. One with an error is refused as a whole."""
    with front(server, user) as heddle:
        text = text_of_policy(file)
        call = CALLS.apply_policy(text, source=file.name, note=note, expected=expected, dry_run=dry_run)
        _print_version(heddle.ask(call), output)


@app.command(epilog=EXIT_CODES)
def history(*, output: Output = OutputFormat.TABLE, server: Server = DEFAULT_SERVER, user: User = "") -> None:
    """List every policy that ever held, newest first; version 0 is the configuration file's."""
    with front(server, user) as heddle:
        rows = heddle.ask(CALLS.policy_history())["versions"]
    print_rows([_for_people(row) for row in rows] if output is OutputFormat.TABLE else rows, _HISTORY, output)


@app.command(epilog=EXIT_CODES)
def rollback(
    version: Version,
    *,
    dry_run: DryRun = False,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Let an old version hold again, as a new one; 0 is the configuration file's, as `release`."""
    with front(server, user) as heddle:
        _print_version(heddle.ask(CALLS.roll_back_policy(version, dry_run=dry_run)), output)


@app.command(epilog=EXIT_CODES)
def release(
    *,
    dry_run: DryRun = False,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Give control back to the configuration file: its queues hold again, here and in every other Heddle."""
    with front(server, user) as heddle:
        _print_version(heddle.ask(CALLS.release_policy(dry_run=dry_run)), output)


app.command(epilog=ADVICE_EPILOG)(advise)
app.command(epilog=EXIT_CODES)(shadow)


@app.command(epilog=EXIT_CODES)
def kinds(
    policy: Annotated[
        str | None, typer.Argument(help="Print the parameters of this one instead", metavar="POLICY")
    ] = None,
    *,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Print every scheduling policy: the worlds that it runs in, and whether queues may have it.

    A queue has it by `containers = "NAME"`, and its parameters as keys beside that. JSON and YAML tell what each needs,
    why no queue may have it, and its parameters, too.
    """
    if policy is not None:
        if policy not in KINDS:
            fail(f"there is no policy {policy!r}: choose one of {', '.join(KINDS)}", ExitCode.USAGE)
        print_rows(_parameter_rows(KINDS[policy]), _PARAMETERS, output)
        return
    rows = [{**_kind_row(kind), "parameters": _parameter_rows(kind)} for kind in KINDS.values()]
    if output is OutputFormat.TABLE:
        print_rows(
            [{**row, "may_queue": "no" if str(row["queue"]).startswith("no: ") else "yes"} for row in rows],
            _KINDS,
            output,
        )
    else:
        print_rows(rows, _KINDS, output)


def _worlds(kind: PolicyKind) -> Iterator[str]:
    """Name its worlds; those of clusters have it where their queues may."""
    for world in World:
        is_there = world is World.DIRECT or kind.name in QUEUE_POLICIES
        if is_there and not kind.refusal(world, WORKLOAD_FACTS):
            yield world.value


def _kind_row(kind: PolicyKind) -> dict[str, str]:
    may_queue = kind.name in QUEUE_POLICIES
    return {
        "policy": kind.name,
        "worlds": ", ".join(_worlds(kind)) or "none",
        "queue": f'containers = "{kind.name}"' if may_queue else f"no: {queue_rejection(kind.name)}",
        "summary": kind.summary,
        "needs": "; ".join(sorted(fact.value for fact in kind.needs)),
        "source": kind.source,
    }


def _parameter_rows(kind: PolicyKind) -> list[dict[str, Any]]:
    """Parameters of a policy; those of its form in a queue, if queues may have it."""
    policy = QUEUE_POLICIES.get(kind.name, kind.policy)
    known = {} if policy is None else parameters_of(policy)
    return [
        {
            "key": each.name,
            "default": each.default,
            "paper": each.default if each.published is None else each.published,
            "allowed": each.range,
            "section": each.section,
            "meaning": each.meaning,
        }
        for each in known.values()
    ]


def text_of_policy(file: Path) -> str:
    """A policy file as it is sent; a file that cannot be read ends the command."""
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        fail(f"{file} cannot be read: {reason_of(exc)}", ExitCode.USAGE)


def _difference(heddle: Front, text: str, name: str) -> list[str]:
    holds = heddle.ask(CALLS.policy())
    before, after = holds["text"].splitlines(), text.splitlines()
    return list(difflib.unified_diff(before, after, f"version {holds['version']}", name, lineterm=""))


def _print_version(told: dict[str, Any], output: OutputFormat) -> None:
    print_fields(_for_people(told) if output is OutputFormat.TABLE else told, output)


def _for_people(told: dict[str, Any]) -> dict[str, Any]:
    """A version without its text, and with its time as one; what was only tried has neither author nor time."""
    shown = {key: value for key, value in told.items() if key != "text"}
    if shown.get("applied_at_ms"):
        shown["applied_at"] = datetime.fromtimestamp(shown["applied_at_ms"] / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    shown.pop("applied_at_ms", None)
    if shown.get("dry_run"):
        shown = {key: value for key, value in shown.items() if key not in {"applied_at", "applied_by", "note"}}
        shown["version"] = f"none, as nothing was changed; {shown.get('version')} was looked at"
    return shown


def _printable(text: str) -> str:
    """Lines of a policy, in which nothing may drive the terminal."""
    return "\n".join(escape(line) for line in text.splitlines())
