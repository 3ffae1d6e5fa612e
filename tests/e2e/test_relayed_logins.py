"""Logins of ApplicationMasters through Heddle to real ResourceManagers: what one says the other says."""

import asyncio
import os
from pathlib import Path

import pytest

from adapters.yarn.rm_rpc import RPCSettings, RPCTarget, YarnRPC, addresses_of
from shim.domain.ids import ApplicationAttemptId, ApplicationId, SubClusterId
from shim.ports.resource_manager_rpc import RPCCall
from shim.protocol.hrpc import AuthMethod, JavaClass, QualityOfProtection, SASLInitiator
from shim.protocol.hrpc.digest_md5 import DigestMD5Client, TokenSecret
from shim.protocol.proto import APPLICATION_CLIENT, APPLICATION_MASTER
from shim.protocol.proto.messages import (
    AllocateRequestProto,
    FinishApplicationMasterRequestProto,
    KillApplicationRequestProto,
    RegisterApplicationMasterRequestProto,
)
from shim.protocol.yarn import application_message, attempt_of_token
from tests.doubles.scheduler import token_for
from tests.doubles.settings import usual
from tests.e2e.conftest import HeddleThread
from tests.e2e.test_token_login import an_unmanaged_application, ask

pytestmark = pytest.mark.lab

_ALL = tuple(QualityOfProtection)


def rpc_to(address, secret=None, qualities=_ALL):
    """A client; with a token it logs in as an ApplicationMaster."""

    def initiator():
        return SASLInitiator(
            {AuthMethod.TOKEN: lambda _offer: DigestMD5Client(secret, os.urandom(30).hex(), qualities)}
        )

    target = RPCTarget(SubClusterId("east"), addresses_of([address]))
    return YarnRPC(target, usual(RPCSettings), initiator=initiator if secret is not None else None)


async def a_token(address):
    """Of an unmanaged application that was submitted at this address."""
    clients = rpc_to(address)
    token = await an_unmanaged_application(clients)
    await clients.close()
    return TokenSecret(token.identifier, token.password)


async def lives_a_whole_life(address, secret):
    """Register, allocate, repeat an allocate, finish: the response ids that were told."""
    master = rpc_to(address, secret)
    request = RegisterApplicationMasterRequestProto(host="nowhere", rpc_port=0, tracking_url="")
    await ask(master, APPLICATION_MASTER, "registerApplicationMaster", request)
    told = [
        (await ask(master, APPLICATION_MASTER, "allocate", AllocateRequestProto(response_id=number))).response_id
        for number in (0, 1, 1, 2)
    ]
    finish = FinishApplicationMasterRequestProto(final_application_status=1)
    while not (await ask(master, APPLICATION_MASTER, "finishApplicationMaster", finish)).isUnregistered:  # noqa: ASYNC110 - as masters do
        await asyncio.sleep(0.1)
    await master.close()
    return told


async def refusal_at(address, secret):
    """How an allocate is refused there."""
    master = rpc_to(address, secret)
    answer = await master.call(RPCCall(APPLICATION_MASTER.name, "allocate", b"", "ada"), timeout_s=30)
    await master.close()
    assert answer.refusal is not None
    return answer.refusal


async def test_a_master_lives_its_whole_life_through_heddle(heddle):
    assert await lives_a_whole_life(heddle.scheduler_rpc, await a_token(heddle.client_rpc)) == [1, 2, 2, 3]


async def test_an_application_that_its_home_was_given_directly_is_found(lab, heddle):
    secret = await a_token(lab.cluster("west").client_rpc)
    assert await lives_a_whole_life(heddle.scheduler_rpc, secret) == [1, 2, 2, 3]


async def test_refusals_are_the_resource_managers_own(lab, heddle):
    east = lab.cluster("east")
    mine, others = await a_token(east.client_rpc), await a_token(east.client_rpc)
    cases = {
        "a guessed password": TokenSecret(mine.identifier, b"guessed"),
        "the password of another application": TokenSecret(mine.identifier, others.password),
        "before it has registered": mine,
        "no token": None,
    }
    for case, secret in cases.items():
        direct, relayed = await refusal_at(east.scheduler_rpc, secret), await refusal_at(heddle.scheduler_rpc, secret)
        assert relayed == direct, case


async def test_a_token_whose_application_was_killed_is_refused_by_both(lab, heddle):
    east = lab.cluster("east")
    secret = await a_token(east.client_rpc)
    application = application_message(attempt_of_token(secret.identifier).application)
    clients = rpc_to(east.client_rpc)
    kill = KillApplicationRequestProto(application_id=application)
    while not (await ask(clients, APPLICATION_CLIENT, "forceKillApplication", kill)).is_kill_completed:  # noqa: ASYNC110 - as clients do
        await asyncio.sleep(0.1)
    await clients.close()
    async with asyncio.timeout(60):  # the ResourceManager forgets the token a little later than it tells of the kill
        while (direct := await refusal_at(east.scheduler_rpc, secret)).java_class != JavaClass.INVALID_TOKEN:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.1)
    assert await refusal_at(heddle.scheduler_rpc, secret) == direct


async def test_an_application_of_nobody_is_refused_as_by_a_resource_manager(lab, heddle):
    stranger = token_for(ApplicationAttemptId(ApplicationId(1_600_000_000_000, 7), 1))
    direct = await refusal_at(lab.cluster("east").scheduler_rpc, stranger)
    assert await refusal_at(heddle.scheduler_rpc, stranger) == direct


@pytest.mark.parametrize("protection", ["integrity", "privacy"])
async def test_where_clusters_protect_their_rpc_it_passes_as_it_is(fresh_lab, tmp_path: Path, protection):
    overrides = {"core-site.xml": {"hadoop.rpc.protection": protection}}
    lab = await asyncio.to_thread(fresh_lab, clusters=1, overrides=overrides)
    text = (
        f'[server]\nallow_remote = true\nrest = "{lab.host}:0"\nclient_rpc = "{lab.host}:0"\nadmin_rpc = ""\n'
        f'scheduler_rpc = "{lab.host}:0"\n'
        f'[store]\nurl = "sqlite:///{tmp_path}/heddle.db"\n[security]\nallow_anonymous = true\n'
        f'[[subcluster]]\nid = "east"\nconf = "{lab.cluster("east").conf_dir}"\n'
    )
    with HeddleThread(text) as heddle:
        secret = await a_token(lab.cluster("east").client_rpc)
        assert await lives_a_whole_life(heddle.scheduler_rpc, secret) == [1, 2, 2, 3]
