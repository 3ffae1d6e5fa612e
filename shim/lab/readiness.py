"""Asking the ResourceManagers of a lab whether they are ready."""

import http.client
import json
import socket
from dataclasses import dataclass
from typing import Any

_TIMEOUT_S = 2.0
_LARGEST_ANSWER = 4 << 20


@dataclass(frozen=True, slots=True)
class ResourceManagerReport:
    """State of one ResourceManager as it reports it.

    Attributes:
        ha_state: `ACTIVE`, `STANDBY`, `INITIALIZING`; empty when it does not answer.
        usable_nodes: Nodes that are RUNNING and whose capacity the scheduler has taken in.
    """

    ha_state: str = ""
    version: str = ""
    usable_nodes: int = 0


def ask(web_address: str) -> ResourceManagerReport:
    """Ask one ResourceManager by REST; an empty report if it does not answer as one."""
    try:
        info = _get(web_address, "/ws/v1/cluster/info")["clusterInfo"]
        state = str(info["haState"])
        nodes = _get(web_address, "/ws/v1/cluster/nodes?states=RUNNING")["nodes"] if state == "ACTIVE" else None
        listed = _as_list((nodes or {}).get("node"))
        return ResourceManagerReport(
            ha_state=state,
            version=str(info["resourceManagerVersion"]),
            # a node counts as RUNNING before the scheduler knows what it has
            usable_nodes=sum(1 for node in listed if int(node["availMemoryMB"]) + int(node["usedMemoryMB"]) > 0),
        )
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return ResourceManagerReport()


def listens(address: str) -> bool:
    """True if something takes connections at `host:port`."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=_TIMEOUT_S).close()
    except OSError:
        return False
    return True


def _as_list(value: Any) -> list[Any]:
    """Hadoop 2 writes a list of one as its element."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _get(address: str, path: str) -> dict[str, Any]:
    connection = http.client.HTTPConnection(address, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", path, headers={"Accept": "application/json"})
        document = json.loads(connection.getresponse().read(_LARGEST_ANSWER))
    finally:
        connection.close()
    if not isinstance(document, dict):
        raise TypeError(f"{path} is no object")
    return document
