"""Groups of users, asked for in a directory.

The rules are those of Hadoop's `LdapGroupsMapping`: the entry of a user by a filter, then the groups that have it as a
member, and those that have these, as many levels up as are configured. What a caller wrote is escaped wherever it
stands in a filter (RFC 4515 section 3).

A directory compares by rules of its own: case, width and marks of letters do not count, so that it finds the entry of
`ada` by `ADA`, too. To Heddle these are two users: an entry is a user's if an attribute that the filter compares has
the name, character by character.
"""

import importlib
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from shim.errors import ConfigError, UnavailableError

USER, ENTRY = "{user}", "{dn}"
"""Stand in filters for the user's name, and for the distinguished name of his entry or of a group."""

_PLACES = re.compile(r"\{user\}|\{dn\}")
_COMPARED = re.compile(r"\(\s*([A-Za-z][A-Za-z0-9.;-]*)\s*=([^()*]*\{user\}[^()*]*)\)")
_MOST_GROUPS = 2000
_LEAST_WAIT_S = 0.001
_MOST_BYTES = 4 * 1024 * 1024
"""Of one answer: two thousand groups with names of 2 KiB, though a directory may send more than it was asked for."""
_NO_REFERRALS = 0
_WITHOUT_TLS = "ldap://"
_WITHOUT_TEXT = {"TIMEOUT": "Timed out"}
"""Errors that python-ldap raises without a description, where libldap itself has told of none."""

_ROUNDS = 3
"""Answers that a question waits for: to a login, for the user, for the groups of a level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectorySettings:
    """Servers of a directory, and the places of users and groups in it.

    Attributes:
        urls: Tried in turn.
        start_tls: Whether to ask for TLS at those that begin without (`ldap://`).
        ca_file: CAs of the servers, in PEM form; None for the machine's.
        bind_dn: Who Heddle is there; empty for nobody. `password` is its own.
        user_filter: Finds the entry of `{user}` below `user_base`.
        group_filter: Finds groups with the member `{dn}` or `{user}` below `group_base`.
        levels: How many levels of groups above the first count, too.
        timeout_s: For each of: connecting, an answer.
    """

    urls: Sequence[str]
    start_tls: bool
    ca_file: Path | None
    bind_dn: str
    password: str
    user_base: str
    user_filter: str
    group_base: str
    group_filter: str
    group_name: str
    levels: int
    timeout_s: float


def compared(user_filter: str) -> tuple[tuple[str, str], ...]:
    """Attributes that a filter compares with the user's name, each with what `{user}` stands in."""
    return tuple(_COMPARED.findall(user_filter))


