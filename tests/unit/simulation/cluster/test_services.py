"""What modelled ResourceManagers answer, read by the readers that read real ones."""

import asyncio
import json
from dataclasses import replace

import pytest

from shim.domain.allocations import ANY
from shim.domain.ids import ApplicationAttemptId, ApplicationId
from shim.domain.resources import ResourceVector
from shim.errors import NeverReachedError, NoAnswerError
from shim.ports.attempt_calls import ALLOCATE, FINISH, REGISTER
from shim.ports.resource_manager import RestRequest
from shim.ports.resource_manager_rpc import RPCCall
from shim.protocol.hrpc import JavaClass
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.proto.messages import (
    AllocateRequestProto,
    PriorityProto,
    ResourceProto,
    ResourceRequestProto,
    SubmitApplicationRequestProto,
)
from shim.protocol.rest.documents import (
    ApplicationReader,
    application_document,
    application_objects,
    read_info,
    read_metrics,
    read_nodes,
)
from shim.protocol.rest.queue_trees import read_scheduler
from shim.protocol.yarn.allocations import read_allocate_answer
from shim.protocol.yarn.unmanaged import (
    REGISTRATION,
    is_killed,
    kill_message,
    read_report,
    report_message,
    unmanaged_submission,
)
from shim.simulation.cluster.federation import ModelledFederation
from shim.simulation.cluster.spec import ModelledClusterSpec, QueueSpec
from shim.simulation.virtual_time import VirtualClock, run_in_virtual_time

BASE = "/ws/v1/cluster"
NAME = ApplicationId(7, 1)
ATTEMPT = ApplicationAttemptId(NAME, 1)


def play(story, **timing):
    async def main():
        spec = ModelledClusterSpec.even(
            "east", nodes=2, size=ResourceVector(4096, 4), epoch=5, queues={"root.a": QueueSpec(60.0, 80.0)}
        )
        spec = replace(spec, timing=replace(spec.timing, **timing))
        federation = ModelledFederation.of([spec], VirtualClock(), 1)
        federation.begin()
        await asyncio.sleep(2.0)
        return await story(federation["east"])

    return run_in_virtual_time(main())


async def get(cluster, path, **query):
    answer = await cluster.web.forward(RestRequest("GET", path, tuple(query.items())))
    assert answer.status == 200, answer.body
    return answer.body


async def rpc(cluster, method, payload, user="alice"):
    return await cluster.client.call(RPCCall(APPLICATION_CLIENT.name, method, payload, user))


async def call(cluster, method, payload):
    return await cluster.masters.call(ATTEMPT, method, payload)


def asking(count, response_id=0, releases=()):
    row = ResourceRequestProto(
        priority=PriorityProto(priority=1),
        resource_name=ANY,
        capability=ResourceProto(memory=1024, virtual_cores=1),
        num_containers=count,
    )
    return AllocateRequestProto(
        response_id=response_id, ask=[row] if count is not None else [], release=releases
    ).SerializeToString()


def test_documents_are_read_as_a_resource_managers():
    async def story(cluster):
        assert read_info(await get(cluster, f"{BASE}/info")).started_on_ms == cluster.manager.started_on_ms
        metrics = read_metrics(await get(cluster, f"{BASE}/metrics"))
        assert (metrics.capacity, metrics.used) == (ResourceVector(8192, 8), ResourceVector())
        nodes = read_nodes(await get(cluster, f"{BASE}/nodes"))
        assert sorted(str(node.node) for node in nodes) == ["east-n1:45454", "east-n2:45454"]
        queues = read_scheduler(await get(cluster, f"{BASE}/scheduler"), metrics.capacity).queues
        leaf = next(queue for queue in queues if queue.path == "root.a")
        assert (leaf.is_leaf, leaf.capacity, leaf.maximum) == (True, ResourceVector(4915, 4), ResourceVector(6553, 6))
        assert b'"yarn.resourcemanager.epoch","value":"5"' in await get(cluster, "/conf")

    play(story)


def test_a_submission_over_rest_is_listed_killed_and_refused_for_an_unknown_queue():
    async def story(cluster):
        def submit(queue):
            body = json.dumps({"application-id": str(NAME), "queue": queue, "application-name": "x"}).encode()
            return cluster.web.forward(RestRequest("POST", f"{BASE}/apps", user="alice", body=body))

        refused = await submit("nowhere")
        assert (refused.status, b"unknown queue" in refused.body) == (400, True)
        assert (await submit("a")).status == 202
        assert (await submit("a")).status == 202
        (row,) = application_objects(await get(cluster, f"{BASE}/apps", states="ACCEPTED"))
        listed = ApplicationReader(cluster.web.subcluster)(row, 0.0)
        assert (listed.summary.application_id, listed.summary.queue) == (NAME, "root.a")
        killed = await cluster.web.forward(RestRequest("PUT", f"{BASE}/apps/{NAME}/state", body=b'{"state":"KILLED"}'))
        assert killed.status == 202
        shown = application_document(await get(cluster, f"{BASE}/apps/{NAME}"), cluster.web.subcluster, 0.0)
        assert shown.summary.state.value == "KILLED"
        missing = await cluster.web.forward(RestRequest("GET", f"{BASE}/apps/application_1_1"))
        assert (missing.status, b"NotFoundException" in missing.body) == (404, True)

    play(story)


