"""The admin RPC server put together: the sub-clusters' admin addresses, the calls, the listening socket."""

from collections.abc import Mapping

from shim.app.client_server import open_service
from shim.calls.admin import AdminCalls
from shim.config.sections import ServerConfig
from shim.domain.ids import SubClusterId
from shim.identity.service import IdentityService
from shim.ports.resource_manager_rpc import ResourceManagerRPC
from shim.server.rest.backend import Backend
from shim.server.rpc import AdminService, RPCServer, TicketLogin
from shim.server.rpc.asked import CallObserver

__all__ = ["serve_admins"]


async def serve_admins(
    server: ServerConfig,
    backend: Backend,
    identity: IdentityService,
    rpcs: Mapping[SubClusterId, ResourceManagerRPC],
    *,
    kerberos: TicketLogin | None = None,
    observer: CallObserver,
) -> RPCServer | None:
    """Open the admin RPC server; None if it is switched off, or no sub-cluster's admin address is known.

    Args:
        server: Where to listen.
        backend: The use cases of the REST server.
        identity: Who may act for whom.
        rpcs: The sub-clusters' admin RPC servers.
        kerberos: How operators log in by ticket; None where names are believed.
        observer: Told of every answer.

    Raises:
        AddressTakenError, ConfigError: If the address cannot be listened on.
    """
    if not server.admin_rpc or not rpcs:
        return None
    calls = AdminCalls(rpcs=rpcs, view=backend.view, documents=backend.documents, clock=backend.clock)
    service = AdminService(calls, identity, observer, kerberos)
    return await open_service(service, server.admin_rpc, "admin_rpc")
