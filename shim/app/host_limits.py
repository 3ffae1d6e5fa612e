"""Facts of the machine that Heddle runs on: the clock, the accounts, the secret in a file."""

import asyncio
import gc
import getpass
import grp
import os
import pwd
import random
import re
import resource
import secrets
import socket
import stat
import time
from contextlib import suppress
from pathlib import Path

from shim.config.masters import MastersConfig
from shim.config.sections import SecurityConfig
from shim.errors import ConfigError, reason_of

_COLLECTIONS = (10_000, 5, 100)
"""New objects before a look at the youngest; such looks before one at the middle-aged; such before one at all.

To look at 50,000 that lie about in memory takes 10 ms and more.
"""
_SECRET_BYTES = 32
_SHORTEST_SECRET = 16
_VARIABLE = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class SystemClock:
    """`shim.ports.Clock` by the machine's clocks."""

    def now_s(self) -> float:
        return time.time()

    def monotonic_s(self) -> float:
        return time.monotonic()

    async def sleep(self, duration_s: float) -> None:
        await asyncio.sleep(max(0.0, duration_s))


def one_address_share(connections: int) -> int:
    """Number of a server's connections that one address may have: half, so that nobody alone keeps all others out."""
    return connections // 2


def system_random() -> random.SystemRandom:
    """`shim.ports.RandomSource` by the machine: nobody can guess what comes."""
    return random.SystemRandom()


def allow_many_connections() -> None:
    """Let this process open as many files as it may: each ApplicationMaster takes two, and shells allow 1024."""
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def connections_allowed(wanted: int) -> int:
    """Number of connections that one server may have: a quarter of the files that may be open, if that is less.

    Servers, ResourceManagers and the store share them; where none is left, nobody can be talked to.
    """
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if allowed == resource.RLIM_INFINITY else min(wanted, allowed // 4)


def spare_collector() -> None:
    """Let the collector of garbage leave alone what is there now, and look seldom at what lasts.

    To look through the modules of a process that has started stops everything for a tenth of a second, and finds
    nothing. What a request leaves behind is freed without the collector.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTIONS)


def current_user() -> str:
    """User that this process runs as; its number where the machine has no name for it, as in many a container."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def groups_of(user: str) -> frozenset[str]:
    """The groups of a user on this machine; none for a user that it does not know."""
    try:
        entry = pwd.getpwnam(user)
    except (KeyError, ValueError):  # a name with a zero byte, or that cannot be written, is nobody's
        return frozenset()
    if entry.pw_name != user:  # a directory behind the machine's names finds an entry by other letters, too
        return frozenset()
    names: set[str] = set()
    for group in os.getgrouplist(user, entry.pw_gid):  # not every group there is, of which a directory may have many
        with suppress(KeyError):
            names.add(grp.getgrgid(group).gr_name)
    return frozenset(names)


def own_host_names() -> frozenset[str]:
    """The names that this machine has for itself, short and whole, without asking the network."""
    name = socket.gethostname()
    return frozenset({name, name.partition(".")[0]})


def read_secret(file: Path | None, *, key: str = "security.secret_file") -> bytes:
    """The secret in a file or an environment variable, or a new one that lives as long as the process.

    Args:
        file: Where it is; a name `env:NAME` is of a variable.
        key: What of the configuration names the file, for messages.

    Raises:
        ConfigError: If the file cannot be read, is readable to others, or holds too little.
    """
    if file is None:
        return secrets.token_bytes(_SECRET_BYTES)
    secret, where = _read_from(file, key)
    if len(secret) < _SHORTEST_SECRET:
        message = f"holds {len(secret)} bytes, at least {_SHORTEST_SECRET} are needed: openssl rand -hex 32"
        raise ConfigError(where, key, message)
    return secret


def read_password(file: Path, *, key: str) -> str:
    """The password of Heddle's own at another server, in a file or an environment variable; as `read_secret`.

    Raises:
        ConfigError: If it cannot be read, is readable to others, or is empty: no server asks for an empty one.
    """
    secret, where = _read_from(file, key)
    try:
        password = secret.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise ConfigError(where, key, "is no text") from exc
    if not password:
        raise ConfigError(where, key, "is empty: write the password into it")
    return password


def read_other_secrets(section: SecurityConfig | MastersConfig, *, name: str = "security") -> tuple[bytes, ...]:
    """The second secret that a section names, if it does; as `read_secret`."""
    file = section.other_secret_file
    return () if file is None else (read_secret(file, key=f"{name}.other_secret_file"),)


def _read_from(file: Path, key: str) -> tuple[bytes, str]:
    """Read a file or a variable; with its name, for messages."""
    variable = _VARIABLE.fullmatch(file.name)
    if variable is None:
        return _read_private(file, key), str(file)
    return os.environb.get(variable[1].encode(), b"").strip(), variable[0]


def _read_private(file: Path, key: str) -> bytes:
    try:
        mode, secret = stat.S_IMODE(file.stat().st_mode), file.read_bytes().strip()
    except OSError as exc:
        raise ConfigError(str(file), key, f"cannot be read: {reason_of(exc)}") from exc
    if mode & _OTHERS and not is_credential(file):
        message = f"others may read or write it (mode {mode:04o}): chmod 600 {file}"
        raise ConfigError(str(file), key, message)
    return secret


def is_credential(file: Path) -> bool:
    """True for one that systemd passed on: it guards them by their folder, and by ACLs that look like a group's."""
    folder = os.environ.get("CREDENTIALS_DIRECTORY")
    return bool(folder) and file.resolve().is_relative_to(Path(folder or "").resolve())
