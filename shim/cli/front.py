"""A running Heddle, as the verbs see it: one HTTP client, and what each failure means for the exit code."""

import getpass
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import httpx
import typer

from adapters.kerberos import WebInitiator
from heddle import client
from heddle.client.auth import token_of
from heddle.client.calls import Call
from heddle.client.workflows import CALLS
from shim.cli.completeness import ClusterAge, ages_of, told_of_missing
from shim.cli.settings import CONFIG_FILE, server_of
from shim.errors import ConfigError, HeddleError
from shim.protocol.hrpc import SASLError
from shim.telemetry import escape


class ExitCode(IntEnum):
    """Meaning of a verb's exit code; 0 is success."""

    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    UNREACHABLE = 4
    UNAVAILABLE = 5
    NOT_ALLOWED = 6
    INCOMPLETE = 7

    @property
    def meaning(self) -> str:
        """The code in a few words, as help and docs/operators/errors.md have it."""
        return _MEANING[self]


_MEANING = {
    ExitCode.FAILED: "refused or failed",
    ExitCode.USAGE: "wrong usage",
    ExitCode.NOT_FOUND: "no such thing",
    ExitCode.UNREACHABLE: "Heddle does not answer",
    ExitCode.UNAVAILABLE: "not now (try again)",
    ExitCode.NOT_ALLOWED: "not allowed",
    ExitCode.INCOMPLETE: "done, but a cluster is missing (--strict)",
}
EXIT_CODES = f"Exit codes: 0 done, {', '.join(f'{code.value} {code.meaning}' for code in ExitCode)}."

_CODES: tuple[tuple[type[client.ClientError], ExitCode], ...] = (
    (client.AddressError, ExitCode.USAGE),
    (client.CredentialsError, ExitCode.NOT_ALLOWED),
    (client.NotAllowedError, ExitCode.NOT_ALLOWED),
    (client.NoSuchThingError, ExitCode.NOT_FOUND),
    (client.TryLaterError, ExitCode.UNAVAILABLE),
    (client.NotReachedError, ExitCode.UNREACHABLE),
    (client.NoAnswerError, ExitCode.UNREACHABLE),
    (client.ForeignAnswerError, ExitCode.UNREACHABLE),
)
_ADVICE: tuple[tuple[type[client.ClientError], str], ...] = (
    (client.AddressError, "write --server http://host:port"),
    (client.UntrustedServerError, ""),
    (
        client.NotReachedError,
        "Start one with `heddle serve -c heddle.toml`, or name another with --server or HEDDLE_SERVER",
    ),
)
"""What to do at a command line, where the client would say something else."""


def _near(context: typer.Context, value: str) -> str:
    """The address of a heddle.toml beside whoever names none."""
    source = context.get_parameter_source("server")
    return server_of(Path(CONFIG_FILE), value) if source is not None and source.name == "DEFAULT" else value


