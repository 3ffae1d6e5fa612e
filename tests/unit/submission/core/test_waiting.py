"""One sentence on why an application waits: for what, where, since when, and who has it."""

import json
from dataclasses import replace

import pytest

from shim.domain.applications import YarnApplicationState
from shim.domain.ids import SubClusterId
from shim.domain.queues import PartitionReport
from shim.domain.resources import ResourceVector
from shim.domain.submissions import NOWHERE
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.submission.core.waiting import why_it_waits
from tests.doubles.recorded import recorded_exchange
from tests.doubles.reports import a_document, a_node_report, a_queue_report, a_report
from tests.doubles.settings import usual

EAST = SubClusterId("east")
NOW_S = 1_700_000_100.0
SINCE_MS = 1_700_000_015_000  # 22:13:35 UTC
SMALL = ResourceVector(4096, 4)


def seen(now_s=NOW_S, **fields):
    view = FederationView((EAST,), usual(ViewSettings, late_after_s=6.0))
    whole = {"capacity": SMALL, "nodes": (a_node_report(total=SMALL),), "queues": (a_queue_report("root.default"),)}
    view.apply(a_report("east", polled_at_s=NOW_S, **(whole | fields)))
    return view.look(EAST, now_s)


def full(used):
    """East with one node of which so much is used."""
    node = replace(a_node_report(total=SMALL), used=used)
    return seen(used=used, nodes=(node,))


def asking(memory=512, vcores=1, count=1, label=""):
    capability = {"memory": memory, "vCores": vcores}
    return {"resourceName": "*", "numContainers": count, "capability": capability, "nodeLabelExpression": label}


def document(number=1, state="ACCEPTED", *, name="job", user="alice", home=EAST, since_ms=SINCE_MS, **told):
    made = a_document(number, home, state, started_at_ms=since_ms)
    summary = replace(made.summary, name=name, user=user)
    return made.but(summary=summary, told=json.dumps({"state": state} | told).encode())


def test_the_scarce_type_is_told_and_who_holds_most_of_it():
    holder = document(2, "RUNNING", name="nightly-etl", allocatedVCores=4, allocatedMB=1024)
    told = why_it_waits(document(resourceRequests=[asking()]), full(ResourceVector(1024, 4)), [holder], NOW_S)
    assert told == (
        "waits at east since 22:13:35 UTC for its ApplicationMaster: 1 core wanted, 0 of 4 free "
        "(nightly-etl of alice holds 4)"
    )


def test_memory_is_told_where_it_is_scarce_and_the_two_who_hold_most():
    others = [
        document(number, "RUNNING", name=f"job{number}", user="bob", allocatedMB=number * 512, allocatedVCores=1)
        for number in (2, 3, 4)
    ]
    others += [
        document(9, "FINISHED", allocatedMB=4096),
        document(8, "RUNNING", home=SubClusterId("west"), allocatedMB=9),
    ]
    told = why_it_waits(document(resourceRequests=asking()), full(ResourceVector(3968, 3)), others, NOW_S)
    assert told.endswith(
        "512 MiB wanted, 128 of 4096 free (job4 of bob holds 2048, job3 of bob holds 1536, 1 more hold the rest)"
    )


def test_nobody_is_named_of_whom_the_reader_may_not_know_what_he_holds():
    hidden = document(2, "RUNNING", name="secret")
    told = why_it_waits(document(resourceRequests=[asking()]), full(ResourceVector(1024, 4)), [hidden], NOW_S)
    assert told.endswith("1 core wanted, 0 of 4 free")


def test_a_limit_of_its_queue_is_told_in_the_words_of_the_choice_of_homes():
    part = PartitionReport("", SMALL, masters=ResourceVector(1024, 1), masters_used=ResourceVector(768, 1))
    told = why_it_waits(
        document(resourceRequests=[asking()]), seen(queues=(a_queue_report(partitions=(part,)),)), [], NOW_S
    )
    assert told.endswith(
        "for its ApplicationMaster: ApplicationMasters hold 768 MiB and 1 vcores of their share of queue root.default, "
        "1024 MiB and 1 vcores"
    )


def test_one_that_has_its_container_is_not_told_what_others_wait_for():
    part = PartitionReport("", SMALL, masters=ResourceVector(1024, 1), masters_used=ResourceVector(1024, 2))
    queues = (a_queue_report(partitions=(part,)),)
    launched = document(allocatedMB=512, allocatedVCores=1, diagnostics="AM container is launched, waiting for AM")
    told = why_it_waits(launched, seen(used=SMALL, queues=queues), [], NOW_S)
    assert told.endswith("for its ApplicationMaster: AM container is launched, waiting for AM")


