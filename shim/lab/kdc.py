"""A Kerberos KDC (MIT krb5) in a folder of its own, of one realm or of several that trust each other.

Source: krb5.conf(5), kdc.conf(5), kadmin(1) of MIT krb5 1.20.
"""

import itertools
import os
import secrets
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from shim.errors import LabError

_PROGRAMS = ("kdb5_util", "krb5kdc", "kadmin.local", "kinit", "klist")
_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
_TIMEOUT_S = 60
_SECRET_BYTES = 16


class KDCMissingError(LabError):
    """The machine has no KDC."""


def require_kdc() -> None:
    """Look for the programs.

    Raises:
        KDCMissingError: If one is missing.
    """
    missing = [program for program in _PROGRAMS if shutil.which(program, path=_PATH) is None]
    if missing:
        packages = "krb5-kdc krb5-admin-server krb5-user"
        raise KDCMissingError(f"no {', '.join(missing)}: install a KDC (Debian: apt-get install {packages})")


def domain_of(realm: str) -> str:
    """The domain whose hosts belong to a realm; nothing resolves it."""
    return realm.lower()


def conf_name(realm: str) -> str:
    """File with the configuration of a realm's clients, in the folder of their KDC."""
    return f"krb5-{realm}.conf"


class KDC:
    """Files and programs of a KDC that runs as the current user.

    Args:
        folder: Databases, keytabs and configurations.
        address: `host:port` at which it listens, over UDP and TCP.
        realms: Each trusts all others; the first is the default.
        domains: Realm of further hosts and domains (`.domain`), by name.
    """

    def __init__(
        self, folder: Path, address: str, realms: Sequence[str], *, domains: Mapping[str, str] | None = None
    ) -> None:
        self.folder = folder
        self.address = address
        self.realms = tuple(realms)
        self._domains = {f".{domain_of(realm)}": realm for realm in realms} | dict(domains or {})

    @property
    def krb5_conf(self) -> Path:
        """The configuration of clients, C or Java, whose realm is the first."""
        return self.krb5_conf_of(self.realms[0])

    def krb5_conf_of(self, realm: str) -> Path:
        return self.folder / conf_name(realm)

    @property
    def environment(self) -> dict[str, str]:
        """Variables by which a process finds it, and finds no ticket of whoever runs it."""
        return {
            "KRB5_CONFIG": str(self.krb5_conf),
            "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf"),
            "KRB5CCNAME": str(self.folder / "nobodys-cache"),
            "KRB5RCACHENAME": f"dfl:{self.folder}/replays",
        }

    @property
    def command(self) -> list[str]:
        """The server in the foreground."""
        realms = itertools.chain.from_iterable(("-r", realm) for realm in self.realms)
        return [_program("krb5kdc"), "-n", *realms]

    def create(self) -> None:
        """Write its files, its databases, and the keys by which its realms trust each other.

        Raises:
            LabError: If a program is missing (`KDCMissingError`) or fails.
        """
        require_kdc()
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "kdc.conf").write_text(self._kdc_conf(), encoding="utf-8")
        for realm in self.realms:
            self.krb5_conf_of(realm).write_text(self._krb5_conf(realm), encoding="utf-8")
            self._run("kdb5_util", "create", "-s", "-r", realm, "-P", secrets.token_hex(_SECRET_BYTES))
        for one, other in itertools.permutations(self.realms, 2):
            trust = secrets.token_hex(_SECRET_BYTES)
            for realm in (one, other):
                self._administer(realm, [f"addprinc -pw {trust} krbtgt/{one}@{other}"])

    def keytab(self, *principals: str, name: str = "", most_s: int | None = None) -> Path:
        """A new file with keys; principals are made if need be, else they get new keys.

        Args:
            most_s: How long a ticket of theirs lasts at most; None for a day.

        Raises:
            LabError: If `kadmin` refuses.
        """
        realm = principals[0].rpartition("@")[2]
        file = self.folder / f"{name or secrets.token_hex(6)}.keytab"
        commands = [f"addprinc -randkey {principal}" for principal in principals]
        if most_s is not None:
            commands += [f'modprinc -maxlife "{most_s} seconds" {principal}' for principal in principals]
        told = self._administer(realm, [*commands, *(f"ktadd -k {file} {principal}" for principal in principals)])
        if not file.exists():
            raise LabError(f"kadmin.local made no keytab of {', '.join(principals)}: {told}")
        return file

    def ticket(self, principal: str, keytab: Path, *, options: Sequence[str] = (), name: str = "") -> Path:
        """A new ticket cache of a principal; options are those of `kinit`.

        Raises:
            LabError: If there is no ticket to be had.
        """
        cache = self.folder / f"{name or secrets.token_hex(6)}.cache"
        self._run("kinit", *options, "-k", "-t", str(keytab), "-c", f"FILE:{cache}", principal)
        return cache

    def is_good(self, cache: Path) -> bool:
        """True if a ticket cache has a ticket that has not expired."""
        try:
            self._run("klist", "-s", "-c", f"FILE:{cache}")
        except LabError:
            return False
        return True

    def _administer(self, realm: str, commands: Sequence[str]) -> str:
        return self._run("kadmin.local", "-r", realm, typed="".join(f"{command}\n" for command in commands))

    def _kdc_conf(self) -> str:
        realms = "".join(
            f"  {realm} = {{\n    database_name = {self.folder}/{realm}\n"
            f"    key_stash_file = {self.folder}/{realm}.stash\n    acl_file = {self.folder}/acl\n"
            "    max_life = 1d\n    max_renewable_life = 7d\n  }\n"
            for realm in self.realms
        )
        return (
            f"[kdcdefaults]\n  kdc_listen = {self.address}\n  kdc_tcp_listen = {self.address}\n"
            f"[realms]\n{realms}[logging]\n  kdc = FILE:{self.folder}/kdc.log\n"
        )

    def _krb5_conf(self, default: str) -> str:
        realms = "".join(f"  {realm} = {{\n    kdc = {self.address}\n  }}\n" for realm in self.realms)
        domains = "".join(f"  {domain} = {realm}\n" for domain, realm in self._domains.items())
        return (
            f"[libdefaults]\n  default_realm = {default}\n  dns_lookup_kdc = false\n  dns_lookup_realm = false\n"
            "  dns_canonicalize_hostname = false\n  rdns = false\n  udp_preference_limit = 1\n"
            f"[realms]\n{realms}[domain_realm]\n{domains}"
        )

    def _run(self, program: str, *arguments: str, typed: str = "") -> str:
        environment = {"PATH": _PATH, "HOME": str(self.folder), "LC_ALL": "C.UTF-8", **self.environment}
        try:
            done = subprocess.run(  # noqa: S603 - programs of a fixed list
                [_program(program), *arguments],
                env=environment,
                input=typed,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as exc:
            raise LabError(f"{program} has not ended in {_TIMEOUT_S} s") from exc
        if done.returncode != 0:
            raise LabError(f"{program}: {done.stdout.strip()}")
        return done.stdout


def _program(name: str) -> str:
    found = shutil.which(name, path=_PATH)
    if found is None:
        raise KDCMissingError(f"no {name} on this machine")
    return found
