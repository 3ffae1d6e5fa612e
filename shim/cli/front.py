"""A running Heddle, as the verbs see it: one HTTP client, and what each failure means for the exit code."""

import getpass
import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import httpx
import typer

from shim.cli.completeness import ClusterAge, ages_of, told_of_missing
from shim.cli.settings import CONFIG_FILE, server_of
from shim.cli.shown_tokens import TokenFileError, TokenShown, shown_token
from shim.cli.tickets import TicketMissingError, TicketShown, asks_for_ticket
from shim.errors import ConfigError, HeddleError
from shim.telemetry import escape

__all__ = [
    "EXIT_CODES",
    "ExitCode",
    "Front",
    "FrontError",
    "Server",
    "Strict",
    "User",
    "fail",
    "fail_for_config",
    "front",
]

_TIMEOUT_S = 30.0
_JAVA_PREFIX = "java.lang.Exception: "


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
        """The code in a few words, as help and docs/errors.md have it."""
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

_CODE_BY_STATUS = {
    401: ExitCode.NOT_ALLOWED,
    403: ExitCode.NOT_ALLOWED,
    404: ExitCode.NOT_FOUND,
    429: ExitCode.UNAVAILABLE,
    503: ExitCode.UNAVAILABLE,
}


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


class FrontError(HeddleError):
    """Heddle refused, failed or was not there.

    Attributes:
        code: The exit code that says so.
    """

    def __init__(self, code: ExitCode, message: str) -> None:
        super().__init__(message)
        self.code = code


class Front:
    """Calls to one Heddle in the name of one user.

    Args:
        server: Base address, `http://host:port`.
        user: Sent as `user.name`; a Heddle that asks for tickets goes by the ticket.
        token: API token that is shown instead of both; empty for none.
        transport: Instead of the network, for tests.
        ca_file: CA of Heddle's certificate, if it is not one of the machine's.

    Attributes:
        missing: Clusters whose part in what was read is absent or old.
        as_of: When the oldest part of the rest was true; empty before anything was read.

    Raises:
        FrontError: If `ca_file` cannot be used.
    """

    def __init__(
        self,
        server: str,
        user: str,
        *,
        transport: httpx.BaseTransport | None = None,
        ca_file: str = "",
        token: str = "",
    ) -> None:
        self.server = server.rstrip("/")
        self.missing: tuple[str, ...] = ()
        self.as_of = ""
        self._ages: dict[str, ClusterAge] | None = None
        self._claim = {} if token else {"user.name": user}
        # environment variables for proxies are for the web, not for a cluster's own addresses
        self._http = httpx.Client(
            base_url=self.server,
            timeout=_TIMEOUT_S,
            trust_env=False,
            verify=_trusting(ca_file) if ca_file else True,
            transport=transport,
            headers={"Accept": "application/json"},
            auth=TokenShown(token) if token else TicketShown(),
        )

    def get(self, path: str, **query: str) -> Any:
        """The document at a path.

        Raises:
            FrontError: If there is none, or no Heddle.
        """
        return self._call("GET", path, query)

    def post(self, path: str, body: Any = None, **query: str) -> Any:
        """Send a document; see `get`."""
        return self._call("POST", path, query, body)

    def put(self, path: str, body: Any, **query: str) -> Any:
        """Replace a document; see `get`."""
        return self._call("PUT", path, query, body)

    def delete(self, path: str) -> Any:
        """End a thing; see `get`."""
        return self._call("DELETE", path, {})

    def ages(self) -> dict[str, ClusterAge]:
        """How old what is known of each cluster is; asked for once, and empty if nobody tells."""
        if self._ages is None:
            try:
                self._ages = ages_of(self.get("/heddle/v1/clusters")["clusters"])
            except (FrontError, KeyError, TypeError):
                self._ages = {}
        return self._ages

    def close(self) -> None:
        """Give up the connection."""
        self._http.close()

    def _call(self, method: str, path: str, query: Mapping[str, str], body: Any = None) -> Any:
        parameters = {**query, **self._claim}
        try:
            answer = self._http.request(method, path, params=parameters, json=body)
        except TicketMissingError as exc:
            raise FrontError(ExitCode.NOT_ALLOWED, str(exc)) from exc
        except httpx.TimeoutException as exc:
            message = f"{self.server} did not answer within {_TIMEOUT_S:g} s"
            raise FrontError(ExitCode.UNREACHABLE, message) from exc
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as exc:
            message = f"{self.server!r} is not the address of a Heddle: write --server http://host:port"
            raise FrontError(ExitCode.USAGE, message) from exc
        except httpx.HTTPError as exc:
            if told := _told_of_tls(self.server, exc):
                raise FrontError(ExitCode.UNREACHABLE, told) from exc
            message = (
                f"no Heddle at {self.server}: {str(exc).rstrip('.')}. Start one with `heddle serve -c heddle.toml`, "
                "or name another with --server or HEDDLE_SERVER"
            )
            raise FrontError(ExitCode.UNREACHABLE, message) from exc
        if answer.is_success:
            if method == "GET" and not path.startswith(_NOT_OF_CLUSTERS):
                self._note_age(answer)
            return answer.json() if answer.content else {}
        if asks_for_ticket(answer):
            raise FrontError(ExitCode.NOT_ALLOWED, f"{self.server} does not take the ticket that was shown")
        complaint = _complaint(answer)
        if complaint is None:
            told = f"{method} {path}: status {answer.status_code}, without a reason"
            raise FrontError(ExitCode.UNREACHABLE, f"{told}. Is it a Heddle that serves {self.server}?")
        raise FrontError(_CODE_BY_STATUS.get(answer.status_code, ExitCode.FAILED), complaint)

    def _note_age(self, answer: httpx.Response) -> None:
        """Keep what an answer says of its own age: all that was missing in any, and the oldest moment."""
        named = (each.strip() for each in answer.headers.get("Heddle-Missing", "").split(","))
        self.missing = tuple(dict.fromkeys((*self.missing, *filter(None, named))))
        as_of = answer.headers.get("Heddle-As-Of", "")
        self.as_of = min(as_of, self.as_of or as_of)  # RFC 3339 in UTC sorts as time does


