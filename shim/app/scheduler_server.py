"""The scheduler server put together: the homes' scheduler addresses, the use cases, the listening socket."""

from collections.abc import Awaitable, Callable, Mapping

from shim.app.listening import listening
from shim.config.sections import ServerConfig
from shim.domain.addresses import split_address
from shim.domain.ids import ApplicationAttemptId, SubClusterId
from shim.multicluster.attempts import AttemptDirectory, never_read
from shim.ports.attempt_calls import AttemptService
from shim.server.rest.backend import Backend
from shim.server.rpc.home_dialler import HomeDialler
from shim.server.rpc.scheduler_connection import RelayObserver
from shim.server.rpc.scheduler_server import SchedulerServer

__all__ = ["serve_masters"]


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
        server: Where to listen.
        addresses: Where the homes' schedulers listen.
        backend: The use cases of the REST server.
        observer: Counts.
        service: Who understands the calls of applications in queues that span; None: all pass through.
        read: Queues whose ApplicationMasters' calls are read at this moment, each with its other names.
        was_read: Whether those of an attempt were read before, and therefore still are.
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
