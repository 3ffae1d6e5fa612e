"""Questions that Heddle asks a ResourceManager for itself, and the reading of their answers."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from email.utils import parsedate_to_datetime

from shim.domain.applications import YarnApplicationState
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import ApplicationDocument
from shim.errors import HeddleError, MalformedAnswerError, RemoteProtocolError
from shim.federation.core.subcluster_view import Part
from shim.ports.resource_manager import Parameters, ResourceManager, RestAnswer, RestRequest
from shim.ports.resource_manager_rpc import ResourceManagerRPC, RPCCall
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.rest.documents import application_document, application_documents
from shim.protocol.rest.wire_values import is_text, with_plain_numbers

PROBE_USER = "heddle-doctor"
"""In whose name a ResourceManager is asked as whom it takes the request; nobody is called so."""

_BASE = "/ws/v1/cluster"
_OK = 200
_NOT_FOUND = 404

LIVE_STATES = ",".join(state.value for state in YarnApplicationState if not state.is_final)
ENDED_STATES = ",".join(state.value for state in YarnApplicationState if state.is_final)


async def ask_part(manager: ResourceManager, part: Part, *, timeout_s: float) -> RestAnswer:
    """Ask for one part's document.

    Raises:
        ResourceManagerError: If there is no answer with status 200.
    """
    return _with_plain_numbers(await ask_rows(manager, part, timeout_s=timeout_s))


async def ask_rows(
    manager: ResourceManager, part: Part, parameters: Parameters = (), *, timeout_s: float
) -> RestAnswer:
    """Ask for one part's document, which is read by rows; raises as `ask_part`. Its numbers may not be plain."""
    return await _ask(manager, f"{_BASE}/{part.value}", parameters, None, timeout_s)


async def ask_right_to_act(rpc: ResourceManagerRPC | None, *, timeout_s: float) -> str | None:
    """Make a harmless call in the name of `PROBE_USER`.

    Returns:
        The refusal, or why there was no answer; empty if the call was taken, None where there is nobody to ask.
    """
    if rpc is None:
        return None
    call = RPCCall(APPLICATION_CLIENT.name, "getClusterMetrics", b"", PROBE_USER)
    try:
        refusal = (await rpc.call(call, timeout_s=timeout_s)).refusal
    except HeddleError as exc:
        return str(exc)
    return "" if refusal is None else refusal.message


async def ask_applications(
    manager: ResourceManager, parameters: Parameters, *, as_of_s: float, timeout_s: float, viewer: str | None = None
) -> Mapping[ApplicationId, ApplicationDocument]:
    """Ask for applications.

    Raises:
        ResourceManagerError: If there is no readable answer with status 200.
    """
    answer = _with_plain_numbers(await _ask(manager, f"{_BASE}/apps", parameters, viewer, timeout_s))
    with readable(manager.subcluster):
        return application_documents(answer.body, manager.subcluster, as_of_s)


async def ask_application(
    manager: ResourceManager,
    application_id: ApplicationId,
    *,
    as_of_s: float,
    timeout_s: float,
    viewer: str | None = None,
) -> ApplicationDocument | None:
    """Ask for one application; None if it is not known there.

    Raises:
        ResourceManagerError: If there is no readable answer with status 200, or 404 in a ResourceManager's words.
    """
    path = f"{_BASE}/apps/{application_id}"
    answer = await manager.query(path, viewer=viewer, timeout_s=timeout_s)
    if answer.status == _NOT_FOUND and b"NotFoundException" in answer.body:  # no page of some other server
        return None
    if answer.status != _OK:
        raise MalformedAnswerError(manager.subcluster, f"{path} answered {answer.status}")
    _check_text(manager.subcluster, path, answer)
    with readable(manager.subcluster):
        return application_document(with_plain_numbers(answer.body), manager.subcluster, as_of_s)


async def ask_attempts(manager: ResourceManager, application_id: ApplicationId, *, timeout_s: float) -> bytes:
    """Ask for the attempts of an application; raises as `ask_part`."""
    path = f"{_BASE}/apps/{application_id}/appattempts"
    return _with_plain_numbers(await _ask(manager, path, (), None, timeout_s)).body


@contextmanager
def readable(subcluster: SubClusterId) -> Iterator[None]:
    """Turn an answer that cannot be read into the ResourceManager's failure.

    Raises:
        MalformedAnswerError: Instead of a `RemoteProtocolError` of the body.
    """
    try:
        yield
    except RemoteProtocolError as exc:
        raise MalformedAnswerError(subcluster, str(exc)) from exc


def told_at_s(answer: RestAnswer) -> float | None:
    """The ResourceManager's clock when it answered, by its `Date` header: seconds since the epoch, give or take 0.5."""
    date = answer.header("Date")
    if date is None:
        return None
    try:
        return parsedate_to_datetime(date).timestamp() + 0.5
    except (TypeError, ValueError, OverflowError):
        return None


async def _ask(
    manager: ResourceManager, path: str, parameters: Parameters, viewer: str | None, timeout_s: float
) -> RestAnswer:
    answer = await manager.query(path, parameters, viewer=viewer, timeout_s=timeout_s)
    if answer.status != _OK:
        raise MalformedAnswerError(manager.subcluster, f"{path} answered {answer.status}")
    _check_text(manager.subcluster, path, answer)
    return answer


def _with_plain_numbers(answer: RestAnswer) -> RestAnswer:
    body = with_plain_numbers(answer.body)
    return answer if body is answer.body else replace(answer, body=body)


def _check_text(subcluster: SubClusterId, path: str, answer: RestAnswer) -> None:
    if not is_text(answer.body):
        raise MalformedAnswerError(subcluster, f"{path} answered with what is no UTF-8")


# The question whether a reservation is in a queue of a ResourceManager, and what it is.

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
