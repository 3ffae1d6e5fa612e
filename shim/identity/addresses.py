"""Addresses that callers come from."""

import ipaddress
from collections.abc import Collection

__all__ = ["is_from", "is_loopback", "network_of"]

_NETWORK_BITS = 64
"""Of an IPv6 address: what follows, hosts change by themselves."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_from(address: str, hosts: Collection[str]) -> bool:
    """True if an address is among addresses and networks, or stands there as it is written."""
    try:
        caller = ipaddress.ip_address(address)
        return any(caller in ipaddress.ip_network(host, strict=False) for host in hosts)
    except ValueError:
        return address in hosts


def is_loopback(address: str) -> bool:
    """True for an address of this machine alone."""
    found = _parsed(address)
    return found is not None and found.is_loopback


def network_of(address: str) -> str:
    """The network that a host keeps its address in: of IPv4 the address itself."""
    found = _parsed(address)
    if isinstance(found, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((found, _NETWORK_BITS), strict=False))
    return address if found is None else str(found)


def _parsed(address: str) -> Address | None:
    """An address, without the form that IPv6 sockets give to IPv4."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return None
    return (isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped) or found
