"""The client door put together: the sub-clusters' RPC addresses, the use cases, the listening socket."""

from collections.abc import Mapping

from adapters.yarn.rm_doors import BothDoors
from adapters.yarn.rm_rpc import RPCSettings, RPCTarget, YarnRPC, addresses_of
from shim.config import ServerConfig, split_address
from shim.connections import SubCluster
from shim.domain.ids import SubClusterId
from shim.errors import ConfigError
from shim.ports.resource_manager import ResourceManager
from shim.ports.resource_manager_rpc import ResourceManagerRPC
from shim.server.rest.backend import Backend
from shim.server.rpc import ClientDoor, ClientUseCases, RPCServer
from shim.server.rpc.exchanges import Witness
from shim.services.client_calls import CallSettings, ClientCalls
from shim.services.delegation_tokens import DelegationTokens
from shim.services.identity import IdentityService

__all__ = ["connect_rpc", "serve_clients", "with_rpc"]


def connect_rpc(subcluster: SubCluster) -> YarnRPC | None:
    """The RPC door of a sub-cluster's ResourceManager, nothing opened yet; None if its address is not known."""
    addresses = addresses_of(subcluster.description.client_rpc)
    if not addresses:
        return None
    rest = subcluster.settings
    settings = RPCSettings(
        connect_timeout_s=rest.connect_timeout_s,
        timeout_s=rest.timeout_s,
        real_user=rest.user if rest.is_proxy else "",
    )
    return YarnRPC(RPCTarget(subcluster.id, addresses), settings)


def with_rpc(rest: ResourceManager, rpc: ResourceManagerRPC | None) -> ResourceManager:
    """Both doors of a ResourceManager as one, or the web services alone."""
    return rest if rpc is None else BothDoors(rest, rpc)


async def serve_clients(
    server: ServerConfig,
    backend: Backend,
    identity: IdentityService,
    rpcs: Mapping[SubClusterId, ResourceManagerRPC],
    *,
    secret: bytes,
    witness: Witness = lambda _: None,
    guarded: frozenset[SubClusterId] = frozenset(),
) -> RPCServer | None:
    """Open the client door; None if it is switched off, or no sub-cluster's client RPC address is known.

    Args:
        server: Where to listen.
        backend: The use cases of the REST door.
        identity: Who may act for whom.
        rpcs: The sub-clusters' RPC doors.
        secret: Key of the delegation tokens.
        witness: Told of every answer.
        guarded: Sub-clusters with access lists.

    Raises:
        ConfigError: If the address cannot be listened on.
    """
    if not server.client_rpc or not rpcs:
        return None
    calls = ClientCalls(
        rpcs=rpcs,
        routing=backend.routing,
        control=backend.control,
        listing=backend.applications,
        view=backend.view,
        clock=backend.clock,
        settings=CallSettings(server.answer_within_s, guarded),
    )
    use_cases = ClientUseCases(
        calls=calls,
        ids=backend.ids,
        submissions=backend.submissions,
        identity=identity,
        tokens=DelegationTokens(secret, backend.clock),
        maximum_allocation=backend.maximum_allocation,
        max_submission_bytes=server.max_body_bytes,
    )
    host, port = split_address(server.client_rpc)
    door = RPCServer(ClientDoor(use_cases, witness), host=host, port=port)
    try:
        await door.start()
    except OSError as exc:
        message = (
            f"{server.client_rpc} cannot be listened on: {exc.strerror}. Is a ResourceManager or another Heddle there? "
            f'client_rpc = "" serves the web services alone'
        )
        raise ConfigError("the configuration", "server.client_rpc", message) from exc
    return door
