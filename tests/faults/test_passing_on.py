"""Real Global Masters: an ApplicationMaster of a queue that spans may come to any of them; its owner has its calls."""

import os
import re
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from adapters.yarn.rm_rpc import RPCSettings, RPCTarget, YarnRPC, addresses_of
from shim.domain.ids import ApplicationId, SubClusterId
from shim.lab import Lab
from shim.ports.resource_manager_rpc import RPCCall
from shim.protocol.hrpc import AuthMethod, SASLInitiator
from shim.protocol.hrpc.digest_md5 import DigestMD5Client, TokenSecret
from shim.protocol.proto import APPLICATION_CLIENT, APPLICATION_MASTER
from shim.protocol.proto.messages import (
    AllocateRequestProto,
    AllocateResponseProto,
    GetApplicationReportRequestProto,
    GetApplicationReportResponseProto,
    RegisterApplicationMasterRequestProto,
)
from shim.protocol.yarn import application_message
from tests.doubles.settings import usual
from tests.faults.test_masters import QUEUES, patient, started
from tests.support.masters import (
    MasterProcess,
    MasterProcesses,
    fresh_database,
    masters_over,
    names_that_share,
    told,
    until,
)
from tests.support.nursery import Nursery
from tests.support.spanning import SPANNING

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

SERVER = re.compile(r"ApplicationMasters connect to (\S+) ")
_REGISTERED = re.compile(r'heddle_am_calls_total\{method="registerApplicationMaster",subcluster="\w+"\} ([0-9.]+)')


@pytest.fixture
async def masters(
    nursery: Nursery, fault_lab: Lab, postgres_url: str, tmp_path: Path
) -> AsyncIterator[MasterProcesses]:
    """Masters with scheduler servers, and a queue that spans."""
    store = await fresh_database(postgres_url, "passing_on")
    async with masters_over(nursery, tmp_path, store, fault_lab, spanning=SPANNING) as prepared:
        yield prepared


def rpc_to(address: str, token: TokenSecret | None = None) -> YarnRPC:
    def initiator() -> SASLInitiator:
        assert token is not None
        return SASLInitiator({AuthMethod.TOKEN: lambda _: DigestMD5Client(token, os.urandom(30).hex())})

    target = RPCTarget(SubClusterId("any"), addresses_of([address]))
    return YarnRPC(target, usual(RPCSettings), initiator=initiator if token is not None else None)


async def token_of(lab: Lab, home: str, application: str) -> TokenSecret:
    """The token of an unmanaged application, as its user reads it."""
    clients = rpc_to(lab.cluster(home).client_rpc)
    asked = GetApplicationReportRequestProto(application_id=application_message(ApplicationId.parse(application)))
    call = RPCCall(APPLICATION_CLIENT.name, "getApplicationReport", asked.SerializeToString(), "alice")
    tokens: list[TokenSecret] = []

    async def is_told() -> bool:
        answer = await clients.call(call, timeout_s=30)
        token = GetApplicationReportResponseProto.FromString(answer.payload).application_report.am_rm_token
        if token.identifier:
            tokens.append(TokenSecret(token.identifier, token.password))
        return bool(tokens)

    await until(is_told)
    await clients.close()
    return tokens[0]


async def registrations(session: aiohttp.ClientSession, master: MasterProcess) -> int:
    """How many ApplicationMasters have registered through a Global Master."""
    async with session.get(f"{master.url}/metrics") as answer:
        return sum(int(float(count)) for count in _REGISTERED.findall(await answer.text()))


async def test_an_application_master_that_comes_to_another_than_the_owner_is_passed_on(
    masters: MasterProcesses, fault_lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient(monkeypatch)
    owner, other = await started(masters, names_that_share(QUEUES))
    assert await masters.submit(owner, QUEUES[0]) == 202
    (application,) = masters.acknowledged
    (home,) = (await masters.everything_runs_once()).values()
    token = await token_of(fault_lab, home, application)
    server = SERVER.search(told(other))
    assert server is not None
    master = rpc_to(server[1], token)

    register = RegisterApplicationMasterRequestProto(host="nowhere", rpc_port=0).SerializeToString()
    registered = await master.call(
        RPCCall(APPLICATION_MASTER.name, "registerApplicationMaster", register, ""), timeout_s=60
    )
    assert registered.refusal is None
    allocate = AllocateRequestProto(response_id=0, progress=0.1).SerializeToString()
    allocated = await master.call(RPCCall(APPLICATION_MASTER.name, "allocate", allocate, ""), timeout_s=60)
    assert allocated.refusal is None
    assert AllocateResponseProto.FromString(allocated.payload).response_id == 1

    async def has_both_counted() -> bool:
        return [await registrations(masters.session, each) for each in (owner, other)] == [1, 1]

    await until(has_both_counted)
    await master.close()
    await masters.kill_applications(owner)
