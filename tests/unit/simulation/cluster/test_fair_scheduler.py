"""The model of the FairScheduler: fair shares of queues, the part for masters, one container a heartbeat."""

from shim.domain.allocations import ANY, Ask, AskKey
from shim.domain.ids import ApplicationAttemptId, ApplicationId
from shim.domain.resources import ResourceVector
from shim.simulation.cluster.fair_scheduler import FairScheduler
from shim.simulation.cluster.spec import ModelledClusterSpec, QueueSpec

ONE = ResourceVector(1024, 1)
KEY = AskKey(1, -1, is_opportunistic=False, resource=ONE)


def attempt(number):
    return ApplicationAttemptId(ApplicationId(1, number), 1)


def made(weights, am_share=0.5, gib=16):
    queues = {f"root.{name}": QueueSpec(percent=weight, am_share=am_share) for name, weight in weights.items()}
    spec = ModelledClusterSpec.even(
        "east", nodes=1, size=ResourceVector(gib * 1024, gib), queues=queues, scheduler="fair"
    )
    scheduler = FairScheduler(spec)
    scheduler.add_node(spec.nodes[0])
    return scheduler, spec.nodes[0].id


def asking(scheduler, number, queue, count):
    scheduler.add(attempt(number), queue, queue)
    scheduler.ask(attempt(number), [Ask(KEY, ANY, count)])


def given_to(scheduler, node, beats):
    found = [one.attempt.application.sequence for _ in range(beats) for one in scheduler.heartbeat(node)]
    return {number: found.count(number) for number in sorted(set(found))}


def test_a_heartbeat_gives_one_container_even_where_all_asked_for_is_on_its_host():
    scheduler, node = made({"alice": 1})
    scheduler.add(attempt(1), "root.alice", "alice")
    rows = [Ask(KEY, ANY, 5), Ask(KEY, "/default-rack", 5), Ask(KEY, node.host, 5)]
    scheduler.ask(attempt(1), rows)
    assert len(scheduler.heartbeat(node)) == 1


def test_queues_get_containers_by_their_weights_and_applications_of_one_the_same():
    scheduler, node = made({"alice": 1, "bob": 3})
    asking(scheduler, 1, "root.alice", 20)
    asking(scheduler, 2, "root.bob", 20)
    asking(scheduler, 3, "root.bob", 20)
    assert given_to(scheduler, node, 16) == {1: 4, 2: 6, 3: 6}


def test_what_a_queue_does_not_want_is_shared_by_the_others():
    scheduler, _ = made({"alice": 1, "bob": 1, "carol": 1}, gib=30)
    asking(scheduler, 1, "root.alice", 4)
    asking(scheduler, 2, "root.bob", 100)
    shares = {name: scheduler.fair_share(queue).memory_mib // 1024 for name, queue in scheduler.queues.items()}
    assert shares["root.bob"] == 26
    assert shares["root.carol"] == 13  # if it came to want something


def test_no_master_starts_above_the_part_of_the_fair_share_not_even_the_first():
    scheduler, _ = made({"alice": 1, "bob": 1}, am_share=0.25)
    asking(scheduler, 1, "root.alice", 100)
    assert scheduler.may_start_master("root.bob", ResourceVector(2048, 1))
    assert not scheduler.may_start_master("root.bob", ResourceVector(2049, 1))
    scheduler.reserve_master("root.bob", ONE)
    assert scheduler.may_start_master("root.bob", ONE)
    assert not scheduler.may_start_master("root.bob", ResourceVector(1025, 1))
