"""Our client logs in to real ResourceManagers with a token, as an unmanaged ApplicationMaster."""

import asyncio
import os

import pytest

from adapters.yarn.rm_rpc import RPCSettings, RPCTarget, YarnRPC, addresses_of
from shim.domain.ids import SubClusterId
from shim.errors import NeverReachedError
from shim.ports.resource_manager_rpc import RPCCall
from shim.protocol.hrpc import AuthMethod, JavaClass, SASLInitiator
from shim.protocol.hrpc.digest_md5 import DigestMD5Client, TokenSecret
from shim.protocol.proto import APPLICATION_CLIENT, APPLICATION_MASTER
from shim.protocol.proto.messages import (
    AllocateRequestProto,
    AllocateResponseProto,
    ApplicationSubmissionContextProto,
    ContainerLaunchContextProto,
    FinishApplicationMasterRequestProto,
    GetApplicationReportRequestProto,
    GetApplicationReportResponseProto,
    GetNewApplicationResponseProto,
    RegisterApplicationMasterRequestProto,
    RegisterApplicationMasterResponseProto,
    ResourceProto,
    SubmitApplicationRequestProto,
)
from tests.doubles.settings import usual

pytestmark = pytest.mark.lab

_EAST = SubClusterId("east")


def target(address):
    return RPCTarget(_EAST, addresses_of([address]))


async def ask(rpc, protocol, method, message=None):
    payload = b"" if message is None else message.SerializeToString()
    answer = await rpc.call(RPCCall(protocol.name, method, payload, "ada"), timeout_s=30)
    assert answer.refusal is None, answer.refusal
    return protocol.methods[method].answer.FromString(answer.payload)


async def an_unmanaged_application(rpc):
    """Submit one and wait for the token that only its user may read."""
    new = await ask(rpc, APPLICATION_CLIENT, "getNewApplication")
    assert isinstance(new, GetNewApplicationResponseProto)
    context = ApplicationSubmissionContextProto(
        application_id=new.application_id,
        application_name="token login",
        unmanaged_am=True,
        am_container_spec=ContainerLaunchContextProto(),
        resource=ResourceProto(memory=128, virtual_cores=1),
        maxAppAttempts=1,
    )
    request = SubmitApplicationRequestProto(application_submission_context=context)
    await ask(rpc, APPLICATION_CLIENT, "submitApplication", request)
    async with asyncio.timeout(60):
        while True:
            asked = GetApplicationReportRequestProto(application_id=new.application_id)
            told = await ask(rpc, APPLICATION_CLIENT, "getApplicationReport", asked)
            assert isinstance(told, GetApplicationReportResponseProto)
            if told.application_report.am_rm_token.identifier:
                return told.application_report.am_rm_token
            await asyncio.sleep(0.05)


def logged_in(address, secret):
    def initiator():
        return SASLInitiator({AuthMethod.TOKEN: lambda _offer: DigestMD5Client(secret, os.urandom(30).hex())})

    return YarnRPC(target(address), usual(RPCSettings), initiator=initiator)


async def test_an_application_master_registers_allocates_and_finishes_with_its_token(lab):
    east = lab.cluster("east")
    clients = YarnRPC(target(east.client_rpc), usual(RPCSettings))
    token = await an_unmanaged_application(clients)
    master = logged_in(east.scheduler_rpc, TokenSecret(token.identifier, token.password))

    request = RegisterApplicationMasterRequestProto(host="nowhere", rpc_port=0, tracking_url="")
    registered = await ask(master, APPLICATION_MASTER, "registerApplicationMaster", request)
    allocated = await ask(master, APPLICATION_MASTER, "allocate", AllocateRequestProto(response_id=0, progress=0.1))
    finish = FinishApplicationMasterRequestProto(final_application_status=1)
    await ask(master, APPLICATION_MASTER, "finishApplicationMaster", finish)
    await master.close()
    await clients.close()

    assert isinstance(registered, RegisterApplicationMasterResponseProto)
    assert registered.maximumCapability.memory > 0
    assert isinstance(allocated, AllocateResponseProto)
    assert allocated.response_id == 1


async def test_a_wrong_password_is_refused_in_the_words_of_a_resource_manager(lab):
    east = lab.cluster("east")
    clients = YarnRPC(target(east.client_rpc), usual(RPCSettings))
    token = await an_unmanaged_application(clients)
    master = logged_in(east.scheduler_rpc, TokenSecret(token.identifier, b"wrong"))

    answer = await master.call(RPCCall(APPLICATION_MASTER.name, "allocate", b"", "ada"), timeout_s=30)
    await master.close()
    await clients.close()

    assert answer.refusal is not None
    assert answer.refusal.java_class == JavaClass.SASL
    assert "Mismatched response" in answer.refusal.message


async def test_names_are_not_believed_at_the_schedulers_server(lab):
    master = YarnRPC(target(lab.cluster("east").scheduler_rpc), usual(RPCSettings))

    try:
        answer = await master.call(RPCCall(APPLICATION_MASTER.name, "allocate", b"", "ada"), timeout_s=30)
    except NeverReachedError as exc:
        pytest.fail(f"the ResourceManager's reason was lost: {exc}")
    finally:
        await master.close()

    assert answer.refusal is not None
    assert answer.refusal.java_class == JavaClass.ACCESS_CONTROL
