"""A sub-cluster that is configured with `web` alone gets nothing that came by Hadoop RPC."""

import asyncio

import httpx
import pytest

from adapters.yarn.rm_rpc import RPCSettings, RPCTarget, YarnRPC, addresses_of
from shim.domain.ids import SubClusterId
from shim.ports.resource_manager_rpc import RPCCall
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.proto.messages import (
    ApplicationSubmissionContextProto,
    ContainerLaunchContextProto,
    GetNewApplicationResponseProto,
    ResourceProto,
    SubmitApplicationRequestProto,
)
from tests.doubles.settings import usual
from tests.e2e.conftest import HeddleThread

pytestmark = pytest.mark.lab


@pytest.fixture
def west_has_rpc(lab, tmp_path):
    """A Heddle that prefers the first sub-cluster, of which it knows the web services alone."""
    text = f"""
        [server]
        allow_remote = true
        rest = "{lab.host}:0"
        client_rpc = "{lab.host}:0"
        scheduler_rpc = ""
        admin_rpc = ""
        [store]
        url = "sqlite:///{tmp_path}/heddle.db"
        [scheduling]
        automatic = false
        [[subcluster]]
        id = "east"
        web = "{lab.clusters["east"].url}"
        [[subcluster]]
        id = "west"
        conf = "{lab.clusters["west"].conf_dir}"
    """
    with HeddleThread(text) as running:
        yield running


async def submitted_by_rpc(address, count):
    """Ids of applications that were submitted by Hadoop RPC, and accepted."""
    rpc = YarnRPC(RPCTarget(SubClusterId("heddle"), addresses_of([address])), usual(RPCSettings))

    async def ask(method, payload=b""):
        answer = await rpc.call(RPCCall(APPLICATION_CLIENT.name, method, payload, "ada"), timeout_s=60)
        assert answer.refusal is None, answer.refusal
        return answer.payload

    ids = []
    try:
        for _ in range(count):
            new = GetNewApplicationResponseProto.FromString(await ask("getNewApplication")).application_id
            context = ApplicationSubmissionContextProto(
                application_id=new,
                application_name="by rpc",
                unmanaged_am=True,
                am_container_spec=ContainerLaunchContextProto(),
                resource=ResourceProto(memory=128, virtual_cores=1),
            )
            request = SubmitApplicationRequestProto(application_submission_context=context)
            await ask("submitApplication", request.SerializeToString())
            ids.append(f"application_{new.cluster_timestamp}_{new.id:04d}")
    finally:
        await rpc.close()
    return ids


def test_jobs_that_come_by_rpc_go_where_rpc_goes(west_has_rpc):
    ids = asyncio.run(submitted_by_rpc(west_has_rpc.client_rpc, 3))
    with httpx.Client(base_url=west_has_rpc.url, trust_env=False, timeout=30) as web:
        told = [web.get(f"/heddle/v1/apps/{id_}/why").json() for id_ in ids]
        findings = web.get("/heddle/v1/doctor", timeout=60).json()["findings"]
    assert [each["home"] for each in told] == ["west"] * 3
    assert {each["candidates"][0]["reason"].partition(":")[0] for each in told} == {"has no client_rpc"}
    assert ("addresses", "east") in {(found["check"], found["cluster"]) for found in findings}
