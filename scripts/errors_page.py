"""Write errors.md from the hierarchy of errors and the exit codes, or check that it is current (`--check`)."""

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from shim.cli.front import ExitCode
from shim.errors import HeddleError, UnavailableError, UserError

PAGE = Path(__file__).resolve().parent.parent / "docs" / "operators" / "errors.md"

Kind = TypeVar("Kind", bound=HeddleError)

_HEAD = """# Errors and exit codes

<!-- written by scripts/errors_page.py: change shim/errors.py or shim/cli/front.py instead -->

What to do about a message that you met: [the runbook](runbook.md#what-you-may-meet).

## Exit codes of the commands

| code | meaning |
|---|---|
| 0 | done |
"""

_WEB = """
## Answers of the web services

The body is a ResourceManager's: `{"RemoteException": {"exception": ..., "javaClassName": ..., "message": ...}}`.
Statuses that HTTP's own rules give (404 of an unknown path, 405, 421, 431) are not in this table.

| status | `javaClassName` | error | when |
|---|---|---|---|
"""

_ALL = """
## All errors

Names in logs and tracebacks. A row's error is a kind of the one that it names: who waits for that gets this one, too.

| error | is a | what it says |
|---|---|---|
"""


def page() -> str:
    """The whole page."""
    codes = "".join(f"| {code.value} | {code.meaning} |\n" for code in ExitCode)
    return f"{_HEAD}{codes}{_WEB}{''.join(_answers())}{_ALL}{''.join(_rows())}"


def _kinds(of: type[Kind]) -> Iterator[type[Kind]]:
    """Yield an error and all its kinds, each after what it is a kind of, in the order of their definition."""
    yield of
    for each in of.__subclasses__():
        if each.__module__ == HeddleError.__module__:
            yield from _kinds(each)


def _answers() -> Iterator[str]:
    for error in sorted(list(_kinds(UserError))[1:], key=lambda each: each.http_status):
        yield f"| {error.http_status} | `{error.java_class}` | `{error.__name__}` | {_meaning(error)} |\n"
    for unavailable in list(_kinds(UnavailableError))[1:]:
        yield f"| 503, with `Retry-After` | | `{unavailable.__name__}` | {_meaning(unavailable)} |\n"


def _rows() -> Iterator[str]:
    for error in list(_kinds(HeddleError))[1:]:
        yield f"| `{error.__name__}` | `{error.__bases__[0].__name__}` | {_meaning(error)} |\n"


def _meaning(error: type[HeddleError]) -> str:
    """The first paragraph of its docstring, as one line of a table."""
    told = inspect.cleandoc(error.__doc__ or "").partition("\n\n")[0]
    return " ".join(told.split()).rstrip(".").replace("|", "\\|")


def main() -> int:
    """Write the page; with `--check`, say whether it is current."""
    if "--check" in sys.argv[1:]:
        is_current = PAGE.read_text("utf-8") == page()
        if not is_current:
            print(f"{PAGE.name} is not what the code says: run python -m scripts.errors_page", file=sys.stderr)
        return 0 if is_current else 1
    PAGE.write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
