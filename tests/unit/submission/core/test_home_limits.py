"""A home is chosen only where every level that is known can run the ApplicationMaster, and one that can now goes first.

East is idle and would be the home; the limit under test is east's. West is half full, and has none.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.ids import SubClusterId
from shim.domain.queues import PartitionReport, QueueState, QueueUser
from shim.domain.resources import ResourceVector
from shim.federation.core.federation_view import FederationView, PendingPlacement, ViewSettings
from shim.submission.core.home import HomeSettings, choose_home
from tests.doubles.builders import a_submission
from tests.doubles.reports import a_node_report, a_queue_report, a_report
from tests.doubles.settings import usual

EAST, WEST = SubClusterId("east"), SubClusterId("west")
NOW_S = 101.0
WHOLE = ResourceVector(8192, 8)
HALF = ResourceVector(4096, 4)
FAIR = {"scheduler": "fairScheduler"}


def mib(memory, vcores=0):
    return ResourceVector(memory, vcores)


def asked(memory=1024, vcores=1, *, gpus=0, **changes):
    resource = ResourceVector(memory, vcores, {"yarn.io/gpu": gpus} if gpus else {})
    return a_submission(**({"resource": resource, "queue": "root.dev", "user": "alice"} | changes))


def queues(*above, **dev):
    """Root, what else is above, and the leaf `root.dev`."""
    return (a_queue_report("root", is_leaf=False, capacity=WHOLE), *above, a_queue_report("root.dev", **dev))


def part(label="", maximum=WHOLE, **more):
    return PartitionReport(label, maximum, **more)


def decide(east, *, west=None, submission=None, settings=None, on_way=()):
    view = FederationView((EAST, WEST), usual(ViewSettings, late_after_s=6.0))
    view.apply(a_report("east", **({"queues": queues()} | east)))
    busy = {"used": HALF, "nodes": (a_node_report(total=mib(16384, 16)),), "queues": queues(used=HALF)}
    view.apply(a_report("west", **(busy if west is None else west)))
    for placement in on_way:
        view.note_placed(EAST, placement)
    return choose_home(submission or asked(), view, {}, NOW_S, settings)


def about_east(decision):
    return decision.candidates[0]


NEVER: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the queue's maximum allocation, memory": ({"queues": queues(maximum_allocation=mib(512, 8))}, {}),
    "the queue's maximum allocation, vcores": ({"queues": queues(maximum_allocation=mib(8192, 1))}, {"vcores": 2}),
    "the queue's maximum allocation, another type": (
        {"queues": queues(maximum_allocation=ResourceVector(8192, 8, {"yarn.io/gpu": 0}))},
        {"gpus": 1},
    ),
    "the maximum allocation that the queue has from its parent": (
        {
            "queues": (
                a_queue_report("root.eng", is_leaf=False, maximum_allocation=mib(512, 8)),
                a_queue_report("root.eng.dev"),
            )
        },
        {"queue": "root.eng.dev"},
    ),
    "the cluster's maximum allocation, another type": (
        {"maximum_allocation": ResourceVector(8192, 8, {"yarn.io/gpu": 1})},
        {"gpus": 2},
    ),
    "the queue's maximum capacity": ({"queues": queues(maximum=mib(409, 1))}, {}),
    "its parent's maximum capacity": (
        {
            "queues": (
                a_queue_report("root.eng", is_leaf=False, maximum=mib(409, 1)),
                a_queue_report("root.eng.dev"),
            )
        },
        {"queue": "root.eng.dev"},
    ),
    "the queue's maximum capacity in vcores, where they are counted": (
        {"queues": queues(maximum=mib(8192, 1), counts_all=True)},
        {"vcores": 2},
    ),
    "the queue's part of the partition": (
        {
            "labels": ("gpu",),
            "nodes": (a_node_report(), a_node_report("n2:1", labels=["gpu"])),
            "queues": queues(partitions=(part(), part("gpu", mib(512, 1)))),
        },
        {"label": "gpu"},
    ),
    "no part of the partition": (
        {
            "labels": ("gpu",),
            "nodes": (a_node_report(), a_node_report("n2:1", labels=["gpu"])),
            "queues": queues(partitions=(part(), part("gpu", mib(0)))),
        },
        {"label": "gpu"},
    ),
    "the queue's default label is of a partition that it has no part of": (
        {
            "labels": ("gpu",),
            "nodes": (a_node_report(), a_node_report("n2:1", labels=["gpu"])),
            "queues": queues(default_label="gpu", partitions=(part(), part("gpu", mib(0)))),
        },
        {},
    ),
    "the queue's default label is not there": ({"queues": queues(default_label="gpu")}, {}),
    "a fair queue's maxResources": (FAIR | {"queues": queues(maximum=mib(512, 8), counts_all=True)}, {}),
    "a fair parent's maxResources in vcores": (
        FAIR
        | {
            "queues": (
                a_queue_report("root.eng", is_leaf=False, maximum=mib(8192, 1), counts_all=True),
                a_queue_report("root.eng.dev", counts_all=True),
            )
        },
        {"vcores": 2, "queue": "root.eng.dev"},
    ),
    "a fair queue's maxContainerAllocation": (FAIR | {"queues": queues(maximum_allocation=mib(512, 8))}, {}),
    "a fair queue's maxRunningApps of 0": (FAIR | {"queues": queues(most_running=0)}, {}),
    "max-parallel-apps of 0 of a parent": (
        {"queues": (a_queue_report("root", is_leaf=False, most_running=0), a_queue_report("root.dev"))},
        {},
    ),
}

NOT_NOW: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a queue that drains": ({"queues": queues(state=QueueState.DRAINING)}, {}),
    "a parent that is stopped": (
        {
            "queues": (
                a_queue_report("root.eng", is_leaf=False, state=QueueState.STOPPED),
                a_queue_report("root.eng.dev"),
            )
        },
        {"queue": "root.eng.dev"},
    ),
    "a parent that holds its limit of applications": (
        {
            "queues": (
                a_queue_report("root", is_leaf=False, maximum_applications=3, applications=3),
                a_queue_report("root.dev"),
            )
        },
        {},
    ),
    "a user with the limit of applications": (
        {"queues": queues(maximum_applications_of_user=2, users=(QueueUser("alice", 2),))},
        {},
    ),
    "no node of the partition without label is large enough": (
        {"nodes": (a_node_report(total=mib(512, 8)), a_node_report("n2:1", labels=["gpu"]))},
        {},
    ),
}


def node_with(used_mib, number):
    node = a_node_report(f"n{number}:1")
    return type(node)(node.node, node.rack, node.state, node.total, mib(used_mib, 1))


WAITS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the cluster is full": ({"used": WHOLE}, {}),
    "no single node has so much free": (
        {"capacity": mib(32768, 32), "nodes": tuple(node_with(7680, number) for number in (1, 2, 3, 4))},
        {},
    ),
    "the queue holds its maximum": ({"queues": queues(maximum=HALF, used=HALF, capacity=HALF)}, {}),
    "the parent holds its maximum": (
        {
            "queues": (
                a_queue_report("root.eng", is_leaf=False, maximum=HALF, used=HALF),
                a_queue_report("root.eng.dev"),
            )
        },
        {"queue": "root.eng.dev"},
    ),
    "ApplicationMasters hold their share": (
        {"queues": queues(partitions=(part(masters=mib(1024, 1), masters_used=mib(512, 1)),))},
        {},
    ),
    "ApplicationMasters hold their share of the partition": (
        {
            "labels": ("gpu",),
            "nodes": (a_node_report(), a_node_report("n2:1", labels=["gpu"])),
            "queues": queues(partitions=(part(), part("gpu", masters=mib(1024, 1), masters_used=mib(512, 1)))),
        },
        {"label": "gpu"},
    ),
    "the user's ApplicationMasters hold their share": (
        {
            "queues": queues(
                partitions=(part(masters=HALF, masters_used=mib(512, 1)),),
                masters_of_user=mib(1024, 1),
                users=(QueueUser("alice", 1, masters_used=mib(512, 1)),),
            )
        },
        {},
    ),
    "the user is above the limit": (
        {"queues": queues(users=(QueueUser("alice", 1, used=mib(2048, 2), most=mib(1024, 1)),))},
        {},
    ),
    "max-parallel-apps are reached": ({"queues": queues(most_running=2, applications=2)}, {}),
    "max-parallel-apps of a fair parent are reached by those below": (
        FAIR
        | {
            "queues": (
                a_queue_report("root.eng", is_leaf=False, most_running=2),
                a_queue_report("root.eng.dev"),
                a_queue_report("root.eng.test", applications=2),
            )
        },
        {"queue": "root.eng.dev"},
    ),
    "an ApplicationMaster is larger than their share, and others run": (
        {"queues": queues(partitions=(part(masters=mib(512, 1), masters_used=mib(256, 1)),))},
        {},
    ),
    "a fair queue's maxAMShare is smaller than the ApplicationMaster": (
        FAIR | {"queues": queues(partitions=(part(masters=mib(512, 1)),), counts_all=True)},
        {},
    ),
    "the maximum capacity in vcores, where nobody tells whether they count": (
        {"queues": queues(maximum=mib(8192, 1))},
        {"vcores": 2},
    ),
    "every node belongs to a label": ({"nodes": (a_node_report(labels=["gpu"]),)}, {}),
}


def in_queue_of(changes):
    """The other sub-cluster, with the same queue and without its limits."""
    leaf = a_queue_report(changes.get("queue", "root.dev"), used=HALF)
    nodes = (a_node_report(total=mib(16384, 16)), a_node_report("n2:1", labels=["gpu"]))
    most = ResourceVector(8192, 8, {"yarn.io/gpu": 4})
    return {"used": HALF, "labels": ("gpu",), "nodes": nodes, "queues": (leaf,), "maximum_allocation": most}


@pytest.mark.parametrize("form", NEVER | NOT_NOW)
def test_one_that_cannot_run_it_is_no_home(form):
    fields, changes = (NEVER | NOT_NOW)[form]
    submission = asked(**changes)
    decision = decide(fields, west=in_queue_of(changes), submission=submission)
    assert decision.home_subcluster == WEST
    assert about_east(decision).score is None
    alone = decide(fields, west=fields, submission=submission)
    assert alone.home_subcluster is None
    assert alone.is_lasting is (form in NEVER)


@pytest.mark.parametrize(
    ("states", "is_lasting"),
    [
        *(((state,), False) for state in ("NEW", "UNHEALTHY", "LOST", "REBOOTED")),
        *(((state,), True) for state in ("RUNNING", "DECOMMISSIONING", "DECOMMISSIONED", "SHUTDOWN")),
        (("RUNNING", "LOST"), False),
        (("RUNNING", "SHUTDOWN"), True),
    ],
)
@pytest.mark.parametrize("whose", ["the queue's maximum capacity", "the queue's part of the partition"])
def test_a_queues_part_is_too_small_for_good_if_no_node_may_come_back(whose, states, *, is_lasting):
    fields, changes = NEVER[whose]
    nodes = tuple(a_node_report(f"more{number}:1", state=state) for number, state in enumerate(states))
    east = fields | {"nodes": (*fields.get("nodes", (a_node_report(),)), *nodes)}
    alone = decide(east, west=east, submission=asked(**changes))
    assert (alone.home_subcluster, alone.is_lasting) == (None, is_lasting)


def test_a_queues_part_is_not_too_small_for_good_while_a_cluster_has_nothing():
    fields, changes = NEVER["the queue's maximum capacity"]
    for capacity, is_lasting in ((mib(0), False), (mib(1), True)):
        east = fields | {"capacity": capacity}
        alone = decide(east, west=east, submission=asked(**changes))
        assert (alone.home_subcluster, alone.is_lasting) == (None, is_lasting)


@pytest.mark.parametrize("form", WAITS)
def test_one_where_it_would_wait_comes_after_one_where_it_starts_however_free_it_is(form):
    fields, changes = WAITS[form]
    submission = asked(**changes)
    decision = decide(fields, west=in_queue_of(changes), submission=submission)
    assert decision.home_subcluster == WEST
    assert "wait" in about_east(decision).reason
    alone = decide(fields, west=fields, submission=submission)
    assert alone.home_subcluster == EAST, "it is taken there if there is no better one"


STARTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "one larger than the ApplicationMasters' share, where none runs": (
        {"queues": queues(partitions=(part(masters=mib(512, 1)),))},
        {},
    ),
    "one larger than the user's share of them, where none runs": (
        {"queues": queues(partitions=(part(masters=HALF),), masters_of_user=mib(512, 1), users=(QueueUser("alice"),))},
        {},
    ),
    "of a user within the limit, however large it is": (
        {"queues": queues(users=(QueueUser("alice", 1, used=mib(1000, 1), most=mib(1024, 1)),))},
        {},
    ),
    "vcores above the maximum capacity, where memory alone counts": (
        {"queues": queues(maximum=mib(8192, 1), counts_all=False)},
        {"vcores": 2},
    ),
    "another user's limits": (
        {
            "queues": queues(
                maximum_applications_of_user=2, users=(QueueUser("bob", 2, used=mib(2048, 2), most=mib(1024, 1)),)
            )
        },
        {},
    ),
    "an unmanaged one in a queue that may hold nothing": (
        {"queues": queues(maximum=mib(409, 1), maximum_allocation=mib(512, 1))},
        {"is_unmanaged": True},
    ),
    "a queue whose maxima nobody tells": ({"queues": queues(maximum=mib(0))}, {}),
}


@pytest.mark.parametrize("form", STARTS)
def test_what_the_scheduler_would_start_is_not_held_against_it(form):
    fields, changes = STARTS[form]
    decision = decide(fields, submission=asked(**changes))
    assert (decision.home_subcluster, about_east(decision).reason) == (EAST, "queue 100% free, cluster 100% free")


def test_what_was_sent_and_no_report_shows_counts_against_the_share_of_application_masters():
    fields = {"queues": queues(partitions=(part(masters=mib(1536, 2)),))}
    sent = PendingPlacement("root.dev", mib(1024, 1), NOW_S)
    assert decide(fields).home_subcluster == EAST
    assert decide(fields, on_way=[sent]).home_subcluster == WEST
    running = {"queues": queues(most_running=1)}
    assert decide(running).home_subcluster == EAST
    assert decide(running, on_way=[sent]).home_subcluster == WEST


def test_a_type_that_another_sub_cluster_tells_of_is_asked_for_there():
    west = in_queue_of({})
    assert decide({}, west=west, submission=asked(gpus=1)).home_subcluster == WEST
    assert decide({}, submission=asked(gpus=1)).home_subcluster == EAST, "nobody tells of it"


def test_a_larger_partition_than_the_default_one_is_told_by_the_label():
    fields = {
        "labels": ("gpu",),
        "nodes": (a_node_report(total=mib(512, 8)), a_node_report("n2:1", labels=["gpu"])),
        "queues": queues(partitions=(part(maximum=mib(512, 8)), part("gpu"))),
    }
    assert decide(fields).home_subcluster == WEST
    assert decide(fields, submission=asked(label="gpu"), west=fields).home_subcluster == EAST
    labelled = fields | {"queues": queues(default_label="gpu", partitions=fields["queues"][1].partitions)}
    assert decide(labelled).home_subcluster == EAST


def test_the_sentence_names_the_level_and_its_limit():
    decision = decide({"queues": queues(maximum=mib(409, 0))})
    told = "1024 MiB and 1 vcores is above the 409 MiB and 0 vcores that queue root.dev may hold at most"
    assert about_east(decision).reason == told
    decision = decide({"queues": queues(maximum_allocation=mib(512, 4))})
    told = "1024 MiB and 1 vcores is above the maximum allocation of queue root.dev, 512 MiB and 4 vcores"
    assert about_east(decision).reason == told
    decision = decide({"queues": queues(partitions=(part(masters=mib(1024, 1), masters_used=mib(512, 1)),))})
    assert about_east(decision).reason == (
        "queue 100% free, cluster 100% free, it would wait there: ApplicationMasters hold 512 MiB and 1 vcores of "
        "their share of queue root.dev, 1024 MiB and 1 vcores"
    )


# ---------------------------------------------------------------------- who says no


def test_what_no_cluster_ever_starts_is_refused_with_the_largest_that_can_be_had():
    small, larger = {"queues": queues(maximum=mib(409, 8))}, {"queues": queues(maximum=mib(700, 8))}
    decision = decide(small, west=larger)
    assert decision.refusal.java_class.endswith("InvalidResourceRequestException")
    assert "Requested resource type=[memory-mb]" in decision.refusal.message
    assert "maximum allowed allocation=<memory:700, vCores:8>" in decision.refusal.message


def test_what_resource_managers_refuse_themselves_is_refused_by_the_one_that_grants_most():
    small, larger = {"maximum_allocation": mib(512, 8)}, {"maximum_allocation": mib(768, 8), "queues": queues()}
    decision = decide(small, west=larger)
    assert (decision.refusal, decision.refuser) == (None, WEST)


def up_to(memory, vcores=0, **others):
    return HomeSettings(containers_up_to=lambda _: ResourceVector(memory, vcores, others))


def with_gpus(count):
    size = ResourceVector(8192, 8, {"GPU": count})
    node = a_node_report(total=ResourceVector(8192, 8, {"GPU": 9}))
    return {"maximum_allocation": size, "queues": queues(), "nodes": (node,)}


@pytest.mark.parametrize(
    ("east", "said", "reason"),
    [
        ({}, up_to(0, gpu=1), "it does not tell of resource type GPU, of which containers will have 1"),
        (with_gpus(1), up_to(0, gpu=2), "containers of up to 0 MiB and 0 vcores, 2 GPU are above its maximum"),
        (with_gpus(2), up_to(0, gpu=2), None),
        ({}, up_to(0, gpu=0), None),
        ({"maximum_allocation": mib(2048, 8)}, up_to(2049), "containers of up to 2049 MiB are above its maximum"),
        ({"maximum_allocation": mib(2048, 8)}, up_to(2048), None),
        ({"maximum_allocation": mib(2048, 2)}, up_to(1, 3), "containers of up to 1 MiB and 3 vcores are above its"),
    ],
    ids=["no such type", "too many", "as many", "none", "too large", "as large", "too many cores"],
)
def test_a_cluster_that_grants_less_than_containers_will_have_is_no_home(east, said, reason):
    decision = decide(east, west=with_gpus(2), settings=said)
    found = about_east(decision)
    assert (found.score is None) is (reason is not None)
    assert reason is None or found.reason.startswith(reason)


def test_of_what_is_refused_the_need_and_the_largest_of_the_clusters_that_have_the_queue_are_told():
    east = {"queues": queues(maximum=mib(409, 2))}
    west = {"queues": (a_queue_report("root.ml"),)}  # what it grants other queues counts for nothing
    decision = decide(east, west=west, settings=up_to(0, 4))
    message = decision.refusal.message
    assert "Requested resource type=[memory-mb], Requested resource=<memory:1024, vCores:4>" in message
    assert "maximum allowed allocation=<memory:409, vCores:8>" in message


def test_a_type_that_nobody_grants_is_the_one_that_is_over():
    decision = decide(with_gpus(1), west=with_gpus(2), settings=up_to(0, gpu=3))
    assert "Requested resource type=[GPU]" in decision.refusal.message
    assert "maximum allowed allocation=<memory:8192, vCores:8, GPU: 2>" in decision.refusal.message


def test_a_queue_that_no_cluster_has_is_refused_in_yarns_words():
    decision = decide({}, submission=asked(queue="root.nope"))
    told = f"Application {decision.reason.split()[4]} submitted by user alice to unknown queue: root.nope ("
    assert decision.refusal.message.startswith(told)
    assert decide({"polled_at_s": 60.0, "queues": ()}, submission=asked(queue="root.nope")).refusal is None
    nameless = decide({}, submission=asked(queue=""), settings=HomeSettings(default_queue="nope"))
    assert nameless.refusal is None, "a ResourceManager may map it to another queue"


# ---------------------------------------------------------------------- room before full

_AMOUNTS = st.integers(0, 16)


@st.composite
def _clusters(draw):
    """Fields of a report, in GiB and virtual cores."""
    size, used = draw(st.integers(4, 16)), draw(_AMOUNTS)
    held, guaranteed, pending = draw(_AMOUNTS), draw(st.integers(1, 16)), draw(_AMOUNTS)
    masters = draw(st.sampled_from([0, 1, 2, 8]))
    leaf = queues(
        capacity=mib(guaranteed * 1024, guaranteed),
        maximum=mib(size * 1024, size),
        used=mib(held * 1024, held),
        pending=mib(pending * 1024, pending),
        partitions=(
            part(
                maximum=mib(size * 1024, size),
                used=mib(held * 1024, held),
                masters=mib(masters * 1024, masters),
                masters_used=mib(min(masters, held) * 1024, min(masters, held)),
            ),
        ),
        most_running=draw(st.sampled_from([None, 1, 4])),
        applications=draw(st.integers(0, 4)),
    )
    return {
        "capacity": mib(size * 1024, size),
        "used": mib(min(used, size) * 1024, min(used, size)),
        "nodes": (a_node_report(total=mib(size * 1024, size)),),
        "queues": leaf,
    }


def starts(candidate):
    return candidate.score is not None and "wait there" not in candidate.reason


@given(_clusters(), _clusters(), st.integers(1, 4), st.sampled_from([0.0, 1.0]), st.booleans())
def test_any_candidate_where_it_starts_now_goes_before_any_where_it_waits(east, west, size, worth, is_at_east):
    settings = HomeSettings(
        home_with_data=worth, data_parts=lambda _: {EAST: float(is_at_east), WEST: float(not is_at_east)}
    )
    decision = decide(east, west=west, submission=asked(size * 1024, 1), settings=settings)
    if any(starts(candidate) for candidate in decision.candidates):
        home = next(each for each in decision.candidates if each.subcluster == decision.home_subcluster)
        assert starts(home)


@given(_clusters(), st.integers(1, 4), st.integers(1, 8))
def test_more_free_capacity_never_makes_a_candidate_worse(east, size, more):
    before = about_east(decide(east, submission=asked(size * 1024, 1)))
    grown = east["capacity"] + mib(more * 1024, more)
    wider = east | {"capacity": grown, "nodes": (a_node_report(total=grown),)}
    after = about_east(decide(wider, submission=asked(size * 1024, 1)))
    if before.score is not None:
        assert after.score is not None
        assert after.score >= before.score


@pytest.mark.parametrize(
    "form",
    [
        "an ApplicationMaster is larger than their share, and others run",
        "the maximum capacity in vcores, where nobody tells whether they count",
        "every node belongs to a label",
    ],
)
def test_one_where_it_may_wait_for_ever_comes_after_one_where_it_waits(form):
    fields, changes = WAITS[form]
    decision = decide(fields, west=in_queue_of(changes) | {"used": WHOLE}, submission=asked(**changes))
    assert decision.home_subcluster == WEST
    assert "it may wait there for ever: " in about_east(decision).reason


@pytest.mark.parametrize("state", ["LOST", "UNHEALTHY"])
def test_what_a_queue_may_hold_of_fewer_nodes_than_usual_is_no_lasting_reason(state):
    fields = {"nodes": (a_node_report(), a_node_report("n2:1", state=state)), "queues": queues(maximum=mib(409, 8))}
    decision = decide(fields, west=fields)
    assert (decision.home_subcluster, decision.is_lasting, decision.refusal) == (None, False, None)
    gone = {"nodes": (a_node_report(), a_node_report("n2:1", state="DECOMMISSIONED"))}
    assert decide(fields | gone, west=fields | gone).is_lasting
