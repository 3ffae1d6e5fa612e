"""Network addresses as texts: `host:port`, with brackets around a host that has colons itself."""

__all__ = ["join_address", "split_address"]


def split_address(address: str) -> tuple[str, int]:
    """Host (without brackets) and port of a `host:port`."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def join_address(host: str, port: int) -> str:
    """`host:port` of a host without brackets and a port."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
