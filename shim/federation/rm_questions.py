"""Questions that Heddle asks a ResourceManager for itself, and the reading of their answers."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TypeVar

import msgspec

from shim.domain.applications import YarnApplicationState
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import ApplicationDocument
from shim.errors import HeddleError, MalformedAnswerError, RemoteProtocolError
from shim.federation.core.federation_view import Part
from shim.ports.resource_manager import Parameters, ResourceManager, RestAnswer, RestRequest
from shim.ports.resource_manager_rpc import ResourceManagerRPC, RPCCall
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.rest.documents import ApplicationReader, application_document, application_objects, node_objects
from shim.protocol.wire_values import MOST_AT_ONCE, UNREADABLE, are_plain, are_text, plain_pieces, rows_in_slices

PROBE_USER = "heddle-doctor"
"""In whose name a ResourceManager is asked as whom it takes the request; nobody is called so."""

_BASE = "/ws/v1/cluster"
_OK = 200
_NOT_FOUND = 404
_SMALL = 256 * 1024
_MOST_ODD = 2 * 1024 * 1024
"""Bytes of a list that is as no ResourceManager writes it."""
_MOST_OF = {Part.INFO: 256 * 1024, Part.METRICS: 256 * 1024}
"""Bytes of documents that are put together with others', member by member; a ResourceManager's have 4 KiB."""
_MOST_ROWS = 1_000_000
ROWS_A_TURN = 100
"""Rows that are read before others have their turn: a few milliseconds of work."""
_T = TypeVar("_T")

LIVE_STATES = ",".join(state.value for state in YarnApplicationState if not state.is_final)
ENDED_STATES = ",".join(state.value for state in YarnApplicationState if state.is_final)


async def ask_part(manager: ResourceManager, part: Part, *, timeout_s: float) -> RestAnswer:
    """Ask for one part's document.

    Raises:
        ResourceManagerError: If there is no answer with status 200.
    """
    answer = await ask_rows(manager, part, timeout_s=timeout_s)
    return await _read_at_once(manager, part.value, answer, _MOST_OF.get(part, MOST_AT_ONCE))


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
    answer = await _ask(manager, f"{_BASE}/apps", parameters, viewer, timeout_s)
    read = partial(ApplicationReader(manager.subcluster), as_of_s=as_of_s)
    with readable(manager.subcluster):
        rows, _, _ = await read_rows(APPLICATIONS, answer.body, read)
    return {document.summary.application_id: document for document in rows}


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
    await _check_text(manager.subcluster, path, answer)
    plain = await _read_at_once(manager, path, answer)
    with readable(manager.subcluster):
        return application_document(plain.body, manager.subcluster, as_of_s)


async def ask_attempts(manager: ResourceManager, application_id: ApplicationId, *, timeout_s: float) -> bytes:
    """Ask for the attempts of an application; raises as `ask_part`."""
    path = f"{_BASE}/apps/{application_id}/appattempts"
    return (await _read_at_once(manager, path, await _ask(manager, path, (), None, timeout_s))).body


async def ask_setting(manager: ResourceManager, name: str, *, timeout_s: float) -> str:
    """Ask what a property of its configuration is; empty if it does not say.

    Raises:
        ResourceManagerError: If there is no answer.
    """
    answer = await manager.query("/conf", (("name", name),), timeout_s=timeout_s)
    if answer.status != _OK or len(answer.body) > MOST_AT_ONCE:
        return ""
    try:
        told = msgspec.json.decode(answer.body, type=_Setting, strict=False)
    except UNREADABLE:
        return ""
    listed = [*told.properties, *([] if told.property is None else [told.property])]
    return next((each.value or "" for each in listed if each.key == name), "")


class _Property(msgspec.Struct):
    key: str = ""
    value: str | None = None


class _Setting(msgspec.Struct):
    property: _Property | None = None
    properties: list[_Property] = []  # of a version that does not look for the name


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
    await _check_text(manager.subcluster, path, answer)
    return answer


async def _read_at_once(
    manager: ResourceManager, path: str, answer: RestAnswer, most: int = MOST_AT_ONCE
) -> RestAnswer:
    """A document that is read in one go, with plain numbers: so it must not be endless."""
    if len(answer.body) > most:
        raise MalformedAnswerError(manager.subcluster, f"{path} answered with more than {most} bytes")
    with readable(manager.subcluster):
        body = await _plain(answer.body)
    return answer if body is answer.body else replace(answer, body=body)


async def _check_text(subcluster: SubClusterId, path: str, answer: RestAnswer) -> None:
    async for is_text in _in_turns(answer.body, are_text):
        if not is_text:
            raise MalformedAnswerError(subcluster, f"{path} answered with what is no UTF-8")


# Lists: rows are read some at a time, so that a large list, or an odd one, holds up nobody.


@dataclass(frozen=True, slots=True)
class ListOfRows:
    """A kind of list: how a usual one begins, and how any is read in one go."""

    head: bytes
    objects: Callable[[bytes], list[msgspec.Raw]]


APPLICATIONS = ListOfRows(b'{"apps":{"app":[', application_objects)
NODES = ListOfRows(b'{"nodes":{"node":[', node_objects)


async def read_rows(
    kind: ListOfRows, raw: bytes, read: Callable[[msgspec.Raw], _T | None], most: int = _MOST_ROWS
) -> tuple[list[_T], int, bytes]:
    """What a list tells, how many rows it has beyond that, and the list with plain numbers.

    It is read in slices if it is as usual, or else in one go.

    Raises:
        RemoteProtocolError: If it cannot be read, or is as no ResourceManager writes it, and large.
    """
    try:
        return *await _read_slices(rows_in_slices(raw, kind.head), read, most), raw
    except RemoteProtocolError:
        plain = await _plain(raw)
    if plain is not raw:
        with suppress(RemoteProtocolError):
            return *await _read_slices(rows_in_slices(plain, kind.head), read, most), plain
    if len(plain) > _MOST_ODD:
        raise RemoteProtocolError(f"a list of {len(plain)} bytes is written as no ResourceManager writes it")
    return *await _read_slices(iter((kind.objects(plain),)), read, most), plain


async def _plain(body: bytes) -> bytes:
    """A document with numbers that are JSON; others have their turn meanwhile."""
    async for is_plain in _in_turns(body, are_plain):
        if not is_plain:
            return b"".join([piece async for piece in _in_turns(body, plain_pieces)])
    return body


async def _in_turns(body: bytes, look: Callable[[bytes], Iterator[_T]]) -> AsyncIterator[_T]:
    """What is told of a document piece by piece; of a large one others have their turn after each."""
    for told in look(body):
        yield told
        if len(body) > _SMALL:
            await asyncio.sleep(0)


async def _read_slices(
    slices: Iterator[list[msgspec.Raw]], read: Callable[[msgspec.Raw], _T | None], most: int
) -> tuple[list[_T], int]:
    """Read rows, letting others have their turn now and then; give what they tell, and how many tell nothing."""
    count = 0
    taken: list[_T] = []
    for rows in slices:
        for number, row in enumerate(rows[: max(0, most - count)], start=1):
            if (told := read(row)) is not None:
                taken.append(told)
            if number % ROWS_A_TURN == 0:
                await asyncio.sleep(0)
        count += len(rows)
        await asyncio.sleep(0)
    return taken, count - len(taken)


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