Server = Annotated[
    str,
    typer.Option(
        "--server",
        envvar="HEDDLE_SERVER",
        help="Where Heddle serves REST; a heddle.toml in this folder goes before the default",
        metavar="URL",
        callback=_near,
    ),
]
User = Annotated[
    str,
    typer.Option(
        "--user",
        envvar="HADOOP_USER_NAME",
        help=r"Whose call it is \[default: who you are on this machine]",
        show_default=False,
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Fail if a cluster's part is absent or old; which is said in any case")
]
_NOT_OF_CLUSTERS = ("/heddle/v1/policy", "/heddle/v1/tokens", "/heddle/v1/hardening")
"""What is the same whichever clusters are there."""


ANSWERS_WITHIN_S = 30.0
CHECKS_WITHIN_S = 180.0
"""For what Heddle has checked by the program that would run it: it gives that two minutes."""


class FrontError(HeddleError):
    """Heddle refused, failed or was not there.

    Attributes:
        code: The exit code that says so.
    """

    def __init__(self, code: ExitCode, message: str) -> None:
        super().__init__(message)
        self.code = code


class Front:
    """Calls to one Heddle in the name of one user, by `heddle.client`; verbs show whatever is in its answers.

    Args:
        server: Base address, `http://host:port`.
        user: Sent as `user.name`; a Heddle that asks for tickets goes by the ticket.
        token: API token that is shown instead of both; empty for none.
        transport: Instead of the network, for tests.
        ca_file: CA of Heddle's certificate, if it is not one of the machine's.
        timeout_s: For each answer.

    Attributes:
        missing: Clusters whose part in what was read is absent or old.
        as_of: When the oldest part of the rest was true; empty before anything was read.

    Raises:
        FrontError: If `ca_file` or the token cannot be used.
    """

    def __init__(
        self,
        server: str,
        user: str,
        *,
        transport: httpx.BaseTransport | None = None,
        ca_file: str = "",
        token: str = "",
        timeout_s: float = ANSWERS_WITHIN_S,
    ) -> None:
        self.missing: tuple[str, ...] = ()
        self.as_of = ""
        self._ages: dict[str, ClusterAge] | None = None
        try:
            self._client = client.Client(
                server,
                auth=client.Token(token) if token else client.Ticket(user, _proof),
                ca_file=ca_file,
                timeout_s=timeout_s,
                patience=client.Patience(retries=0),
                on_answer=self._note_age,
                transport=transport,
            )
        except client.CredentialsError as exc:
            raise FrontError(ExitCode.USAGE, str(exc)) from exc

    @property
    def server(self) -> str:
        """Where it is."""
        return self._client.server

    def ask(self, call: Call[Any]) -> Any:
        """The document that a call is answered with.

        Raises:
            FrontError: If there is none, or no Heddle.
        """
        try:
            return self._client.document(call)
        except client.ClientError as exc:
            raise _front_error(exc) from exc

    def ages(self) -> dict[str, ClusterAge]:
        """How old what is known of each cluster is; asked for once, and empty if nobody tells."""
        if self._ages is None:
            try:
                self._ages = ages_of(self.ask(CALLS.clusters())["clusters"])
            except (FrontError, KeyError, TypeError):
                self._ages = {}
        return self._ages

    def close(self) -> None:
        """Give up the connection."""
        self._client.close()

    def _note_age(self, call: Call[Any], age: client.Freshness) -> None:
        """Keep what an answer says of its own age: all that was missing in any, and the oldest moment."""
        if call.method == "GET" and not call.template.startswith(_NOT_OF_CLUSTERS):
            self.missing = tuple(dict.fromkeys((*self.missing, *age.missing)))
            self.as_of = min(age.as_of, self.as_of or age.as_of)  # RFC 3339 in UTC sorts as time does


def _front_error(problem: client.ClientError) -> FrontError:
    code = next((code for kind, code in _CODES if isinstance(problem, kind)), ExitCode.FAILED)
    advice = next((text for kind, text in _ADVICE if isinstance(problem, kind)), problem.next) or problem.next
    mark = ": " if isinstance(problem, client.AddressError) else ". "
    return FrontError(code, f"{problem.what}{mark}{advice}" if advice else problem.what)


def _proof(host: str) -> bytes:
    """Show the ticket of whoever runs the verb."""
    try:
        return WebInitiator().token_for(host)
    except SASLError as exc:
        raise client.CredentialsError(f"{exc}, and name Heddle by the host of its principal HTTP/HOST") from exc
    except ConfigError as exc:
        raise client.CredentialsError(str(exc)) from exc


def _name_here() -> str:
    """Who calls, where nobody says it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError) as exc:  # as in many a container
        message = f"this machine has no name for you (uid {os.getuid()}): write --user NAME"
        raise FrontError(ExitCode.USAGE, message) from exc


def fail(message: str, code: ExitCode = ExitCode.FAILED) -> NoReturn:
    """End the command with a message on standard error."""
    typer.secho(escape(message), fg=typer.colors.RED, err=True)
    raise typer.Exit(code)


def fail_for_config(error: ConfigError) -> NoReturn:
    """End the command with all mistakes of a configuration, a line for each."""
    *others, last = error.mistakes
    for mistake in others:
        typer.secho(escape(str(mistake)), fg=typer.colors.RED, err=True)
    fail(str(last), ExitCode.USAGE)


@contextmanager
def front(server: str, user: str, *, strict: bool = False, timeout_s: float = ANSWERS_WITHIN_S) -> Iterator[Front]:
    """A `Front` whose failures end the command with their exit code.

    At its end it says on standard error which clusters were missing in what was read; with `strict` that has an exit
    code of its own, so what is to be printed all the same is printed before.
    """
    try:
        ca_file, token = os.environ.get("HEDDLE_CA_FILE", ""), token_of(os.environ)
        with closing(Front(server, user or _name_here(), ca_file=ca_file, token=token, timeout_s=timeout_s)) as made:
            try:
                yield made
            finally:
                _say_missing(made)
            if strict and made.missing:
                raise typer.Exit(ExitCode.INCOMPLETE)
    except client.CredentialsError as exc:
        fail(str(exc), ExitCode.USAGE)
    except FrontError as exc:
        fail(str(exc), exc.code)


def _say_missing(heddle: Front) -> None:
    if heddle.missing:
        for line in told_of_missing(heddle.missing, heddle.ages(), heddle.as_of):
            typer.secho(escape(line), fg=typer.colors.YELLOW, err=True)
