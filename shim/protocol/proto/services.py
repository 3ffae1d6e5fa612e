"""The protocols of YARN as tables: method name to its request and answer classes."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from shim.protocol.proto.descriptors import POOL


@dataclass(frozen=True, slots=True)
class Method:
    """One method of a protocol."""

    name: str
    request: type[Message]
    answer: type[Message]


@dataclass(frozen=True, slots=True)
class RPCProtocol:
    """One protocol.

    Attributes:
        name: The Java interface that calls and connection contexts name (`*PB`, annotation `ProtocolInfo`).
    """

    name: str
    version: int
    methods: Mapping[str, Method]


def _protocol(name: str, service: str) -> RPCProtocol:
    methods = {
        method.name: Method(method.name, GetMessageClass(method.input_type), GetMessageClass(method.output_type))
        for method in POOL.FindServiceByName(service).methods
    }
    return RPCProtocol(name, 1, MappingProxyType(methods))


APPLICATION_CLIENT = _protocol(
    "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB", "hadoop.yarn.ApplicationClientProtocolService"
)
APPLICATION_MASTER = _protocol(
    "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB", "hadoop.yarn.ApplicationMasterProtocolService"
)
ADMINISTRATION = _protocol(
    "org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB",
    "hadoop.yarn.ResourceManagerAdministrationProtocolService",
)
CONTAINER_MANAGEMENT = _protocol(
    "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB", "hadoop.yarn.ContainerManagementProtocolService"
)
APPLICATION_HISTORY = _protocol(
    "org.apache.hadoop.yarn.api.ApplicationHistoryProtocolPB", "hadoop.yarn.ApplicationHistoryProtocolService"
)
HA_SERVICE = _protocol("org.apache.hadoop.ha.HAServiceProtocol", "hadoop.common.HAServiceProtocolService")
ZKFC = _protocol("org.apache.hadoop.ha.ZKFCProtocol", "hadoop.common.ZKFCProtocolService")

PROTOCOLS: Mapping[str, RPCProtocol] = MappingProxyType(
    {
        protocol.name: protocol
        for protocol in (
            APPLICATION_CLIENT,
            APPLICATION_MASTER,
            ADMINISTRATION,
            CONTAINER_MANAGEMENT,
            APPLICATION_HISTORY,
            HA_SERVICE,
            ZKFC,
        )
    }
)
"""Every protocol by its name on the wire."""
