"""`heddle doctor`: what is wrong, or will be."""

from typing import Annotated

import typer

from heddle.client.workflows import CALLS
from shim.cli.front import EXIT_CODES, ExitCode, Server, Strict, User, front
from shim.cli.output import Output, OutputFormat, print_rows
from shim.cli.settings import DEFAULT_SERVER

EPILOG = f"{EXIT_CODES} It is 1 if a check found an error, or a line is not ok; warnings are not errors."

_LINE_COLUMNS = (("", "state"), ("LINE", "id"), ("SHOULD BE", "what"), ("FOUND", "found"), ("DO", "mend"))
_COLUMNS = (("", "level"), ("CHECK", "check"), ("CLUSTER", "cluster"), ("FOUND", "message"), ("DO", "advice"))


def doctor(
    *,
    hardening: Annotated[
        bool, typer.Option("--hardening", help="Check each line of the hardening guide instead; for operators")
    ] = False,
    strict: Strict = False,
    output: Output = OutputFormat.TABLE,
    server: Server = DEFAULT_SERVER,
    user: User = "",
) -> None:
    """Look for trouble: reachability, versions, clocks, epochs, queues, scheduler addresses, proxy users, the store.

    Also for two ids that lead to one cluster, addresses and names of queues that lead nowhere, Kerberos, certificates,
    and who may do what. With --hardening: what keeps others out, line by line as in the page hardening.md; ok, not
    ok, or cannot tell.
    """
    with front(server, user, strict=strict) as heddle:
        if hardening:
            lines = heddle.ask(CALLS.hardening())["lines"]
            print_rows(lines, _LINE_COLUMNS, output)
            if any(line["state"] == "not ok" for line in lines):
                raise typer.Exit(ExitCode.FAILED)
            return
        findings = heddle.ask(CALLS.doctor())["findings"]
        print_rows(findings, _COLUMNS, output)
        if any(found["level"] == "error" for found in findings):
            raise typer.Exit(ExitCode.FAILED)
