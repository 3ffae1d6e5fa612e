"""Principals of services, and Kerberos without its library."""

import subprocess
import sys
from pathlib import Path

import pytest

from adapters.kerberos import KerberosInitiator, host_of_this_machine, open_acceptor, service_of, with_host
from shim.errors import ConfigError

WITHOUT = "import sys; sys.modules['gssapi'] = None; import shim.app.bootstrap, shim.cli.main"


@pytest.mark.parametrize(
    ("principal", "expected"),
    [
        ("rm/_HOST@REALM", "rm/node.example@REALM"),
        ("rm/other@REALM", "rm/other@REALM"),
        ("rm/_HOST", "rm/node.example"),
        ("rm@REALM", "rm@REALM"),
        ("_HOST/a@_HOST", "_HOST/a@_HOST"),
    ],
)
def test_only_the_host_of_a_principal_stands_for_the_machine(principal, expected):
    assert with_host(principal, "Node.Example") == expected


@pytest.mark.parametrize(
    ("principal", "expected"),
    [("rm/node@REALM", ("rm", "node")), ("rm/node", ("rm", "node"))],
)
def test_a_principal_names_a_service_and_its_host(principal, expected):
    assert service_of(principal) == expected


def test_the_machine_has_a_name_in_lower_case():
    assert host_of_this_machine() == host_of_this_machine().lower() != ""


def test_without_the_library_it_is_told_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "gssapi", None)
    keytab = tmp_path / "heddle.keytab"
    keytab.touch(mode=0o600)

    for use in (KerberosInitiator, lambda: open_acceptor("rm/node@REALM", keytab)):
        with pytest.raises(ConfigError, match=r"pip install .\.\[kerberos\]."):
            use()


def test_a_heddle_without_kerberos_needs_no_library():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], cwd=Path(__file__).parents[4], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
