"""Addresses that Heddle listens on: which there are, whether they can be had, and the error of one that cannot."""

import errno
import http.client
import json
import os
import socket
import ssl
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from shim.concurrency.listening_sockets import is_taken_up
from shim.config.sections import ServerConfig
from shim.domain.addresses import is_anywhere, split_address
from shim.errors import AddressTakenError, ConfigError
from shim.federation.inspection import SubClusterDescription

_ASKED_FOR_S = 5.0
_SHORT = 1 << 16
_HERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "localhost"}  # noqa: S104 - where one asks what listens anywhere

_WHO = "Is a ResourceManager or another Heddle there?"
_ADVICE = {
    "server.rest": "Is another Heddle or ResourceManager there?",
    "server.client_rpc": f'{_WHO} client_rpc = "" serves the web services alone',
    "server.scheduler_rpc": (
        f'{_WHO} scheduler_rpc = "" serves clients alone: ApplicationMasters then need their home\'s address'
    ),
    "server.admin_rpc": f'{_WHO} admin_rpc = "" serves clients alone, not operators\' tools',
}
_PASSING = frozenset({errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""Errors of a machine that may be over at the next try."""


def doors_of(server: ServerConfig, clusters: Iterable[SubClusterDescription]) -> dict[str, str]:
    """Addresses to be listened on for clients, by their keys in the configuration.

    Args:
        clusters: What there is to serve: without a cluster's address of a kind, there is nothing to listen for.
    """
    known = tuple(clusters)
    wanted = {
        "rest": True,
        "proxy": True,
        "client_rpc": any(each.client_rpc for each in known),
        "scheduler_rpc": any(each.scheduler_rpc for each in known),
        "admin_rpc": any(each.admin_rpc for each in known),
    }
    named = {f"server.{key}": str(getattr(server, key)) for key, is_wanted in wanted.items() if is_wanted}
    return {key: address for key, address in named.items() if address}


def check_doors(doors: Mapping[str, str]) -> None:
    """See that every address can be had, before anything is begun; nobody is listened to meanwhile.

    Raises:
        AddressTakenError: If one cannot be had now.
        ConfigError: If one never can, or two are the same.
    """
    seen: dict[tuple[str, int], str] = {}
    with ExitStack() as held:
        for key, address in doors.items():
            with listening(address, key):
                bound = _hold(address, held)
            for host, port in bound:
                other = next((seen[each] for each in seen if each[1] == port and _is_one(host, each[0])), key)
                if other != key:
                    raise ConfigError(
                        "the configuration", key, f"{address} is that of {other}, too: each needs its own"
                    )
                seen[host, port] = key


def _is_one(host: str, other: str) -> bool:
    """Whether who listens at one listens at the other as well."""
    same_kind = (":" in host) == (":" in other)
    return host == other or (same_kind and (is_anywhere(host) or is_anywhere(other)))


def _hold(address: str, held: ExitStack) -> list[tuple[str, int]]:
    host, port = split_address(address)
    bound: list[tuple[str, int]] = []
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    for family, kind, protocol, _, where in found:
        if is_taken_up(family, where):
            bound.append((str(where[0]), int(where[1])))
            continue
        holder = held.enter_context(socket.socket(family, kind, protocol))
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as every server does
        if family == socket.AF_INET6:
            holder.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        holder.bind(where)
        bound.append(holder.getsockname()[:2])
    return bound


def is_served_by_heddle(server: ServerConfig) -> bool:
    """True if a Heddle of this configuration answers at the address of its web services."""
    host, port = split_address(server.rest)
    host = _HERE.get(host, host)
    try:
        if server.tls.certificate is None:
            with closing(http.client.HTTPConnection(host, port, timeout=_ASKED_FOR_S)) as asked:
                asked.request("GET", "/ready")
                return {"ready", "reasons"} <= set(json.loads(asked.getresponse().read(_SHORT)))
        shown = ssl.get_server_certificate((host, port), timeout=_ASKED_FOR_S)
        return ssl.PEM_cert_to_DER_cert(shown) == _first_of(server.tls.certificate)
    except (OSError, http.client.HTTPException, ValueError, TypeError):
        return False


def _first_of(file: Path) -> bytes:
    own = x509.load_pem_x509_certificates(file.read_bytes())[0]
    return own.public_bytes(serialization.Encoding.DER)


@contextmanager
def listening(address: str, key: str) -> Iterator[None]:
    """Around the start of a server.

    Args:
        address: `host:port`.

    Raises:
        AddressTakenError: If the address cannot be listened on now.
        ConfigError: If it never can.
    """
    try:
        yield
    except OSError as exc:
        advice = _ADVICE.get(key, "")
        said = ". ".join(filter(None, (f"{address} cannot be listened on: {_words_for(exc)}", advice)))
        if exc.errno in _PASSING or exc.errno == socket.EAI_AGAIN:
            raise AddressTakenError(f"{key}: {said}") from exc
        raise ConfigError("the configuration", key, said) from exc


def _words_for(error: OSError) -> str:
    """The machine's words for an error of its own; event loops say it in words of theirs."""
    code = error.errno or 0
    return os.strerror(code) if code > 0 else error.strerror or str(error)  # names not found have codes below 0
