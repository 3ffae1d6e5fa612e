"""The question whether a reservation is in a queue of a ResourceManager, and what it is."""

from collections.abc import AsyncIterator

from shim.ports.resource_manager import ResourceManager, RestAnswer, RestRequest

__all__ = ["reservation_lists"]

_LIST = "/ws/v1/cluster/reservation/list"


async def reservation_lists(
    manager: ResourceManager, queue: str, reservation: str, *, timeout_s: float
) -> AsyncIterator[RestAnswer]:
    """Answers to the question by each name of the queue: some ResourceManagers want its last part, others its path.

    Raises:
        ResourceManagerError: It does not answer.
    """
    for name in dict.fromkeys((queue.rpartition(".")[2], queue)):
        parameters = (("queue", name), ("reservation-id", reservation))
        request = RestRequest("GET", _LIST, parameters, headers=(("Accept", "application/json"),))
        yield await manager.forward(request, timeout_s=timeout_s)