def test_what_may_never_start_is_told_before_what_is_scarce_now():
    limited = seen(used=SMALL, queues=(a_queue_report(maximum=ResourceVector(409, 4)),))
    told = why_it_waits(document(resourceRequests=[asking()]), limited, [], NOW_S)
    assert told.endswith(
        "perhaps for ever, as 512 MiB and 1 vcores is above the 409 MiB and 4 vcores that queue root.default may hold "
        "at most"
    )


def test_what_the_resource_manager_says_is_told_where_nothing_else_is_known():
    exchange = recorded_exchange("submit/full_json_ok.get")
    made = document().but(told=json.dumps(json.loads(exchange.body)["app"]).encode())
    told = why_it_waits(made, seen(), [], NOW_S)
    assert told.endswith("Application is Activated, waiting for resources to be assigned for AM.")
    assert why_it_waits(document(), seen(), [], NOW_S).endswith("its ResourceManager does not say what is missing")


def test_a_home_that_is_silent_is_told():
    told = why_it_waits(document(resourceRequests=[asking()]), seen(NOW_S + 40), [], NOW_S + 40)
    assert told.endswith("of 512 MiB and 1 vcores, but east last reported 40 s ago")


def test_one_that_runs_and_wants_more_tells_for_how_much_it_waits():
    more = document(state="RUNNING", resourceRequests=[asking(count=35), asking(2048, 1)])
    told = why_it_waits(more, full(ResourceVector(1024, 4)), [], NOW_S)
    assert told == (
        "runs at east, and waits there for 36 containers, the first of 512 MiB and 1 vcores: 1 core wanted, 0 of 4 free"
    )
    one = why_it_waits(document(state="RUNNING", resourceRequests=[asking()]), seen(), [], NOW_S)
    assert one == "runs at east, and waits there for 1 container of 512 MiB and 1 vcores"


def test_the_share_of_application_masters_is_no_reason_for_other_containers():
    part = PartitionReport("", SMALL, masters=ResourceVector(1024, 1), masters_used=ResourceVector(768, 1))
    queue = a_queue_report(partitions=(part,))
    told = why_it_waits(document(state="RUNNING", resourceRequests=[asking()]), seen(queues=(queue,)), [], NOW_S)
    assert told == "runs at east, and waits there for 1 container of 512 MiB and 1 vcores"


def test_one_that_waits_in_heddle_tells_what_it_was_told():
    waiting = document(home=NOWHERE, diagnostics="queue root.prod holds its part")
    assert (
        why_it_waits(waiting, None, [], NOW_S) == "waits in Heddle since 22:13:35 UTC: queue root.prod holds its part"
    )
    waiting = document(home=NOWHERE, diagnostics="Waits in Heddle for its queue's turn, 1 of 1: it is full.")
    told = why_it_waits(waiting, None, [], NOW_S)
    assert told == "waits in Heddle since 22:13:35 UTC for its queue's turn, 1 of 1: it is full."


def test_one_on_its_way_waits_for_its_home():
    assert why_it_waits(document(state="SUBMITTED"), seen(), [], NOW_S) == (
        "waits since 22:13:35 UTC for east to take it"
    )


def test_the_date_is_told_of_what_waits_for_longer_than_a_day():
    told = why_it_waits(document(since_ms=SINCE_MS - 86_400_000), seen(), [], NOW_S)
    assert "since 2023-11-13 22:13:35 UTC" in told


@pytest.mark.parametrize("state", [each for each in YarnApplicationState if each.is_final])
def test_what_has_ended_waits_for_nothing(state):
    assert not why_it_waits(document(state=state.value, resourceRequests=[asking()]), seen(), [], NOW_S)


def test_one_that_runs_and_has_all_waits_for_nothing():
    assert not why_it_waits(document(state="RUNNING"), seen(), [], NOW_S)


@pytest.mark.parametrize(
    "told",
    [
        {"resourceRequests": [{"resourceName": "*", "numContainers": "x"}]},
        {"resourceRequests": [{"resourceName": "*", "numContainers": 1, "capability": {"memory": "1e400"}}]},
        {"resourceRequests": {}},
        {"diagnostics": None},
        {"allocatedMB": "NaN"},
    ],
)
def test_odd_values_of_a_document_break_nothing(told):
    assert "east" in why_it_waits(document(**told), seen(), [document(2, "RUNNING", **told)], NOW_S)


def test_a_document_that_is_none_waits_for_nothing():
    assert not why_it_waits(document().but(told=b"[]"), seen(), [], NOW_S)


def test_a_time_beyond_all_calendars_is_left_out():
    assert "since" not in why_it_waits(document(since_ms=2**60), seen(), [], NOW_S)


