"""A throw-away PostgreSQL server from the machine's own binaries: ready in about a second, gone without a trace."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom
from types import TracebackType
from typing import Self

from shim.errors import HeddleError

_TIMEOUT_S = 60
_STARTS = 3
_SERVER_OPTIONS = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=200")


class PostgreSQLMissingError(HeddleError):
    """The machine has no PostgreSQL server binaries."""


@dataclass(frozen=True, slots=True)
class ServedTLS:
    """Files by which a server speaks TLS, and takes nobody without.

    Attributes:
        certificate: Its own.
        key: Of its certificate.
        client_ca: Who has no certificate of this CA is not let in; None lets everybody in.
    """

    certificate: Path
    key: Path
    client_ca: Path | None = None

    @property
    def access(self) -> str:
        """The lines of `pg_hba.conf`."""
        needed = "" if self.client_ca is None else " clientcert=verify-ca"
        return f"local all all trust\nhostssl all all 127.0.0.1/32 trust{needed}\n"


class LocalPostgreSQL:
    """A server on a free port of 127.0.0.1, with one database `heddle`, that trusts whoever connects.

    Use it as a context manager. As root it runs as the first other user of `postgres` and `nobody`, since PostgreSQL
    refuses to run as root. What it stores does not survive a crash of the machine: nothing is synced.

    Raises:
        PostgreSQLMissingError: If no server binaries are found; the message says what to install.
    """

    def __init__(self, tls: ServedTLS | None = None) -> None:
        self._tls = tls
        self._binaries = _find_binaries()
        self._user = _unprivileged_user()
        self._folder = Path(tempfile.mkdtemp(prefix="heddle-postgresql-"))
        self._data = self._folder / "data"
        self._port = 0

    @property
    def url(self) -> str:
        """Address for SQLAlchemy without a driver: `postgresql://...`; drivers go before the colon."""
        return f"postgresql://postgres@127.0.0.1:{self._port}/heddle"

    def __enter__(self) -> Self:
        if self._user is not None:
            account = pwd.getpwnam(self._user)
            os.chown(self._folder, account.pw_uid, account.pw_gid)
        try:
            kind = ("--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8")
            self._run("initdb", *kind, f"--pgdata={self._data}")
            self._start(" ".join(f"-c {option}" for option in (*_SERVER_OPTIONS, *self._tls_options())))
            self._run("createdb", f"--host={self._folder}", f"--port={self._port}", "--username=postgres", "heddle")
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _start(self, options: str) -> None:
        """Start it; anew on another port if somebody has taken that one since it was seen to be free."""
        log = self._folder / "log"
        place = (f"--pgdata={self._data}", f"--log={log}")
        for left in reversed(range(_STARTS)):
            self._port = free_port()
            listen = f"-p {self._port} -h 127.0.0.1 -k {self._folder} {options}"
            try:
                self._run("pg_ctl", "start", "--wait", *place, f"--options={listen}")
            except HeddleError as error:
                if not left:
                    raise HeddleError(f"{error}\n{log.read_text() if log.exists() else ''}") from error
            else:
                return

    def _tls_options(self) -> list[str]:
        """Bring the files where the server's user may read them, as it wants them; the options that name them."""
        if self._tls is None:
            return []
        (self._data / "pg_hba.conf").write_text(self._tls.access, encoding="utf-8")
        named = {"ssl_cert_file": self._tls.certificate, "ssl_key_file": self._tls.key}
        if self._tls.client_ca is not None:
            named["ssl_ca_file"] = self._tls.client_ca
        for option, file in named.items():
            own = self._folder / option
            shutil.copyfile(file, own)
            own.chmod(0o600)
            if self._user is not None:
                shutil.chown(own, self._user)
        return ["ssl=on", *(f"{option}={self._folder / option}" for option in named)]

    def _stop(self) -> None:
        if (self._data / "postmaster.pid").exists():
            self._run("pg_ctl", "stop", "--wait", "--mode=immediate", f"--pgdata={self._data}")
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        # into a file: the server that pg_ctl leaves behind would hold a pipe open for ever
        with (self._folder / f"{program}.out").open("w+", encoding="utf-8") as output:
            result = subprocess.run(
                [str(self._binaries / program), *arguments],
                user=self._user,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=_TIMEOUT_S,
                check=False,
            )
            output.seek(0)
            if result.returncode != 0:
                raise HeddleError(f"{program} failed ({result.returncode}): {output.read().strip()}")


def _find_binaries() -> Path:
    """The newest installed server's folder."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    found = str(versions[-1]) if versions else shutil.which("initdb")
    if found is None:
        raise PostgreSQLMissingError("no PostgreSQL server here: install it (Debian: apt-get install postgresql)")
    return Path(found).parent


def _unprivileged_user() -> str | None:
    """User to run as if we are root; None for ourselves."""
    if os.geteuid() != 0:
        return None
    names = {account.pw_name for account in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in names)


# Ports of this machine that nobody listens on, for servers that start a moment later.

_PORTS = range(11_000, 19_000)
"""The system gives those above 32,768 to whoever asks for any, and labs begin at 20,000."""


def free_addresses(count: int, host: str = "127.0.0.1") -> list[str]:
    """Addresses of this machine, at one of its hosts, that nobody listens on now, all different.

    Raises:
        HeddleError: If there are not so many.
    """
    return [f"{host}:{port}" for port in _free(count, host)]


def free_port(host: str = "127.0.0.1") -> int:
    """One of them."""
    return _free(1, host)[0]


def _free(count: int, host: str) -> list[int]:
    found: list[int] = []
    for port in SystemRandom().sample(_PORTS, len(_PORTS)):
        with suppress(OSError), socket.create_server((host, port)):
            found.append(port)
        if len(found) == count:
            return found
    raise HeddleError(f"of the ports {_PORTS.start} to {_PORTS.stop - 1} of {host} no {count} are free")
