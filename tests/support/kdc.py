"""A throw-away Kerberos KDC from the machine's own binaries (MIT krb5), for two realms that trust each other."""

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["LOCALHOST", "OTHER_REALM", "REALM", "KDCMissingError", "LocalKDC"]

REALM = "HEDDLE.TEST"
LOCALHOST = socket.getfqdn("127.0.0.1").lower()
"""What `_HOST` stands for where 127.0.0.1 is connected to."""
OTHER_REALM = "OTHER.TEST"
"""Of principals that `REALM` believes, as the realms share a key."""

_PROGRAMS = ("kdb5_util", "krb5kdc", "kadmin.local", "kinit")
_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
_READY_S = 60.0
_TIMEOUT_S = 60


class KDCMissingError(Exception):
    """The machine has no KDC."""


class LocalKDC:
    """Runs as the current user on a free port of 127.0.0.1, its databases and its krb5.conf in a folder of its own.

    Attributes:
        environment: Variables by which a process finds it.
        folder: What is put here goes with it.

    Raises:
        KDCMissingError: If a program is missing.
    """

    def __init__(self) -> None:
        missing = [program for program in _PROGRAMS if shutil.which(program, path=_PATH) is None]
        if missing:
            raise KDCMissingError(f"no {', '.join(missing)}: apt-get install krb5-kdc krb5-admin-server krb5-user")
        self.folder = Path(tempfile.mkdtemp(prefix="heddle-kdc-"))
        self._port = _free_port()
        self._kdc: subprocess.Popen[bytes] | None = None
        self.environment: Mapping[str, str] = {
            "KRB5_CONFIG": str(self.krb5_conf),
            "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf"),
            "KRB5CCNAME": str(self.folder / "nobodys-cache"),
            "KRB5RCACHENAME": f"dfl:{self.folder}/replays",
        }

    @property
    def krb5_conf(self) -> Path:
        """The configuration of its clients, C or Java."""
        return self.folder / "krb5.conf"

    def __enter__(self) -> Self:
        try:
            self._write()
            for realm in (REALM, OTHER_REALM):
                self._run("kdb5_util", "create", "-s", "-r", realm, "-P", secrets.token_hex(8))
            trust = secrets.token_hex(16)
            for realm in (REALM, OTHER_REALM):
                self._administer(realm, [f"addprinc -pw {trust} krbtgt/{REALM}@{OTHER_REALM}"])
            with (self.folder / "krb5kdc.out").open("wb") as output:
                command = [_program("krb5kdc"), "-n", "-r", REALM, "-r", OTHER_REALM]
                self._kdc = subprocess.Popen(command, env=self._environment(), stdout=output, stderr=output)
            self._await_port()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def keytab(self, principal: str, name: str = "") -> Path:
        """A new file with a principal's key; the principal is made if need be, else it gets a new key."""
        realm = principal.rpartition("@")[2]
        file = self.folder / f"{name or secrets.token_hex(6)}.keytab"
        self._administer(realm, [f"addprinc -randkey {principal}", f"ktadd -k {file} {principal}"])
        return file

    def ticket(self, principal: str, keytab: Path, *, options: Sequence[str] = ()) -> Path:
        """A new ticket cache of a principal."""
        cache = self.folder / f"{secrets.token_hex(6)}.cache"
        self._run("kinit", *options, "-k", "-t", str(keytab), "-c", f"FILE:{cache}", principal)
        return cache

    def _administer(self, realm: str, commands: Sequence[str]) -> None:
        self._run("kadmin.local", "-r", realm, typed="".join(f"{command}\n" for command in commands))

    def _write(self) -> None:
        realms = "".join(
            f"  {realm} = {{\n    database_name = {self.folder}/{realm}\n"
            f"    key_stash_file = {self.folder}/{realm}.stash\n"
            f"    acl_file = {self.folder}/acl\n    max_life = 1d\n  }}\n"
            for realm in (REALM, OTHER_REALM)
        )
        at = f"127.0.0.1:{self._port}"
        (self.folder / "kdc.conf").write_text(
            f"[kdcdefaults]\n  kdc_listen = {at}\n  kdc_tcp_listen = {at}\n[realms]\n{realms}"
            f"[logging]\n  kdc = FILE:{self.folder}/kdc.log\n"
        )
        clients = "".join(f"  {realm} = {{\n    kdc = {at}\n  }}\n" for realm in (REALM, OTHER_REALM))
        self.krb5_conf.write_text(
            f"[libdefaults]\n  default_realm = {REALM}\n  dns_lookup_kdc = false\n  dns_lookup_realm = false\n"
            "  dns_canonicalize_hostname = false\n  rdns = false\n  udp_preference_limit = 1\n"
            f"[realms]\n{clients}[domain_realm]\n  {LOCALHOST} = {REALM}\n"
        )

    def _run(self, program: str, *arguments: str, typed: str = "") -> None:
        done = subprocess.run(
            [_program(program), *arguments],
            env=self._environment(),
            input=typed,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, f"{program}: {done.stdout}"

    def _environment(self) -> dict[str, str]:
        return {"PATH": _PATH, "HOME": str(self.folder), "LC_ALL": "C.UTF-8", **self.environment}

    def _await_port(self) -> None:
        until_s = time.monotonic() + _READY_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port), timeout=1).close()
            except OSError as exc:
                is_over = self._kdc is None or self._kdc.poll() is not None or time.monotonic() > until_s
                if is_over:
                    told = (self.folder / "krb5kdc.out").read_text()
                    raise AssertionError(f"the KDC does not start: {told}") from exc
                time.sleep(0.05)
            else:
                return

    def _stop(self) -> None:
        if self._kdc is not None:
            self._kdc.kill()
            self._kdc.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def _program(name: str) -> str:
    found = shutil.which(name, path=_PATH)
    assert found is not None
    return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
