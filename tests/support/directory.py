"""A real directory: OpenLDAP's slapd over a folder, with users, groups and groups of groups."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from shim.lab.readiness import listens
from tests.doubles.postgresql import free_addresses
from tests.support.certificates import TestAuthority

BASE = "dc=example,dc=org"
ADMIN, PASSWORD = f"cn=heddle,{BASE}", "a password of the directory"
_STARTS_WITHIN_S = 120.0
_TRIES = 3
_CONF = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {folder}/slapd.pid
TLSCertificateFile {certificate}
TLSCertificateKeyFile {key}
TLSCACertificateFile {ca}
database mdb
suffix "{base}"
rootdn "{admin}"
rootpw {password}
directory {folder}/data
access to * by dn="{admin}" read by * none
"""
_TREE = """
dn: {base}
objectClass: dcObject
objectClass: organization
dc: example
o: example

dn: ou=people,{base}
objectClass: organizationalUnit
ou: people

dn: ou=groups,{base}
objectClass: organizationalUnit
ou: groups
"""
_PEOPLE = ("ada", "bob", "nina", "twin", "*", "a(b)c", "robot")
_MEMBERS = {
    "analysts": ["uid=ada,ou=people,{base}"],
    "data": ["cn=analysts,ou=groups,{base}"],
    "everybody": ["cn=data,ou=groups,{base}", "cn=circle,ou=groups,{base}"],
    "circle": ["cn=everybody,ou=groups,{base}"],
    "machines": ["uid=robot,ou=people,{base}"],
    "stars": ["uid=\\2A,ou=people,{base}"],
}


@dataclass(frozen=True, slots=True)
class Directory:
    """A running directory.

    Attributes:
        url: Without TLS, until it is asked for; `tls_url` from the start.
        authority: Signed its certificate.
    """

    url: str
    tls_url: str
    authority: TestAuthority
    process: "subprocess.Popen[bytes]"


@contextmanager
def a_directory(folder: Path) -> Iterator[Directory]:
    """Run a directory; it ends with the block."""
    (folder / "data").mkdir(parents=True)
    authority = TestAuthority(folder)
    certificate, key = authority.issue("directory")
    conf = folder / "slapd.conf"
    conf.write_text(
        _CONF.format(
            folder=folder,
            base=BASE,
            admin=ADMIN,
            password=f'"{PASSWORD}"',
            certificate=certificate,
            key=key,
            ca=authority.file,
        )
    )
    tree = folder / "tree.ldif"
    tree.write_text(_tree())
    tools = {name: shutil.which(name, path="/usr/sbin:/sbin:/usr/bin") for name in ("slapadd", "slapd")}
    assert all(tools.values()), "slapd is missing: make setup installs it"
    subprocess.run([str(tools["slapadd"]), "-f", conf, "-l", tree], check=True, capture_output=True)
    log = folder / "slapd.log"
    for _ in range(_TRIES):
        plain, tls = free_addresses(2)
        urls = (f"ldap://{plain}", f"ldaps://{tls}")
        with log.open("ab") as output:
            process = subprocess.Popen(
                [str(tools["slapd"]), "-d", "none", "-f", conf, "-h", " ".join(urls)], stdout=output, stderr=output
            )
        try:
            if _listens(plain, process, log):
                yield Directory(*urls, authority, process)
                return
        finally:
            process.kill()
            process.wait()
    pytest.fail(f"slapd ends as it starts: {log.read_text()}")


def _tree() -> str:
    parts = [_TREE.format(base=BASE)]
    for number, name in enumerate(_PEOPLE):
        parts.append(_person(name, "people", number))
    parts.append(f"dn: ou=more,{BASE}\nobjectClass: organizationalUnit\nou: more\n")
    parts.append(_person("twin", "more", 99))
    for name, members in _MEMBERS.items():
        rows = "".join(f"member: {member.format(base=BASE)}\n" for member in members)
        parts.append(f"dn: cn={name},ou=groups,{BASE}\nobjectClass: groupOfNames\ncn: {name}\n{rows}")
    for name, users in {"ops": ("bob", "ada"), "odd": ("*", "a(b)c")}.items():
        rows = "".join(f"memberUid: {user}\n" for user in users)
        number = 5000 + len(name)
        parts.append(
            f"dn: cn={name},ou=groups,{BASE}\nobjectClass: posixGroup\ncn: {name}\ngidNumber: {number}\n{rows}"
        )
    return "\n".join(parts)


def _person(name: str, unit: str, number: int) -> str:
    shown = name.replace("*", "\\2A")
    return (
        f"dn: uid={shown},ou={unit},{BASE}\nobjectClass: account\nobjectClass: posixAccount\nuid: {name}\ncn: {name}\n"
        f"uidNumber: {1000 + number}\ngidNumber: 100\nhomeDirectory: /home/x\n"
    )


def _listens(address: str, process: "subprocess.Popen[bytes]", log: Path) -> bool:
    """Wait until slapd listens; whether it does, or has ended: somebody else may have taken one of its ports."""
    ends_s = time.monotonic() + _STARTS_WITHIN_S
    while process.poll() is None:
        if "slapd starting" in log.read_text() and listens(address):  # once it says so, the ports are its own
            return True
        assert time.monotonic() < ends_s, f"slapd does not listen: {log.read_text()}"
        time.sleep(0.02)
    return False