def _told_of_tls(server: str, error: BaseException) -> str:
    """What was wrong with the proof that a server is who it says; empty if it was something else."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    if isinstance(cause, ssl.SSLCertVerificationError):
        advice = "Write the name that its certificate is for, and name the file of its CA in HEDDLE_CA_FILE"
        return f"{server} does not prove who it is: {cause.verify_message.rstrip('.')}. {advice}"
    if isinstance(cause, ssl.SSLError):
        return f"no TLS with {server}: {cause.reason or cause}. Does it speak http:// alone, or ask for a certificate?"
    if isinstance(error, (httpx.RemoteProtocolError, httpx.ReadError)) and server.startswith("http:"):
        return f"{server} ended the connection without an answer. If it speaks TLS, write https://"
    return ""


def _name_here() -> str:
    """Who calls, where nobody says it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError) as exc:  # as in many a container
        message = f"this machine has no name for you (uid {os.getuid()}): write --user NAME"
        raise FrontError(ExitCode.USAGE, message) from exc


def _trusting(ca_file: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as exc:
        raise FrontError(ExitCode.USAGE, f"HEDDLE_CA_FILE={ca_file} cannot be used: {exc}") from exc


def _complaint(answer: httpx.Response) -> str | None:
    """Message of a ResourceManager's error body; None if it has none."""
    try:
        message = str(answer.json()["RemoteException"]["message"])
    except (ValueError, KeyError, TypeError):
        return None
    return message.removeprefix(_JAVA_PREFIX)  # web services of Java have it, people need not


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
def front(server: str, user: str, *, strict: bool = False) -> Iterator[Front]:
    """A `Front` whose failures end the command with their exit code.

    At its end it says on standard error which clusters were missing in what was read; with `strict` that has an exit
    code of its own, so what is to be printed all the same is printed before.
    """
    try:
        ca_file, token = os.environ.get("HEDDLE_CA_FILE", ""), shown_token(os.environ)
        with closing(Front(server, user or _name_here(), ca_file=ca_file, token=token)) as made:
            try:
                yield made
            finally:
                _say_missing(made)
            if strict and made.missing:
                raise typer.Exit(ExitCode.INCOMPLETE)
    except TokenFileError as exc:
        fail(str(exc), ExitCode.USAGE)
    except FrontError as exc:
        fail(str(exc), exc.code)


def _say_missing(heddle: Front) -> None:
    if heddle.missing:
        for line in told_of_missing(heddle.missing, heddle.ages(), heddle.as_of):
            typer.secho(escape(line), fg=typer.colors.YELLOW, err=True)
