"""Roles by groups of a real directory, as they are configured."""

import asyncio
import time
from contextlib import suppress

import pytest

from shim.app.directory import directory_trouble, open_groups
from shim.config.loader import parse
from shim.domain.roles import Role
from shim.errors import ConfigError, UnavailableError
from shim.identity.roles import RoleRules
from tests.support.directory import ADMIN, BASE, PASSWORD, a_directory

CONFIG = """
[security.roles]
viewers = ["*"]
users = ["group:analysts"]
operators = ["group:ops"]
[security.ldap]
urls = ["{url}"]
ca_file = "{ca}"
bind_dn = "{admin}"
bind_password_file = "{password}"
user_base = "{base}"
user_filter = "(&(objectClass=posixAccount)(!(ou:dn:=more))(uid={{user}}))"
levels = {levels}
[[subcluster]]
id = "east"
web = "http://127.0.0.1:1"
"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    with a_directory(tmp_path_factory.mktemp("directory")) as made:
        yield made


def security_of(directory, folder, *, password=PASSWORD, levels=0):
    file = folder / "password"
    file.write_text(password + "\n")
    file.chmod(0o600)
    text = CONFIG.format(
        url=directory.tls_url, ca=directory.authority.file, admin=ADMIN, password=file, base=BASE, levels=levels
    )
    return parse(text, source="test", environment={}).security


def asked(groups, user):
    """The first question about a user does not wait for the directory, which takes as long as this machine lets it."""
    for _ in range(2000):
        with suppress(UnavailableError):
            return groups(user)
        time.sleep(0.01)
    pytest.fail("the directory did not answer")


@pytest.mark.parametrize(
    ("user", "role"),
    [("bob", Role.OPERATOR), ("ada", Role.OPERATOR), ("nina", Role.NOBODY)],
)
def test_a_group_of_the_directory_gives_its_role(directory, tmp_path, user, role):
    security = security_of(directory, tmp_path)
    groups = open_groups(security.ldap)
    assert RoleRules(security.roles.by_role).of_user(user, lambda: asked(groups, user)) is role


def test_the_doctor_is_told_whether_the_directory_takes_the_login(directory, tmp_path):
    assert asyncio.run(directory_trouble(security_of(directory, tmp_path).ldap)) == ""
    wrong = security_of(directory, tmp_path, password="mistaken")  # noqa: S106 - it is wrong
    told = asyncio.run(directory_trouble(wrong.ldap))
    assert told is not None
    assert "Invalid credentials" in told
    assert "mistaken" not in told


@pytest.mark.parametrize("change", [lambda file: file.unlink(), lambda file: file.chmod(0o644)])
def test_the_doctor_is_told_of_a_password_that_can_be_used_no_more(directory, tmp_path, change):
    ldap = security_of(directory, tmp_path).ldap
    change(tmp_path / "password")
    told = asyncio.run(directory_trouble(ldap))
    assert told is not None
    assert "security.ldap.bind_password_file" in told


def test_a_password_that_others_may_read_is_not_used(directory, tmp_path):
    security = security_of(directory, tmp_path)
    (tmp_path / "password").chmod(0o644)
    with pytest.raises(ConfigError, match="others may read"):
        open_groups(security.ldap)
