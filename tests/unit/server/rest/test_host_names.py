import pytest

from shim.server.rest.host_names import HostNames

OURS = HostNames(["heddle.example.org", "*.lab.example.org"])


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"127.0.0.1",
        b"127.0.0.1:8088",
        b"10.1.2.3:80",
        b"[::1]:8088",
        b"[fe80::1]",
        b"localhost",
        b"LOCALHOST:8088",
        b"localhost.",
        b"a.localhost:1",
        b"heddle.example.org",
        b"Heddle.Example.Org.:8088",
        b"one.lab.example.org:8088",
        b" localhost ",
    ],
)
def test_addresses_and_own_names_are_allowed(value):
    assert OURS.allows(value)


@pytest.mark.parametrize(
    "value",
    [
        b"attacker.example",
        b"attacker.example:8088",
        b"lab.example.org",
        b"xlab.example.org",
        b"heddle.example.org.attacker.example",
        b"notlocalhost",
        b"localhost.attacker.example",
        b"127.0.0.1.attacker.example",
        b"127.1",
        b"0x7f000001",
        b"2130706433",
        b"localhost@attacker.example",
        b"localhost:80:80",
        b"localhost:x",
        b"[::1",
        b"[localhost]",
        b"attacker.example#localhost",
        b"\xe2\x84\xaaelvin",
    ],
)
def test_other_names_are_not(value):
    assert not OURS.allows(value)


def test_a_star_allows_every_name():
    assert HostNames("*").allows(b"whatever.example")


def test_what_clients_send_is_remembered_up_to_a_bound():
    for number in range(2000):
        OURS.allows(b"%d.example" % number)
    assert not OURS.allows(b"a" * 60_000)
    assert OURS.remembered <= 256
