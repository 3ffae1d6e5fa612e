"""The RPC servers put together: addresses of the sub-clusters, the use cases, the listening sockets."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from shim.app.host_limits import connections_allowed, one_address_share
from shim.app.listening import listening
from shim.calls.admin import AdminCalls
from shim.calls.client import CallSettings, ClientCalls
from shim.concurrency.fair_turns import FairTurns
from shim.config.sections import ServerConfig
from shim.domain.addresses import split_address
from shim.domain.ids import ApplicationAttemptId, SubClusterId
from shim.federation.view_rights import ViewRights
from shim.identity.delegation_tokens import DelegationTokens
from shim.identity.rates import CallRates
from shim.identity.service import IdentityService
from shim.multicluster.attempts import AttemptDirectory, never_read
from shim.ports.attempt_calls import AttemptService
from shim.ports.resource_manager_rpc import ResourceManagerRPC
from shim.protocol.hrpc import HadoopCall
from shim.server.rest.backend import Backend
from shim.server.rpc import AdminService, ClientService, ClientUseCases, RPCLimits, RPCServer, RPCService, TicketLogin
from shim.server.rpc.asked import CallObserver
from shim.server.rpc.connection import LoginJudge
from shim.server.rpc.home_dialler import HomeDialler
from shim.server.rpc.kept_answers import KeptRPCAnswers
from shim.server.rpc.scheduler_connection import RelayObserver
from shim.server.rpc.scheduler_server import SchedulerServer


async def serve_clients(
    server: ServerConfig,
    backend: Backend,
    identity: IdentityService,
    rpcs: Mapping[SubClusterId, ResourceManagerRPC],
    *,
    tokens: DelegationTokens,
    kerberos: TicketLogin | None = None,
    observer: CallObserver = lambda _: None,
    guarded: frozenset[SubClusterId] = frozenset(),
    rates: CallRates | None = None,
) -> RPCServer | None:
    """Open the client RPC server; None if it is switched off, or no sub-cluster's client RPC address is known.

    Args:
        backend: The use cases of the REST server.
        rpcs: The sub-clusters' RPC servers.
        tokens: Heddle's delegation tokens.
        kerberos: How clients log in by ticket; None where names are believed.
        guarded: Sub-clusters with access lists.
        rates: How fast users may call; None for as they like.

    Raises:
        AddressTakenError, ConfigError: If the address cannot be listened on.
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
        turns=FairTurns(lambda work: asyncio.get_running_loop().call_soon(work), each_pass=1),
    )
    use_cases = ClientUseCases(
        calls=calls,
        ids=backend.ids,
        submissions=backend.submissions,
        identity=identity,
        tokens=tokens,
        kept=KeptRPCAnswers(backend.view, backend.clock, staleness_s=server.staleness_s, is_shared=not guarded),
        rights=ViewRights(backend.applications, identity),
        access=backend.applications.access,
        maximum_allocation=backend.maximum_allocation,
        max_submission_bytes=server.max_body_bytes,
        kerberos=kerberos,
        rates=rates,
    )
    service = ClientService(use_cases, observer)
    return await open_service(
        service, server.client_rpc, "client_rpc", judge=service.logins, may_be_dropped=service.only_reads
    )


async def open_service(
    service: RPCService,
    address: str,
    key: str,
    *,
    judge: LoginJudge | None = None,
    may_be_dropped: Callable[[HadoopCall], bool] = lambda _: False,
) -> RPCServer:
    """Listen.

    Args:
        address: `host:port`.
        key: Name of the address in `[server]`.
        judge: Says whether what clients logged in with is still good.
        may_be_dropped: Whether a call whose client has gone may end.

    Raises:
        AddressTakenError, ConfigError: If the address cannot be listened on.
    """
    host, port = split_address(address)
    most = connections_allowed(RPCLimits().max_connections)
    limits = RPCLimits(max_connections=most, max_of_address=one_address_share(most))
    server = RPCServer(service, host=host, port=port, limits=limits, judge=judge, may_be_dropped=may_be_dropped)
    with listening(address, f"server.{key}"):
        await server.start()
    return server


# The admin RPC server put together: the sub-clusters' admin addresses, the calls, the listening socket.


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
        backend: The use cases of the REST server.
        rpcs: The sub-clusters' admin RPC servers.
        kerberos: How operators log in by ticket; None where names are believed.

    Raises:
        AddressTakenError, ConfigError: If the address cannot be listened on.
    """
    if not server.admin_rpc or not rpcs:
        return None
    calls = AdminCalls(rpcs=rpcs, view=backend.view, documents=backend.documents, clock=backend.clock)
    service = AdminService(calls, identity, observer, kerberos)
    return await open_service(service, server.admin_rpc, "admin_rpc")


# The scheduler server put together: the homes' scheduler addresses, the use cases, the listening socket.


async def serve_masters(
    server: ServerConfig,
    addresses: Mapping[SubClusterId, tuple[tuple[str, int], ...]],
    backend: Backend,
    *,
    observer: RelayObserver,
    service: AttemptService | None = None,
    read: Callable[[], Mapping[str, Mapping[SubClusterId, str]]] = dict,
    was_read: Callable[[ApplicationAttemptId], Awaitable[bool]] = never_read,
    owner_address: Callable[[str], str] = lambda _queue: "",
) -> SchedulerServer | None:
    """Open the scheduler server; None if it is switched off, or no sub-cluster's scheduler address is known.

    Args:
        addresses: Where the homes' schedulers listen.
        backend: The use cases of the REST server.
        service: Who understands the calls of applications in queues that span; None: all pass through.
        read: Queues whose ApplicationMasters' calls are read at this moment, each with its other names.
        owner_address: `host:port` where the Heddle that owns a queue takes ApplicationMasters; empty if it is this one.

    Raises:
        AddressTakenError, ConfigError: If the address cannot be listened on.
    """
    if not server.scheduler_rpc or not any(addresses.values()):
        return None
    attempts = AttemptDirectory(
        backend.routing,
        backend.view,
        backend.managers,
        backend.clock,
        read=read,
        was_read=was_read,
        answer_within_s=server.answer_within_s,
    )

    def elsewhere(queue: str) -> tuple[str, int] | None:
        address = owner_address(queue)
        return split_address(address) if address else None

    host, port = split_address(server.scheduler_rpc)
    listener = SchedulerServer(
        attempts, HomeDialler(addresses), observer, host=host, port=port, service=service, owner_address=elsewhere
    )
    with listening(server.scheduler_rpc, "server.scheduler_rpc"):
        await listener.start()
    return listener
