"""Network addresses as texts: `host:port`, with brackets around a host that has colons itself."""

import re
from ipaddress import IPv6Address

_ANYWHERE = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared with


def split_address(address: str) -> tuple[str, int]:
    """Host (without brackets) and port of a `host:port`."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


_HIGHEST_PORT = 65535
_NAME = re.compile(r"[^:/\s\[\]]{1,255}", re.ASCII)
_PORT = re.compile(r"[0-9]{1,5}", re.ASCII)
_ZONE = re.compile(r"[A-Za-z0-9._-]{1,32}", re.ASCII)
_LONGEST_V6 = 80


def split_told_address(told_untrusted: str) -> tuple[str, int] | None:
    """Host, as it was told, and port of a `host:port` that a cluster tells; None for what is none.

    Hadoop writes host, colon, port: an IPv6 address has brackets only where whoever named the host wrote them.
    """
    host, _, port = told_untrusted.rpartition(":")
    if not _PORT.fullmatch(port) or int(port) > _HIGHEST_PORT or not (_NAME.fullmatch(host) or is_v6(host)):
        return None
    return host, int(port)


def is_v6(host: str) -> bool:
    """Whether a host is an IPv6 address, in brackets or not, with a zone or without."""
    if ":" not in host or len(host) > _LONGEST_V6:
        return False
    bare = host[1:-1] if host[0] == "[" and host[-1] == "]" else host
    address, has_zone, zone = bare.partition("%")
    if has_zone and not _ZONE.fullmatch(zone):
        return False
    try:
        IPv6Address(address)
    except ValueError:
        return False
    return True


def join_address(host: str, port: int) -> str:
    """`host:port` of a host without brackets and a port."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_anywhere(host: str) -> bool:
    """Whether whoever listens at a host (without brackets) does so at every address of the machine."""
    return host in _ANYWHERE
