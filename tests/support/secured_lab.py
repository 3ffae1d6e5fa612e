"""Clusters of a lab that ask for Kerberos tickets, a Heddle in front of some of them, and Hadoop's own clients."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from shim.lab import Lab, LabSpec
from shim.lab.kdc import KDCMissingError
from shim.lab.spec import LAB_REALM
from tests.support.heddle_process import HeddleProcess
from tests.support.stock_client import Login, Server, StockClient


@contextmanager
def secured_lab(folder: Path, **spec: object) -> Iterator[Lab]:
    """Secured clusters while the context is open; `spec` is what `LabSpec.of` takes.

    Without a KDC the tests are skipped on a developer's machine; in CI that is an error.
    """
    with Lab(folder) as lab:
        try:
            lab.up(LabSpec.of(**({"nodes": 1, "realm": LAB_REALM} | spec)))  # type: ignore[arg-type]  # LabSpec.of checks
        except KDCMissingError as missing:
            if os.environ.get("CI"):
                raise
            pytest.skip(str(missing))
        yield lab


def secured_heddle(
    lab: Lab,
    folder: Path,
    *,
    clusters: Sequence[str] = (),
    more: str = "",
    keytab: Path | None = None,
    principal: str = "",
) -> HeddleProcess:
    """A Heddle that logs in by its own ticket and asks its clients for theirs.

    Args:
        lab: Whose clusters.
        folder: For its configuration, store and log.
        clusters: Which of them; all if none is named.
        more: Further lines of its configuration.
        keytab: In the place of the lab's; `principal` in that of its Heddle.
    """
    login = lab.heddle_login
    assert login is not None
    kerberos = (
        f'[security.kerberos]\nprincipal = "{principal or login.principal}"\nkeytab = "{keytab or login.keytab}"\n'
        f"realms = {list(login.realms[1:])}\n"
        'protection = ["authentication", "integrity", "privacy"]\n'
    )
    return HeddleProcess(
        lab,
        folder,
        more=f"{more}\n{kerberos}",
        clusters=clusters or tuple(lab.clusters),
        environment=lab.kdc.environment,
    )


def by_ticket(lab: Lab, principal: str, *, ticket: Path | None = None) -> Login:
    """The login of a principal, which is made if need be, with a new ticket or one that is there."""
    kdc, realm = lab.kdc, principal.rpartition("@")[2]
    cache = ticket or kdc.ticket(principal, kdc.keytab(principal))
    return Login(_java(lab, realm), {"KRB5CCNAME": f"FILE:{cache}"})


def by_tokens(lab: Lab, tokens: Path) -> Login:
    """The login of whoever has the tokens of a file alone, and no ticket."""
    without = {"KRB5CCNAME": f"FILE:{tokens}.none", "HADOOP_TOKEN_FILE_LOCATION": str(tokens)}
    return Login(_java(lab, lab.kdc.realms[0]), without)


def _java(lab: Lab, realm: str) -> tuple[str, ...]:
    return (f"-Djava.security.krb5.conf={lab.kdc.krb5_conf_of(realm)}",)


def secured_client(lab: Lab, folder: Path, server: Server, login: Login) -> StockClient:
    """A client of Heddle that knows whom to expect there."""
    return StockClient(lab, folder, server, options=login.options, environment=login.environment)
