"""Network addresses as texts: `host:port`, with brackets around a host that has colons itself."""

_ANYWHERE = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared with


def split_address(address: str) -> tuple[str, int]:
    """Host (without brackets) and port of a `host:port`."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def join_address(host: str, port: int) -> str:
    """`host:port` of a host without brackets and a port."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_anywhere(host: str) -> bool:
    """Whether whoever listens at a host (without brackets) does so at every address of the machine."""
    return host in _ANYWHERE
