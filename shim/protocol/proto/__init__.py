"""Messages of Hadoop RPC and YARN, Hadoop 2.10 to 3.5, by google protobuf from a descriptor set.

The `.proto` files are the source; `scripts/protos.py` makes `yarn.desc` (what is loaded) and `messages.pyi` (what type
checkers read) of them. Fields that a newer Hadoop adds are kept through parse and serialise. Imports nothing of Heddle.
"""

from shim.protocol.proto.services import (
    ADMINISTRATION,
    APPLICATION_CLIENT,
    APPLICATION_HISTORY,
    APPLICATION_MASTER,
    CONTAINER_MANAGEMENT,
    HA_SERVICE,
    PROTOCOLS,
    ZKFC,
    Method,
    RPCProtocol,
)

__all__ = [
    "ADMINISTRATION",
    "APPLICATION_CLIENT",
    "APPLICATION_HISTORY",
    "APPLICATION_MASTER",
    "CONTAINER_MANAGEMENT",
    "HA_SERVICE",
    "PROTOCOLS",
    "ZKFC",
    "Method",
    "RPCProtocol",
]
