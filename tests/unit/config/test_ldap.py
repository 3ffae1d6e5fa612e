"""The section `[security.ldap]`: what its keys mean together."""

import pytest

from shim.config.loader import parse
from shim.errors import ConfigError

CLUSTER = '[[subcluster]]\nid = "east"\nweb = "http://127.0.0.1:1"\n'
FILE = 'bind_password_file = "password"'


def ldap_of(*lines):
    text = "\n".join(("[security.ldap]", *lines, CLUSTER))
    return parse(text, source="test", environment={}).security.ldap


@pytest.mark.parametrize(
    "lines",
    [
        (),
        ('urls = ["ldaps://one.example.com", "ldap://two.example.com:10389"]', 'user_base = "dc=x"'),
        ('urls = ["ldap://127.0.0.1:389"]', "start_tls = false", 'user_base = "dc=x"'),
        ('urls = ["ldap://[::1]"]', "start_tls = false", 'user_base = "dc=x"'),
        ('urls = ["ldaps://one.example.com"]', 'user_base = "dc=x"', 'bind_dn = "cn=heddle"', FILE),
    ],
)
def test_what_fits_together_is_taken(lines):
    ldap_of(*lines)


@pytest.mark.parametrize(
    ("lines", "key"),
    [
        (('user_base = "dc=x"',), "urls"),
        (('urls = ["https://one.example.com"]',), "urls"),
        (('urls = ["ldaps://user:secret@one.example.com"]',), "urls"),
        (('urls = ["ldapi:///tmp/socket"]',), "urls"),
        (('urls = ["ldaps://one.example.com"]',), "user_base"),
        (('urls = ["ldaps://x"]', 'user_base = "dc=x"', 'user_filter = "(uid=ada)"'), "user_filter"),
        (('urls = ["ldaps://x"]', 'user_base = "dc=x"', 'user_filter = "uid={user}"'), "user_filter"),
        (('urls = ["ldaps://x"]', 'user_base = "dc=x"', 'group_filter = "(cn=*)"'), "group_filter"),
        (('urls = ["ldaps://x"]', 'user_base = "dc=x"', 'bind_dn = "cn=heddle"'), "bind_password_file"),
        (('urls = ["ldaps://x"]', 'user_base = "dc=x"', FILE), "bind_dn"),
        (('urls = ["ldaps://x"]', 'user_base = "dc=x"', "levels = 11"), "levels"),
        (('urls = ["ldap://one.example.com"]', "start_tls = false", 'user_base = "dc=x"'), "start_tls"),
        (('urls = ["ldap://127.0.0.1.example.com"]', "start_tls = false", 'user_base = "dc=x"'), "start_tls"),
        (('urls = ["ldap://localhost.example.com:389"]', "start_tls = false", 'user_base = "dc=x"'), "start_tls"),
    ],
)
def test_what_does_not_is_refused_by_the_name_of_a_key(lines, key):
    with pytest.raises(ConfigError) as caught:
        ldap_of(*lines)
    assert f"security.ldap.{key}" in str(caught.value)