@pytest.mark.parametrize(
    ("asked", "used", "cause"),
    [
        (asking(1024, 1), (3072, 3), ""),
        (asking(1025, 1), (3072, 3), "1025 MiB wanted, 1024 of 4096 free"),
        (asking(512, 2), (3072, 3), "2 cores wanted, 1 of 4 free"),
        (asking(512, 1), (3072, 4), "1 core wanted, 0 of 4 free"),
        (asking(512, 1), (3072, 5), "1 core wanted, 0 of 4 free"),
        (asking(1, 1), (4096, 3), "1 MiB wanted, 0 of 4096 free"),
        (asking(2048, 2), (3072, 3), "2 cores wanted, 1 of 4 free"),
    ],
)
def test_what_is_scarce_to_the_last_unit(asked, used, cause):
    told = why_it_waits(document(state="RUNNING", resourceRequests=[asked]), full(ResourceVector(*used)), [], NOW_S)
    assert told.partition(" vcores")[2] == (f": {cause}" if cause else "")


def test_those_who_hold_most_are_told_first_and_the_others_are_counted():
    def holder(number, cores, **more):
        return document(number, more.pop("state", "RUNNING"), name=f"n{number}", allocatedVCores=cores, **more)

    others = [
        *(holder(number, cores) for number, cores in ((2, 1), (3, 4), (4, 2), (5, 1), (6, 0), (7, -3))),
        holder(8, 9, home=SubClusterId("west")),
        holder(9, 9, state="FINISHED"),
        holder(1, 9),
    ]
    waits = document(state="RUNNING", resourceRequests=[asking()])
    told = why_it_waits(waits, full(ResourceVector(0, 4)), others, NOW_S)
    assert told.endswith("(n3 of alice holds 4, n4 of alice holds 2, 2 more hold the rest)")
    told = why_it_waits(waits, full(ResourceVector(0, 4)), others[:2], NOW_S)
    assert told.endswith("(n3 of alice holds 4, n2 of alice holds 1)")


def test_a_thousand_others_are_looked_at():
    idle = [document(number, "RUNNING") for number in range(2, 1001)]
    holder = document(2000, "RUNNING", name="last", allocatedVCores=4)
    waits = document(state="RUNNING", resourceRequests=[asking()])
    assert "last" in why_it_waits(waits, full(ResourceVector(0, 4)), [*idle, holder], NOW_S)
    assert "last" not in why_it_waits(waits, full(ResourceVector(0, 4)), [*idle, idle[0], holder], NOW_S)


@pytest.mark.parametrize(("length", "shown"), [(60, "x" * 60), (61, "x" * 60 + "...")])
def test_a_long_name_is_cut(length, shown):
    holder = document(2, "RUNNING", name="x" * length, allocatedVCores=4)
    told = why_it_waits(document(state="RUNNING", resourceRequests=[asking()]), full(SMALL), [holder], NOW_S)
    assert f"({shown} of alice" in told


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("[Tue Nov 14] waits for a node", "waits for a node"),
        ("[no end", "[no end"),
        ("soon Details : AM Partition", "soon"),
        ("y" * 400, "y" * 300),
        ("", "its ResourceManager does not say what is missing"),
        (" in line ", "in line"),
    ],
)
def test_the_resource_managers_own_words(told, shown):
    assert why_it_waits(document(diagnostics=told), seen(), [], NOW_S).partition("Master: ")[2] == shown


@pytest.mark.parametrize(
    ("age_s", "is_dated"), [(0, False), (86_399, False), (86_400, True), (-86_399, False), (-86_400, True)]
)
def test_the_date_is_told_from_a_day_on(age_s, is_dated):
    told = why_it_waits(document(since_ms=int((NOW_S - age_s) * 1000)), seen(), [], NOW_S)
    assert ("since 20" in told) is is_dated


def test_the_time_is_that_of_heddles_clock():
    told = why_it_waits(document(state="SUBMITTED"), seen(clock_skew_s=15.0), [], NOW_S)
    assert "since 22:13:20 UTC" in told
    assert "since" not in why_it_waits(document(state="SUBMITTED", since_ms=0), seen(), [], NOW_S)
    assert "since 00:00:00" in why_it_waits(document(state="SUBMITTED", since_ms=1), seen(), [], 60.0)


def test_only_what_is_asked_for_anywhere_counts():
    at_a_node = asking(2048, 1, 7) | {"resourceName": "n1"}
    none_left, sizeless = asking(1024, 1, 0), {"resourceName": "*", "numContainers": 3}
    waits = document(state="RUNNING", resourceRequests=[at_a_node, none_left, sizeless, asking(count=2)])
    assert "for 2 containers, the first of 512 MiB" in why_it_waits(waits, seen(), [], NOW_S)
    alone = document(state="RUNNING", resourceRequests=asking())
    assert "for 1 container of 512 MiB" in why_it_waits(alone, seen(), [], NOW_S)
