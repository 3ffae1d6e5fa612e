"""`heddle doctor`: what is wrong, or will be."""

import typer

from shim.cli.front import EXIT_CODES, ExitCode, Server, User, front
from shim.cli.output import Output, OutputFormat, print_rows
from shim.cli.settings import DEFAULT_SERVER

__all__ = ["doctor"]

_COLUMNS = (("", "level"), ("CHECK", "check"), ("CLUSTER", "cluster"), ("FOUND", "message"), ("DO", "advice"))


def doctor(*, output: Output = OutputFormat.TABLE, server: Server = DEFAULT_SERVER, user: User = "") -> None:
    """Look for trouble: reachability, versions, clocks, epochs, queues, scheduler addresses, proxy users, the store.

    Also for two ids that lead to one cluster, addresses and names of queues that lead nowhere, Kerberos, and who may do
    what.
    """
    with front(server, user) as heddle:
        findings = heddle.get("/heddle/v1/doctor")["findings"]
    print_rows(findings, _COLUMNS, output)
    if any(found["level"] == "error" for found in findings):
        raise typer.Exit(ExitCode.FAILED)


doctor.__doc__ = f"{doctor.__doc__}\n\n{EXIT_CODES} It is 1 if a check found an error; warnings are not errors."
