"""ApplicationMasters of the bench: how they log in and call, and the fleets of them for `scripts.bench.relay`."""

import asyncio
import os
import time
from typing import Protocol, cast

from adapters.yarn.rm_rpc import addresses_of
from scripts.bench.rpc import allocate_request
from shim.domain.ids import ApplicationAttemptId, ApplicationId
from shim.ports.attempt_calls import ALLOCATE, REGISTER
from shim.protocol.hrpc import (
    AnswerReceived,
    AuthMethod,
    ClientConnection,
    ClientEvent,
    ConnectionEnded,
    Established,
    HadoopRequest,
    SASLInitiator,
    UserIdentity,
)
from shim.protocol.hrpc.digest_md5 import DigestMD5Client, TokenSecret
from shim.protocol.proto import APPLICATION_MASTER
from shim.protocol.proto.messages import (
    AllocateRequestProto,
    AllocateResponseProto,
    PriorityProto,
    RegisterApplicationMasterRequestProto,
    ResourceProto,
    ResourceRequestProto,
)
from tests.doubles.scheduler import token_for

_ASKS = 10
_CONTAINERS = 4


def attempt(number: int) -> ApplicationAttemptId:
    """The attempt of made-up master `number`."""
    return ApplicationAttemptId(ApplicationId(1_700_000_000_000, number + 1), 1)


def asks_for(containers: int) -> ResourceRequestProto:
    """So many small containers, anywhere."""
    return ResourceRequestProto(
        priority=PriorityProto(priority=20),
        resource_name="*",
        capability=ResourceProto(memory=128, virtual_cores=1),
        num_containers=containers,
    )


class Login(asyncio.Protocol):
    """One login of a master: one call at a time.

    Attributes:
        payload: The last answer.
    """

    def __init__(self, token: TokenSecret) -> None:
        initiator = SASLInitiator({AuthMethod.TOKEN: lambda _: DigestMD5Client(token, os.urandom(30).hex())})
        self._connection = ClientConnection(
            APPLICATION_MASTER.name, UserIdentity(""), os.urandom(16), initiator=initiator
        )
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._number = 0
        self.payload = b""
        self.established = self._waiting

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Introduce ourselves."""
        self._transport = cast("asyncio.Transport", transport)
        self._connection.connect()
        self._flush()

    def data_received(self, data: bytes) -> None:
        """Let whoever waits go on."""
        for event in self._connection.receive(data):
            if not self._waiting.done():
                self._take(event)
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        """Whoever waits waits in vain."""
        if not self._waiting.done():
            self._waiting.set_exception(exc or ConnectionError("the other side has closed the connection"))

    async def call(self, request: HadoopRequest) -> float:
        """Make a call; the seconds until its answer was there.

        Raises:
            ConnectionError: If it is refused, or the connection ends.
        """
        self._waiting = asyncio.get_running_loop().create_future()
        self._number += 1
        began_s = time.perf_counter()
        self._connection.call(request, call_id=self._number)
        self._flush()
        await self._waiting
        return time.perf_counter() - began_s

    def _take(self, event: ClientEvent) -> None:
        if isinstance(event, ConnectionEnded):
            self._waiting.set_exception(ConnectionError(event.reason))
        elif isinstance(event, AnswerReceived) and event.answer.failure is not None:
            self._waiting.set_exception(ConnectionError(str(event.answer.failure)))
        elif isinstance(event, AnswerReceived | Established):
            self.payload = event.answer.payload_untrusted if isinstance(event, AnswerReceived) else b""
            self._waiting.set_result(None)

    def _flush(self) -> None:
        data = self._connection.data_to_send()
        if data and self._transport is not None:
            self._transport.write(data)


async def log_in(address: str, token: TokenSecret) -> Login:
    """One login at `host:port`."""
    ((host, port),) = addresses_of([address])
    _, login = await asyncio.get_running_loop().create_connection(lambda: Login(token), host, port)
    await login.established
    return login


class Beats:
    """A registered master's calls, numbered as a scheduler wants them."""

    def __init__(self, login: Login) -> None:
        self._login = login
        self._response_id = 0
        self.hosts: list[str] = []

    async def register(self, page: str = "") -> None:
        """Before anything else; `page` is where it shows how it does."""
        request = RegisterApplicationMasterRequestProto(host="nowhere", rpc_port=0, tracking_url=page or None)
        await self._login.call(_request(REGISTER, request.SerializeToString()))

    async def call(self, *asks: ResourceRequestProto) -> float:
        """One allocate call; the seconds until its answer was there."""
        request = AllocateRequestProto(response_id=self._response_id, progress=0.5, ask=asks)
        took_s = await self._login.call(_request(ALLOCATE, request.SerializeToString()))
        told = AllocateResponseProto.FromString(self._login.payload)
        self._response_id = told.response_id
        self.hosts += [container.nodeId.host for container in told.allocated_containers]
        return took_s


class Voice(Protocol):
    """One of the two logins of a master."""

    async def call(self) -> float:
        """Make the next call; the seconds until its answer was there."""
        ...


class Fleet(Protocol):
    """What the masters are and say."""

    async def begin(self, number: int, direct: str, relayed: str) -> tuple[Voice, Voice]:
        """Log master `number` in at two addresses."""
        ...


class _SameAgain:
    """Always the same bytes: ten asks in each call."""

    def __init__(self, login: Login) -> None:
        asks = allocate_request().ask[:_ASKS]
        self._login = login
        self._request = _request(ALLOCATE, AllocateRequestProto(ask=asks, progress=0.5).SerializeToString())

    async def call(self) -> float:
        """The same again."""
        return await self._login.call(self._request)


class PassingFleet:
    """For a scheduler that answers everything alike, and a server that only passes on."""

    async def begin(self, number: int, direct: str, relayed: str) -> tuple[Voice, Voice]:
        """Both logins are the same master's."""
        token = token_for(attempt(number))
        return _SameAgain(await log_in(direct, token)), _SameAgain(await log_in(relayed, token))


class SpanningFleet:
    """For a scheduler that wants calls in their order, and a server that understands them."""

    async def begin(self, number: int, direct: str, relayed: str) -> tuple[Voice, Voice]:
        """Each login is a master of its own; the relayed one holds containers elsewhere."""
        here, there = [
            Beats(await log_in(address, token_for(attempt(2 * number + offset))))
            for offset, address in enumerate((direct, relayed))
        ]
        for voice in (here, there):
            await voice.register()
        await there.call(asks_for(_CONTAINERS))
        return here, there


async def at_home(number: int, relayed: str) -> Beats:
    """A registered master that is logged in at a server alone, and has asked for a few containers."""
    voice = Beats(await log_in(relayed, token_for(attempt(number))))
    await voice.register()
    await voice.call(asks_for(_CONTAINERS))
    return voice


def _request(method: str, payload: bytes) -> HadoopRequest:
    return HadoopRequest(APPLICATION_MASTER.name, method, payload)
