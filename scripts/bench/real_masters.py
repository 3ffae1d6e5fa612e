"""Applications of real clusters whose ApplicationMaster is this process: their tokens."""

import asyncio
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from adapters.yarn.rm_rpc import RPCSettings, RPCTarget, YarnRPC, addresses_of
from scripts.bench.load import USER
from scripts.bench.relay_fleets import Beats, log_in
from shim.domain.ids import ApplicationId, SubClusterId
from shim.ports.resource_manager_rpc import RPCCall
from shim.protocol.hrpc.digest_md5 import TokenSecret
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.proto.messages import (
    ApplicationIdProto,
    ApplicationReportProto,
    ApplicationSubmissionContextProto,
    ContainerLaunchContextProto,
    GetApplicationReportRequestProto,
    GetApplicationReportResponseProto,
    GetNewApplicationResponseProto,
    ResourceProto,
    SubmitApplicationRequestProto,
)
from shim.protocol.yarn import application_message
from tests.doubles.settings import usual

_TOKEN_S = 60.0
_SLEEPS_S = 900
_TOKEN_KIND = b"YARN_AM_RM_TOKEN"
_CREDENTIALS_HEAD = b"HDTS\x00"
"""Magic, and the version of the form that Java's Writables write (`org.apache.hadoop.security.Credentials`)."""


async def unmanaged_tokens(client_rpc: str, count: int, queue: str = "default") -> list[TokenSecret]:
    """Submit so many applications whose masters YARN does not manage; what their masters log in with."""
    rpc = _client(client_rpc)
    try:
        return [await _unmanaged(rpc, queue) for _ in range(count)]
    finally:
        await rpc.close()


async def managed_tokens(client_rpc: str, count: int, folder: Path) -> list[TokenSecret]:
    """The same of masters that a node has started: each is a container that leaves its credentials in `folder`."""
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    rpc = _client(client_rpc)
    try:
        for number in range(count):
            # moved into its place when it is whole
            part, whole = folder / f"{number}.part", folder / str(number)
            leave = f'cp "$HADOOP_TOKEN_FILE_LOCATION" {part} && mv {part} {whole}'
            await _submit(rpc, ContainerLaunchContextProto(command=[f"{leave} && exec sleep {_SLEEPS_S}"]))
    finally:
        await rpc.close()
    return [await _left_in(folder / str(number)) for number in range(count)]


def _client(address: str) -> YarnRPC:
    return YarnRPC(RPCTarget(SubClusterId("bench"), addresses_of([address])), usual(RPCSettings))


async def register(client_rpc: str, scheduler_rpc: str, application: ApplicationId) -> None:
    """Register the master of an unmanaged application, with a page of its own; then it runs for ten minutes."""
    rpc = _client(client_rpc)
    try:
        login = await log_in(scheduler_rpc, await _token(rpc, application_message(application)))
        await Beats(login).register(page="http://127.0.0.1:9/")
    finally:
        await rpc.close()


async def _unmanaged(rpc: YarnRPC, queue: str) -> TokenSecret:
    return await _token(rpc, await _submit(rpc, ContainerLaunchContextProto(), queue=queue, unmanaged=True))


async def _token(rpc: YarnRPC, application: ApplicationIdProto) -> TokenSecret:
    """Its own, once its cluster has given it one."""
    asked = GetApplicationReportRequestProto(application_id=application).SerializeToString()
    ends_s = time.monotonic() + _TOKEN_S
    while True:
        told = await _ask(rpc, "getApplicationReport", asked)
        report: ApplicationReportProto = GetApplicationReportResponseProto.FromString(told).application_report
        if report.am_rm_token.identifier:
            return TokenSecret(report.am_rm_token.identifier, report.am_rm_token.password)
        if time.monotonic() > ends_s:
            raise TimeoutError(f"no token within {_TOKEN_S:g} s: {report.diagnostics or 'the application waits'}")
        await asyncio.sleep(0.05)


async def _submit(
    rpc: YarnRPC, container: ContainerLaunchContextProto, *, queue: str = "default", unmanaged: bool = False
) -> ApplicationIdProto:
    new = GetNewApplicationResponseProto.FromString(await _ask(rpc, "getNewApplication", b""))
    context = ApplicationSubmissionContextProto(
        application_id=new.application_id,
        application_name="allocate",
        queue=queue,
        unmanaged_am=unmanaged,
        am_container_spec=container,
        resource=ResourceProto(memory=128, virtual_cores=1),
        maxAppAttempts=1,
    )
    submission = SubmitApplicationRequestProto(application_submission_context=context)
    await _ask(rpc, "submitApplication", submission.SerializeToString())
    return new.application_id


async def _ask(rpc: YarnRPC, method: str, payload: bytes) -> bytes:
    answer = await rpc.call(RPCCall(APPLICATION_CLIENT.name, method, payload, USER), timeout_s=_TOKEN_S)
    if answer.refusal is not None:
        raise RuntimeError(f"{method}: {answer.refusal}")
    return answer.payload


async def _left_in(file: Path) -> TokenSecret:
    ends_s = time.monotonic() + _TOKEN_S
    while not await asyncio.to_thread(file.exists):
        if time.monotonic() > ends_s:
            raise TimeoutError(f"no container has left its credentials in {file} within {_TOKEN_S:g} s")
        await asyncio.sleep(0.05)
    credentials = await asyncio.to_thread(file.read_bytes)
    return next(token for kind, token in tokens_of(credentials) if kind == _TOKEN_KIND)


def tokens_of(credentials: bytes) -> Iterator[tuple[bytes, TokenSecret]]:
    """The kinds and tokens of a credentials file."""
    stream = BytesIO(credentials)
    if stream.read(len(_CREDENTIALS_HEAD)) != _CREDENTIALS_HEAD:
        raise ValueError("these are no credentials as Hadoop writes them for containers")
    for _ in range(_number(stream)):
        _alias, identifier, password, kind, _service = (stream.read(_number(stream)) for _ in range(5))
        yield kind, TokenSecret(identifier, password)


def _number(stream: BytesIO) -> int:
    """A length as `WritableUtils.writeVLong` writes it."""
    first = int.from_bytes(stream.read(1), "big", signed=True)
    return first if first >= -112 else int.from_bytes(stream.read(-112 - first), "big")  # noqa: PLR2004 - its bound