class LDAPGroups:
    """Looks up the groups of users. Each question has a connection of its own: answers are kept by who asks."""

    def __init__(self, settings: DirectorySettings) -> None:
        self._settings = settings
        self._ldap = load_library()
        self._compared = compared(settings.user_filter)
        self._calls = LimitedCalls(_ROUNDS * settings.timeout_s * max(1, len(settings.urls)))

    def __call__(self, user: str) -> frozenset[str]:
        """Ask for the groups of a user; none of one that has no entry. Blocks.

        Raises:
            UnavailableError: The directory cannot be asked, or two entries are called so.
        """
        if not user or "\0" in user:
            return frozenset()
        return self._calls.run(lambda: self._look_up(user))

    def check(self) -> None:
        """Connect, log in and look at both bases.

        Raises:
            UnavailableError: One of it fails; the message says which.
        """
        self._calls.run(self._look_at_bases)

    def _look_up(self, user: str) -> frozenset[str]:
        with self._connected() as connection:
            names = self._entries_of(connection, user)
            if not names:
                return frozenset()
            if len(names) > 1:
                raise UnavailableError(
                    f"the directory has several entries for {user!r}: mend security.ldap.user_filter"
                )
            return self._groups_of(connection, user, names[0])

    def _look_at_bases(self) -> None:
        settings = self._settings
        with self._connected() as connection:
            for key, base in (("user_base", settings.user_base), ("group_base", settings.group_base)):
                try:
                    connection.search_ext_s(base, self._ldap.SCOPE_BASE, timeout=settings.timeout_s)
                except self._ldap.NO_SUCH_OBJECT as exc:
                    message = f"the directory has no {base!r} that Heddle may see: mend security.ldap.{key}"
                    raise UnavailableError(message) from exc

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """Log in for one question."""
        library = self._ldap
        connection = self._logged_in()
        try:
            yield connection
        except library.LDAPError as exc:
            url = connection.get_option(library.OPT_URI)
            raise UnavailableError(f"the directory at {url}: {_reason_of(exc)}") from exc
        finally:
            _close(library, connection)

    def _logged_in(self) -> Any:
        """Log in at the first server that lets Heddle in."""
        library, settings = self._ldap, self._settings
        troubles = []
        for url in settings.urls:
            connection = library.initialize(url)
            try:
                self._set_options(connection)
                if settings.start_tls and url.startswith(_WITHOUT_TLS):
                    connection.start_tls_s()
                connection.simple_bind_s(settings.bind_dn, settings.password)
            except library.LDAPError as exc:
                troubles.append(f"the directory at {url}: {_reason_of(exc)}")
                _close(library, connection)
            else:
                return connection
        raise UnavailableError("; ".join(troubles))

    def _set_options(self, connection: Any) -> None:
        library, settings = self._ldap, self._settings
        for option in (library.OPT_NETWORK_TIMEOUT, library.OPT_TIMEOUT):
            connection.set_option(option, settings.timeout_s)
        connection.set_option(library.OPT_PROTOCOL_VERSION, library.VERSION3)
        connection.set_option(library.OPT_REFERRALS, _NO_REFERRALS)  # to servers that nobody configured
        connection.set_option(library.OPT_X_TLS_REQUIRE_CERT, library.OPT_X_TLS_DEMAND)
        connection.set_option(library.OPT_X_TLS_PROTOCOL_MIN, library.OPT_X_TLS_PROTOCOL_TLS1_2)
        if settings.ca_file is not None:
            connection.set_option(library.OPT_X_TLS_CACERTFILE, str(settings.ca_file))
        connection.set_option(library.OPT_X_TLS_NEWCTX, 0)  # the last: it puts the others in force

    def _entries_of(self, connection: Any, user: str) -> list[str]:
        settings = self._settings
        names = {(attribute.lower(), pattern.replace(USER, user).encode()) for attribute, pattern in self._compared}
        wanted = [attribute for attribute, _ in self._compared]
        rows = self._search(connection, settings.user_base, settings.user_filter, {USER: user, ENTRY: ""}, wanted)
        return [
            entry
            for entry, values in rows
            if any((attribute.lower(), each) in names for attribute, held in values.items() for each in held)
        ]

    def _groups_of(self, connection: Any, user: str, name: str) -> frozenset[str]:
        """Walk up from the user's own groups, level by level; groups that have each other end it."""
        found = newest = self._groups_with(connection, user, name)
        for _ in range(self._settings.levels):
            above: dict[str, str] = {}
            for each in newest:
                above |= self._groups_with(connection, each, each)
            newest = {each: told for each, told in above.items() if each not in found}
            if not newest:
                break
            found = found | newest
            if len(found) > _MOST_GROUPS:
                raise UnavailableError(f"the directory tells of more than {_MOST_GROUPS} groups of {user!r}")
        return frozenset(filter(None, found.values()))

    def _groups_with(self, connection: Any, user: str, name: str) -> dict[str, str]:
        """Distinguished names of the groups that have a member, with their names."""
        settings = self._settings
        values, wanted = {USER: user, ENTRY: name}, [settings.group_name]
        rows = self._search(connection, settings.group_base, settings.group_filter, values, wanted)
        return {group: told.get(settings.group_name, [b""])[0].decode("utf-8", "replace") for group, told in rows}

    def _search(
        self, connection: Any, base: str, pattern: str, values: Mapping[str, str], wanted: list[str]
    ) -> list[tuple[str, dict[str, list[bytes]]]]:
        escaped = self._ldap.filter.escape_filter_chars
        # in one pass: what a value holds is not looked at again
        sought = _PLACES.sub(lambda place: escaped(values[place[0]]), pattern)
        settings, library = self._settings, self._ldap
        ends_s = time.monotonic() + settings.timeout_s
        question = connection.search_ext(
            base, library.SCOPE_SUBTREE, sought, wanted, timeout=settings.timeout_s, sizelimit=_MOST_GROUPS
        )
        found: list[tuple[str, dict[str, list[bytes]]]] = []
        messages = size = 0
        while True:  # one message at a time: a directory may send without end
            left_s = max(ends_s - time.monotonic(), _LEAST_WAIT_S)
            kind, rows, *_ = connection.result3(question, all=0, timeout=left_s)
            if kind == library.RES_SEARCH_RESULT:
                return found
            messages += 1
            for name, told in rows:
                if name is not None:  # the others are referrals
                    found.append((name, told))
                    size += len(name) + sum(map(len, (each for held in told.values() for each in held)))
            if messages > _MOST_GROUPS or size > _MOST_BYTES or time.monotonic() > ends_s:
                connection.abandon_ext(question)
                message = (
                    f"the directory answers with more than {_MOST_GROUPS} entries, {_MOST_BYTES} bytes, or too slowly"
                )
                raise UnavailableError(message)


