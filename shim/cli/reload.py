"""`heddle reload`: what stands in the configuration counts."""

import time
from collections.abc import Callable

from heddle.client.workflows import CALLS
from shim.cli.front import CHECKS_WITHIN_S, EXIT_CODES, ExitCode, FrontError, Server, User, front
from shim.cli.output import Output, OutputFormat, print_fields
from shim.cli.settings import DEFAULT_SERVER, DryRun

EPILOG = EXIT_CODES
_PAUSE_S = 0.5


def reload(
    *,
    dry_run: DryRun = False,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Have what stands in Heddle's configuration count: all of it, or nothing and an error.

    Heddle checks it as `heddle serve --check` does, answers what it has under way, and begins anew under the same
    process number. Connections that come meanwhile wait, so nobody is refused; ApplicationMasters register again. A
    sub-cluster may be taken away once nothing runs there (`heddle cluster drain`). SIGHUP does the same.
    """
    with front(server, user, timeout_s=CHECKS_WITHIN_S) as heddle:
        plan = heddle.ask(CALLS.reload(dry_run=dry_run))
        if not dry_run and "server.rest" not in plan["changed"]:  # at another address nobody is asked
            before_ms = int(plan["since_ms"])
            wait_until(lambda: heddle.ask(CALLS.configuration_age())["since_ms"] != before_ms)
        print_fields({name: value for name, value in plan.items() if name != "since_ms"}, output)


def wait_until(counts: Callable[[], bool]) -> None:
    """Wait until another configuration counts; Heddle may be away meanwhile.

    Args:
        counts: Asks Heddle.

    Raises:
        FrontError: Heddle does not serve by it in time, or says something else.
    """
    deadline_s = time.monotonic() + CHECKS_WITHIN_S
    while True:
        try:
            if counts():
                return
        except FrontError as exc:
            if exc.code not in {ExitCode.UNREACHABLE, ExitCode.UNAVAILABLE}:
                raise
        if time.monotonic() > deadline_s:
            raise FrontError(ExitCode.UNAVAILABLE, "Heddle does not serve by the new configuration yet: see its log")
        time.sleep(_PAUSE_S)
