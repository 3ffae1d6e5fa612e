import pytest

from shim.domain.addresses import join_address, split_address, split_told_address
from shim.domain.ids import MalformedIdError, NodeId


@pytest.mark.parametrize(
    ("host", "port", "address"),
    [
        ("rm.example", 8032, "rm.example:8032"),
        ("10.0.0.1", 0, "10.0.0.1:0"),
        ("::1", 8088, "[::1]:8088"),
        ("", 8088, ":8088"),
    ],
)
def test_an_address_is_split_as_it_was_joined(host, port, address):
    assert join_address(host, port) == address
    assert split_address(address) == (host, port)


@pytest.mark.parametrize(
    ("told", "read"),
    [
        ("n1.example:45454", ("n1.example", 45454)),
        ("10.0.0.5:8041", ("10.0.0.5", 8041)),
        ("2001:db8::1:8041", ("2001:db8::1", 8041)),
        ("2001:db8:0:0:0:0:0:1:8041", ("2001:db8:0:0:0:0:0:1", 8041)),
        ("[2001:db8::1]:8041", ("[2001:db8::1]", 8041)),
        ("::ffff:10.0.0.5:8041", ("::ffff:10.0.0.5", 8041)),
        ("fe80::1%eth0:8041", ("fe80::1%eth0", 8041)),
        ("[fe80::1%eth0]:8041", ("[fe80::1%eth0]", 8041)),
    ],
)
def test_a_told_address_is_read_as_hadoop_prints_it(told, read):
    assert split_told_address(told) == read
    assert str(NodeId.printed(told)) == told


@pytest.mark.parametrize(
    "told",
    [
        *("", ":", "n1", "n1:", ":1", "n1:x", "n1:65536", "n 1:1", "n/1:1", "a:b:1", "1:2:1", "[n1]:1"),
        *("[2001:db8::1:1", "2001:db8::1]:1", "[[::1]]:1", "2001:db8::g:1", "fe80::1%:1", "fe80::1%a/b:1"),
        "1" * 300 + ":1",
    ],
)
def test_what_is_no_told_address_is_none(told):
    assert split_told_address(told) is None
    with pytest.raises(MalformedIdError):
        NodeId.printed(told)
