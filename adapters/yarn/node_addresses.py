"""Addresses that NodeManagers tell of themselves: not to be believed, as whoever starts a NodeManager chooses them.

Heddle asks a node for its `/conf` alone. Without a check a report could make it send that request to a service of this
machine, or to the metadata service of a cloud (server-side request forgery).
"""

import asyncio
import ipaddress
import re
import socket

from shim.domain.addresses import is_v6, join_address, split_told_address
from shim.domain.ids import SubClusterId
from shim.errors import MalformedAnswerError, NeverReachedError

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,253}[A-Za-z0-9])?", re.ASCII)
_LOWEST_PORT = 1024  # a NodeManager's pages are on 8042, or on whatever is free

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


async def node_url(subcluster: SubClusterId, web_address: str, *, scheme: str, manager_host: str) -> str:
    """The URL of a NodeManager's pages, its host resolved, so that what was checked is what is asked.

    Args:
        web_address: `host:port` as the ResourceManager lists it.
        scheme: Of the cluster's pages; with https the certificate is for the name, which therefore stays.
        manager_host: Host of the cluster's ResourceManager: only where it is on this machine, nodes may be, too.

    Raises:
        MalformedAnswerError: If it is no address, or not one that a NodeManager of that cluster can have.
        NeverReachedError: If a name does not resolve.
    """
    told, port = split_told_address(web_address) or ("", 0)
    if port < _LOWEST_PORT or not (_NAME.fullmatch(told) or (is_v6(told) and "%" not in told)):
        raise MalformedAnswerError(subcluster, f"a node tells an address that is none: {web_address[:80]!r}")
    name = told.strip("[]")
    addresses = await _resolved(subcluster, name)
    is_local = any(each.is_loopback for each in await _resolved(subcluster, manager_host))
    for address in addresses:
        if not _may_be_a_node(address, is_local=is_local):
            raise MalformedAnswerError(subcluster, f"a node tells an address that is not of its cluster: {web_address}")
    return f"{scheme}://{join_address(name if scheme == 'https' else str(addresses[0]), port)}"


def _may_be_a_node(address: _Address, *, is_local: bool) -> bool:
    if address.is_loopback:
        return is_local
    return not (address.is_link_local or address.is_multicast or address.is_unspecified or address.is_reserved)


async def _resolved(subcluster: SubClusterId, host: str) -> list[_Address]:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)
    except OSError as exc:
        raise NeverReachedError(subcluster, f"{host} cannot be resolved: {exc}") from exc
    addresses = [ipaddress.ip_address(str(sockaddr[0]).partition("%")[0]) for *_, sockaddr in found]
    return [getattr(each, "ipv4_mapped", None) or each for each in addresses]
