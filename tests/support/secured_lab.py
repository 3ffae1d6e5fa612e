"""Clusters of a lab that ask for Kerberos tickets, a Heddle in front of some of them, and Hadoop's own clients."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from shim.lab import Lab, LabSpec
from shim.lab.kdc import KDCMissingError
from shim.lab.spec import LAB_REALM
from tests.support.heddle_process import HeddleProcess
from tests.support.stock_client import Server, StockClient

__all__ = ["client_with", "secured_client", "secured_heddle", "secured_lab", "token_client"]


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


def secured_client(lab: Lab, folder: Path, server: Server, principal: str) -> StockClient:
    """A client of Heddle that knows whom to expect there, with a new ticket.

    Args:
        lab: Whose KDC and jars.
        folder: For its configuration.
        server: The Heddle.
        principal: As whom; it is made if need be.
    """
    ticket = lab.kdc.ticket(principal, lab.kdc.keytab(principal))
    return client_with(lab, folder, server, ticket, realm=principal.rpartition("@")[2])


def client_with(lab: Lab, folder: Path, server: Server, ticket: Path, *, realm: str = LAB_REALM) -> StockClient:
    """The same with a ticket that is there."""
    return _client(lab, folder, server, realm, {"KRB5CCNAME": f"FILE:{ticket}"})


def token_client(lab: Lab, folder: Path, server: Server, tokens: Path) -> StockClient:
    """The same without a ticket: it has the tokens of a file alone."""
    without = {"KRB5CCNAME": f"FILE:{folder}/none", "HADOOP_TOKEN_FILE_LOCATION": str(tokens)}
    return _client(lab, folder, server, lab.kdc.realms[0], without)


def _client(lab: Lab, folder: Path, server: Server, realm: str, environment: Mapping[str, str]) -> StockClient:
    options = [f"-Djava.security.krb5.conf={lab.kdc.krb5_conf_of(realm)}"]
    return StockClient(lab, folder, server, options=options, environment=environment)
