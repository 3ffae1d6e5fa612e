"""`heddle policy shadow`: where the policy in a queue's shadow differs from the one in force."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from heddle.client.workflows import CALLS
from shim.cli.front import Server, User, front
from shim.cli.output import Output, OutputFormat, print_rows, say
from shim.cli.settings import DEFAULT_SERVER
from shim.telemetry import escape

__all__ = ["shadow"]

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