def test_an_unmanaged_master_has_a_token_until_it_registers():
    async def story(cluster):
        submission = unmanaged_submission(NAME, home="west", queue="root.a", tag="t")
        assert (await rpc(cluster, "submitApplication", submission)).refusal is None
        is_final, token, _ = read_report((await rpc(cluster, "getApplicationReport", report_message(NAME))).payload)
        assert (is_final, bool(token)) == (False, True)
        assert (await call(cluster, REGISTER, REGISTRATION)).refusal is None
        assert read_report((await rpc(cluster, "getApplicationReport", report_message(NAME))).payload)[1] == b""
        killed = await rpc(cluster, "forceKillApplication", kill_message(NAME, "why"))
        assert is_killed(killed.payload)
        assert (await call(cluster, ALLOCATE, asking(1))).refusal.java_class == JavaClass.INVALID_TOKEN

    play(story)


@pytest.mark.parametrize("keeps", [True, False])
def test_only_an_unmanaged_master_that_keeps_its_containers_may_register_again(keeps):
    """See `ApplicationMasterService.registerApplicationMaster`: asks stay, response ids begin anew."""

    async def story(cluster):
        submission = SubmitApplicationRequestProto.FromString(
            unmanaged_submission(NAME, home="west", queue="root.a", tag="t")
        )
        submission.application_submission_context.keep_containers_across_application_attempts = keeps
        await rpc(cluster, "submitApplication", submission.SerializeToString())
        await call(cluster, REGISTER, REGISTRATION)
        await call(cluster, ALLOCATE, asking(2))
        again = await call(cluster, REGISTER, REGISTRATION)
        if not keeps:
            assert "already registered" in again.refusal.message
            return
        assert again.refusal is None
        await asyncio.sleep(3.0)
        assert len(read_allocate_answer((await call(cluster, ALLOCATE, asking(None, 0))).payload).grants) == 2

    play(story)


def test_allocate_keeps_yarns_order_of_calls():
    async def story(cluster):
        await rpc(cluster, "submitApplication", unmanaged_submission(NAME, home="w", queue="root.a", tag="t"))
        before = await call(cluster, ALLOCATE, asking(2))
        assert before.refusal.java_class == JavaClass.APPLICATION_MASTER_NOT_REGISTERED
        await call(cluster, REGISTER, REGISTRATION)
        await call(cluster, ALLOCATE, asking(2))
        await asyncio.sleep(3.0)
        second = await call(cluster, ALLOCATE, asking(None, 1))
        answer = read_allocate_answer(second.payload)
        assert len(answer.grants) == 2
        assert {grant.container.epoch for grant in answer.grants} == {5}
        assert (await call(cluster, ALLOCATE, asking(None, 1))).payload == second.payload
        wrong = await call(cluster, ALLOCATE, asking(None, 9))
        assert "expect responseId to be 2 but get 9" in wrong.refusal.message
        assert (await call(cluster, FINISH, b"")).refusal is not None or cluster.manager.applications[NAME].is_over

    play(story)


def test_a_container_expires_only_after_its_master_was_told_of_it():
    async def story(cluster):
        await rpc(cluster, "submitApplication", unmanaged_submission(NAME, home="west", queue="root.a", tag="t"))
        await call(cluster, REGISTER, REGISTRATION)
        await call(cluster, ALLOCATE, asking(1))
        await asyncio.sleep(100.0)  # longer than a container may be unused; the master says nothing
        late = read_allocate_answer((await call(cluster, ALLOCATE, asking(None, 1))).payload)
        assert (len(late.grants), late.ended) == (1, ())
        await asyncio.sleep(100.0)
        (ended,) = read_allocate_answer((await call(cluster, ALLOCATE, asking(None, 2))).payload).ended
        assert (ended.container, ended.exit_status) == (late.grants[0].container, -100)

    play(story, allocation_expiry_s=60.0)


def test_a_process_that_is_down_or_stopped_is_met_as_over_tcp():
    async def story(cluster):
        cluster.manager.pause()
        waiting = asyncio.create_task(get(cluster, f"{BASE}/info"))
        await asyncio.sleep(30.0)
        assert not waiting.done()
        cluster.manager.resume()
        await waiting
        cluster.manager.pause()
        lost = asyncio.create_task(get(cluster, f"{BASE}/info"))
        await asyncio.sleep(1.0)
        cluster.manager.kill()
        with pytest.raises(NoAnswerError):
            await lost
        with pytest.raises(NeverReachedError):
            await get(cluster, f"{BASE}/info")
        cluster.manager.start()
        await get(cluster, f"{BASE}/info")

    play(story)


def test_a_fair_schedulers_queues_are_read_as_such():
    async def main():
        queues = {f"root.{user}": QueueSpec(percent=1, am_share=0.25) for user in ("alice", "bob")}
        size = ResourceVector(4096, 4)
        spec = ModelledClusterSpec.even("east", nodes=2, size=size, queues=queues, scheduler="fair")
        federation = ModelledFederation.of([spec], VirtualClock(), 1)
        federation.begin()
        await asyncio.sleep(2.0)
        return await get(federation["east"], f"{BASE}/scheduler"), spec.capacity

    body, capacity = run_in_virtual_time(main())
    document = read_scheduler(body, capacity)
    queues = {queue.path: queue for queue in document.queues}
    assert (document.kind, list(queues)) == ("fairScheduler", ["root", "root.alice", "root.bob"])
    alice = queues["root.alice"]
    assert (alice.is_leaf, alice.is_fair, alice.capacity) == (True, True, ResourceVector(4096, 4))
    assert alice.in_partition("").masters == ResourceVector(2048, 2), "a quarter of all, while nobody else wants any"
