"""What `heddle app why` and the console are told of one application."""

from dataclasses import replace

import pytest
from msgspec import UNSET

from heddle import applications
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission, AdmissionWord
from shim.domain.submissions import Candidate, HomeDecision, Waited
from shim.federation.administration import Drainage
from shim.federation.deadline_outlook import DeadlineOutlook
from shim.federation.inspection import ClusterStatus, QueuePart, QueueStatus, SubClusterDescription
from shim.server.rest.inspection_shown import (
    cluster_gauges,
    shown_candidates,
    shown_cluster,
    shown_deadline,
    shown_queue,
    shown_waited,
    still_running,
    told_of_deadline,
)


@pytest.mark.parametrize(("ends_s", "ends_ms"), [(1_700_000_040.5, 1_700_000_040_500), (None, None)])
def test_times_of_a_deadline_are_told_in_milliseconds_and_what_is_left_in_seconds(ends_s, ends_ms):
    shown = shown_deadline(DeadlineOutlook(1_700_000_060.25, 40.04, "yes", ends_s, "2 earlier runs", "2 containers"))
    assert (shown.at_ms, shown.expected_end_ms, shown.left_s) == (1_700_000_060_250, ends_ms, 40.0)
    assert (shown.met, shown.known_from, shown.takes) == ("yes", "2 earlier runs", "2 containers")


@pytest.mark.parametrize(
    ("left_s", "ends_s", "takes", "text"),
    [
        (0.6, None, "", "(in 1 s); met: yes (so)"),
        (0.0, None, "", "(0 s ago); met: yes (so)"),
        (-5.0, 1_700_000_061.0, "2 containers", "(5 s ago); met: yes, 1 s after it (so); it takes 2 containers"),
        (40.0, 1_700_000_060.0, "", "(in 40 s); met: yes, 0 s before it (so)"),
        (40.0, 1_700_000_030.0, "", "(in 40 s); met: yes, 30 s before it (so)"),
    ],
)
def test_a_deadline_is_one_sentence(left_s, ends_s, takes, text):
    found = DeadlineOutlook(1_700_000_060.0, left_s, "yes", ends_s, "so", takes)
    assert told_of_deadline(found) == f"2023-11-14T22:14:20Z {text}"


STATUS = ClusterStatus(
    SubClusterId("east"),
    SubClusterDescription(("http://a", "http://b"), ("a:1", "b:1"), ("a:2",)),
    "RUNNING",
    Admission.OPEN,
    1.23456,
    "3.4.2",
    "capacityScheduler",
    7,
    3,
    "",
)


def test_a_cluster_is_shown_with_who_closed_it_if_anybody_did():
    shown = shown_cluster(STATUS)
    assert (shown.web, shown.client_rpc, shown.scheduler_rpc) == ("http://a,http://b", "a:1,b:1", "a:2")
    assert (shown.age_s, shown.running, shown.nodes, shown.is_heard) == (1.235, 7, 3, True)
    assert (shown.said_by, shown.said_at_ms, shown.said_why) == (UNSET, UNSET, UNSET)
    word = AdmissionWord(Admission.CORDONED, "ada", 99, "racks")
    closed = shown_cluster(replace(STATUS, word=word, age_s=float("inf")))
    assert (closed.said_by, closed.said_at_ms, closed.said_why, closed.age_s) == ("ada", 99, "racks", None)


@pytest.mark.parametrize(("admission", "told"), [(Admission.OPEN, (1.23456, 3, 7)), (Admission.RETIRED, (None,) * 3)])
def test_of_a_retired_cluster_metrics_tell_that_alone(admission, told):
    gauges = cluster_gauges(replace(STATUS, admission=admission))
    assert (gauges.age_s, gauges.nodes, gauges.live_applications) == told
    assert (gauges.subcluster, gauges.state, gauges.admission) == ("east", "RUNNING", admission.value)


def test_a_queue_is_the_sum_of_its_parts():
    parts = tuple(
        QueuePart(
            SubClusterId(name),
            "RUNNING",
            ResourceVector(100 * at, at),
            ResourceVector(10 * at, at),
            ResourceVector(at, at),
            at,
        )
        for at, name in ((1, "east"), (2, "west"))
    )
    shown = shown_queue(QueueStatus("root.q", parts))
    assert (shown.capacity_mib, shown.used_mib, shown.pending_mib, shown.applications) == (300, 30, 3, 3)
    assert (shown.capacity_vcores, shown.used_vcores, shown.pending_vcores) == (3, 3, 3)
    assert [(each.cluster, each.capacity_mib, each.used_mib, each.pending_mib) for each in shown.parts] == [
        ("east", 100, 10, 1),
        ("west", 200, 20, 2),
    ]


def test_what_still_runs_is_named_with_the_containers_of_other_homes():
    one, two = ApplicationId(1, 1), ApplicationId(1, 2)
    drainage = Drainage(SubClusterId("east"), Admission.DRAINING, (one, two), {two: 3})
    assert still_running(drainage) == ([str(one), str(two)], {str(two): 3})


def test_waiting_is_told_from_its_begin_to_its_end():
    shown = shown_waited(Waited(1_000, 3_500, "no turn"))
    assert (shown.submitted_at_ms, shown.started_at_ms, shown.waited_s, shown.reason) == (1_000, 3_500, 2.5, "no turn")


@pytest.mark.parametrize(("age_s", "told"), [(None, None), (float("inf"), None), (1.23456, 1.235), (0.0, 0.0)])
def test_ages_of_candidates_and_verdicts_are_rounded_and_never_infinite(age_s, told):
    candidate = Candidate(SubClusterId("east"), 0.5, "it is free", age_s)
    (shown,) = shown_candidates(HomeDecision(None, "", (candidate,)))
    assert (shown.cluster, shown.score, shown.reason, shown.age_s) == ("east", 0.5, "it is free", told)


@pytest.mark.parametrize(("since_ms", "until_ms", "waited_s"), [(1000, 4500, 3.5), (2001, 2002, 0.001), (7, 7, 0.0)])
def test_a_wait_is_told_from_when_until_when_and_how_long(since_ms, until_ms, waited_s):
    shown = shown_waited(Waited(since_ms, until_ms, "its turn"))
    assert shown == applications.Waited(since_ms, until_ms, waited_s, "its turn")
