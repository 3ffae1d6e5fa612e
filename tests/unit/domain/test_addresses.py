import pytest

from shim.domain.addresses import join_address, split_address


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
