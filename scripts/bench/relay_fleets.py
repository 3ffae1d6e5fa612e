"""The ApplicationMasters of `scripts.bench.relay`: made up, or unmanaged ones of a real ResourceManager."""

import asyncio
import os
import time
from collections.abc import Sequence
from typing import Protocol, cast

from adapters.yarn.rm_rpc import RPCTarget, YarnRPC, addresses_of
from scripts.bench.rpc import allocate_request
from shim.domain.ids import ApplicationAttemptId, ApplicationId, SubClusterId
from shim.ports.attempt_calls import ALLOCATE, REGISTER
from shim.ports.resource_manager_rpc import RPCCall
from shim.protocol.hrpc import (
    AnswerReceived,
    AuthMethod,
    ClientConnection,
    ConnectionEnded,
    Established,
    Request,
    SASLInitiator,
    UserIdentity,
)
from shim.protocol.hrpc.digest_md5 import DigestMD5Client, TokenSecret
from shim.protocol.proto import APPLICATION_CLIENT, APPLICATION_MASTER, RPCProtocol
from shim.protocol.proto.messages import (
    AllocateRequestProto,
    ApplicationReportProto,
    ApplicationSubmissionContextProto,
    ContainerLaunchContextProto,
    GetApplicationReportRequestProto,
    GetApplicationReportResponseProto,
    GetNewApplicationResponseProto,
    RegisterApplicationMasterRequestProto,
    ResourceProto,
    SubmitApplicationRequestProto,
)
from shim.testing.scheduler import token_for

__all__ = ["Fleet", "Login", "MadeUpFleet", "RealFleet", "attempt", "real_tokens"]

_ASKS = 10
_USER = "bench"


def attempt(number: int) -> ApplicationAttemptId:
    """The attempt of made-up master `number`."""
    return ApplicationAttemptId(ApplicationId(1_700_000_000_000, number + 1), 1)


def _request(method: str, payload: bytes) -> Request:
    return Request(APPLICATION_MASTER.name, method, payload)


class Login(asyncio.Protocol):
    """One login of a master: one call at a time."""

    def __init__(self, token: TokenSecret) -> None:
        initiator = SASLInitiator({AuthMethod.TOKEN: lambda _: DigestMD5Client(token, os.urandom(30).hex())})
        self._connection = ClientConnection(
            APPLICATION_MASTER.name, UserIdentity(""), os.urandom(16), initiator=initiator
        )
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._number = 0
        self.established = self._waiting

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Introduce ourselves."""
        self._transport = cast("asyncio.Transport", transport)
        self._connection.connect()
        self._flush()

    def data_received(self, data: bytes) -> None:
        """Let whoever waits go on."""
        for event in self._connection.receive(data):
            if isinstance(event, ConnectionEnded) and not self._waiting.done():
                self._waiting.set_exception(ConnectionError(event.reason))
            if isinstance(event, AnswerReceived | Established) and not self._waiting.done():
                self._waiting.set_result(None)
        self._flush()

    async def call(self, request: Request) -> float:
        """Make a call; the seconds until its answer was there."""
        self._waiting = asyncio.get_running_loop().create_future()
        self._number += 1
        began_s = time.perf_counter()
        self._connection.call(request, call_id=self._number)
        self._flush()
        await self._waiting
        return time.perf_counter() - began_s

    def _flush(self) -> None:
        data = self._connection.data_to_send()
        if data and self._transport is not None:
            self._transport.write(data)


class Fleet(Protocol):
    """What the masters are and say."""

    def token(self, number: int) -> TokenSecret:
        """Of master `number`."""
        ...

    def first(self) -> Request | None:
        """What each calls before anything else, on one of its logins."""
        ...

    def next(self, number: int) -> Request:
        """What master `number` calls next."""
        ...


class MadeUpFleet:
    """For a scripted scheduler: ten asks in each call, always the same bytes."""

    def __init__(self) -> None:
        asks = allocate_request().ask[:_ASKS]
        self._request = _request(ALLOCATE, AllocateRequestProto(ask=asks, progress=0.5).SerializeToString())

    def token(self, number: int) -> TokenSecret:
        """One that the scripted scheduler issues."""
        return token_for(attempt(number))

    def first(self) -> Request | None:
        """Nothing."""
        return None

    def next(self, number: int) -> Request:
        """The same again."""
        del number
        return self._request


class RealFleet:
    """For a ResourceManager: beats without asks, numbered as it wants them."""

    def __init__(self, tokens: Sequence[TokenSecret]) -> None:
        self._tokens = tokens
        self._response_ids = [0] * len(tokens)

    def token(self, number: int) -> TokenSecret:
        """One that it issued."""
        return self._tokens[number]

    def first(self) -> Request | None:
        """Registration."""
        return _request(REGISTER, RegisterApplicationMasterRequestProto(host="nowhere", rpc_port=0).SerializeToString())

    def next(self, number: int) -> Request:
        """The next beat: two logins of one attempt share their numbers."""
        response_id = self._response_ids[number]
        self._response_ids[number] += 1
        return _request(ALLOCATE, AllocateRequestProto(response_id=response_id, progress=0.5).SerializeToString())


async def real_tokens(client_rpc: str, count: int) -> list[TokenSecret]:
    """Submit so many unmanaged applications; their tokens."""
    rpc = YarnRPC(RPCTarget(SubClusterId("bench"), addresses_of([client_rpc])))
    try:
        return [await _token(rpc) for _ in range(count)]
    finally:
        await rpc.close()


async def _token(rpc: YarnRPC) -> TokenSecret:
    new = GetNewApplicationResponseProto.FromString(await _ask(rpc, APPLICATION_CLIENT, "getNewApplication", b""))
    context = ApplicationSubmissionContextProto(
        application_id=new.application_id,
        application_name="allocate",
        unmanaged_am=True,
        am_container_spec=ContainerLaunchContextProto(),
        resource=ResourceProto(memory=128, virtual_cores=1),
        maxAppAttempts=1,
    )
    submission = SubmitApplicationRequestProto(application_submission_context=context)
    await _ask(rpc, APPLICATION_CLIENT, "submitApplication", submission.SerializeToString())
    asked = GetApplicationReportRequestProto(application_id=new.application_id).SerializeToString()
    while True:
        told = await _ask(rpc, APPLICATION_CLIENT, "getApplicationReport", asked)
        report: ApplicationReportProto = GetApplicationReportResponseProto.FromString(told).application_report
        if report.am_rm_token.identifier:
            return TokenSecret(report.am_rm_token.identifier, report.am_rm_token.password)
        await asyncio.sleep(0.05)


async def _ask(rpc: YarnRPC, protocol: RPCProtocol, method: str, payload: bytes) -> bytes:
    answer = await rpc.call(RPCCall(protocol.name, method, payload, _USER), timeout_s=60)
    if answer.refusal is not None:
        raise RuntimeError(f"{method}: {answer.refusal}")
    return answer.payload