def _close(library: Any, connection: Any) -> None:
    with suppress(library.LDAPError):
        connection.unbind_ext_s()


def _reason_of(error: Any) -> str:
    """Description of an `LDAPError`; never what was sent."""
    told = error.args[0] if error.args and isinstance(error.args[0], dict) else {}
    parts = [str(told.get(key, "")) for key in ("desc", "info")]
    return ": ".join(filter(None, parts)) or _WITHOUT_TEXT.get(type(error).__name__, type(error).__name__)


# Blocking calls of a C library with a limit of time: what takes longer goes on in a thread that nobody waits for.

T = TypeVar("T")


class _Call(Generic[T]):
    """A call under way in a thread of its own."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._outcome: list[T] = []
        self._error: BaseException | None = None
        self.is_over = threading.Event()

    def run(self) -> None:
        try:
            self._outcome.append(self._work())
        except BaseException as exc:  # noqa: BLE001 - raised again where somebody waits
            self._error = exc
        finally:
            self.is_over.set()

    def outcome(self) -> T:
        if self._error is not None:
            raise self._error
        return self._outcome[0]


class LimitedCalls:
    """Calls work that may hang where no limit of time of its own reaches.

    libldap waits for the server's side of a TLS handshake at `ldaps://` without end (OpenLDAP 2.5, unless it was built
    to do without blocking). Such a thread cannot be ended, so that their number has to be limited.

    Args:
        most: Calls under way at one time, those among them that nobody waits for any more.
    """

    def __init__(self, limit_s: float, *, most: int = 8) -> None:
        self._limit_s, self._most = limit_s, most
        self._lock = threading.Lock()
        self._calls: list[_Call[object]] = []

    def run(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, or raise what it raises.

        Raises:
            UnavailableError: It takes longer than the limit, or too many calls hang already.
        """
        call = _Call(work)
        with self._lock:
            self._calls = [each for each in self._calls if not each.is_over.is_set()]
            if len(self._calls) >= self._most:
                raise UnavailableError(f"{len(self._calls)} calls have not ended: the server takes them and hangs")
            self._calls.append(call)  # type: ignore[arg-type] # its outcome is not looked at here
        threading.Thread(target=call.run, name="heddle-ldap", daemon=True).start()
        if not call.is_over.wait(self._limit_s):
            raise UnavailableError(f"not done within {self._limit_s:g} s: the server takes connections and hangs")
        return call.outcome()


# Loading of the library `ldap` (python-ldap), when a directory is first used.


def load_library() -> Any:
    """Return the module `ldap`, with `ldap.filter`.

    Raises:
        ConfigError: If the extra, or the C library below it, is not installed.
    """
    try:
        importlib.import_module("ldap.filter")
        return importlib.import_module("ldap")
    except (ImportError, OSError) as exc:
        message = f"needs the library python-ldap ({exc}): pip install '.[ldap]', with libldap-dev of the system"
        raise ConfigError("the configuration", "security.ldap.urls", message) from exc
