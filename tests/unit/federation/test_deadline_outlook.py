"""Outlooks of deadlines: what each kind of knowledge says, and that nothing is said of what nobody knows."""

import json
from dataclasses import replace
from typing import Any

import pytest

from shim.domain.applications import ApplicationSummary, FinalStatus, YarnApplicationState
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.subclusters import ApplicationDocument
from shim.domain.wishes import WorkLeft
from shim.federation.deadline_outlook import DeadlineOutlook, outlook, outlook_of_waiting
from tests.doubles.builders import a_record, a_submission

DUE_S = 1000.0 + 60.0


def told(
    work: WorkLeft | None = None,
    now_s: float = 1020.0,
    state: YarnApplicationState = YarnApplicationState.RUNNING,
    tag: str = "heddle-deadline=+60s",
    finished_s: float = 0.0,
    **members: object,
) -> DeadlineOutlook | None:
    """What is told of an application that was submitted at 1000 s."""
    summary = ApplicationSummary(
        application_id=ApplicationId(1, 1),
        home_subcluster=SubClusterId("east"),
        user="alice",
        name="n",
        queue="default",
        state=state,
        final_status=FinalStatus.UNDEFINED,
        application_type="YARN",
        tags=(tag,),
        started_at_ms=1_000_000,
        finished_at_ms=int(finished_s * 1000),
    )
    return outlook(ApplicationDocument(summary, json.dumps(members).encode(), now_s), now_s, lambda: work)


def sure(found: DeadlineOutlook | None) -> DeadlineOutlook:
    assert found is not None
    return found


@pytest.mark.parametrize("tag", ["other", "heddle-deadline=soon"])
def test_without_a_deadline_that_can_be_read_nothing_is_told(tag: str):
    assert told(tag=tag) is None


@pytest.mark.parametrize(("finished_s", "met"), [(1059.0, "yes"), (1060.0, "yes"), (1061.0, "no")])
def test_of_what_has_ended_its_end_says_it(finished_s: float, met: str):
    found = sure(told(state=YarnApplicationState.FINISHED, finished_s=finished_s, now_s=2000.0))
    assert (found.met, found.expected_end_s, found.deadline_s) == (met, finished_s, DUE_S)


@pytest.mark.parametrize(
    ("containers", "running", "met", "ends_s", "takes"),
    [
        (4, 4, "yes", 1040.0, "2 containers at a time"),  # 10 + 4 x 10 / 4 s
        (4, 1, "no", 1070.0, "2 containers at a time"),
        (8, 0, "not known", None, "3 containers at a time"),
    ],
)
def test_what_is_left_of_its_containers_says_it_before_its_progress_does(
    containers: int, running: int, met: str, ends_s: float | None, takes: str
):
    found = sure(told(WorkLeft(containers, 10.0, running, runs=2), progress=99.0, launchTime=1_000_000))
    assert (found.met, found.expected_end_s, found.takes) == (met, ends_s, takes)
    assert (found.deadline_s, found.left_s) == (DUE_S, 40.0)
    assert "by 2 earlier runs" in found.source


def test_containers_that_take_longer_than_what_is_left_end_in_time_by_no_number():
    found = sure(told(WorkLeft(4, 50.0, 4, runs=0)))
    assert found.met == "no"
    assert found.takes.startswith("no number of containers")
    assert "its own containers that have ended" in found.source


@pytest.mark.parametrize(
    ("progress", "met", "ends_s"), [(50.0, "yes", 1040.0), (10.0, "no", 1200.0), (100.0, "yes", 1020.0)]
)
def test_progress_says_when_it_ends_if_it_goes_on_so(progress: float, met: str, ends_s: float):
    found = sure(told(progress=progress, launchTime=1_000_000))
    assert (found.met, found.expected_end_s) == (met, ends_s)


@pytest.mark.parametrize(
    "members", [{}, {"progress": 4.9}, {"progress": "half"}, {"progress": 101.0}, {"progress": None}]
)
def test_without_anything_to_go_by_it_is_not_known_until_the_deadline_is_over(members: dict[str, Any]):
    found = sure(told(**members))
    assert (found.met, found.expected_end_s, found.takes) == ("not known", None, "")
    assert sure(told(now_s=DUE_S + 1.0, **members)).met == "no"


@pytest.mark.parametrize(("now_s", "met"), [(1050.0, "not known"), (1060.0, "no"), (1070.0, "no")])
def test_a_deadline_of_what_waits_in_heddle_counts_from_when_it_was_asked_for(now_s: float, met: str):
    record = a_record(intended_at_ms=1_000_000, tags=("heddle-deadline=+60s",))
    found = sure(outlook_of_waiting(record, now_s))
    assert (found.deadline_s, found.left_s, found.met) == (DUE_S, DUE_S - now_s, met)
    assert outlook_of_waiting(replace(record, submission=a_submission()), now_s) is None


def test_of_what_has_ended_the_time_left_goes_on():
    assert sure(told(state=YarnApplicationState.FINISHED, finished_s=1059.0, now_s=2000.0)).left_s == DUE_S - 2000.0


@pytest.mark.parametrize(
    ("containers", "running", "now_s", "met", "takes"),
    [
        (4, 4, 1040.0, "yes", "4 containers at a time"),  # 10 + 10 s: ends as it is due
        (4, 4, 1040.5, "no", "5 containers at a time"),
        (4, 4, 1060.0, "no", "no number of containers"),
        (4, 4, 1061.0, "no", "no number of containers"),
        (4, 0, 1060.0, "no", "no number of containers"),
        (4, 0, 1055.0, "no", "no number of containers"),
        (0, 4, 1060.0, "no", ""),
        (0, 0, 1061.0, "no", ""),
    ],
)
def test_a_deadline_is_met_by_what_ends_as_it_is_due_and_by_nothing_once_it_is_over(
    containers: int, running: int, now_s: float, met: str, takes: str
):
    found = sure(told(WorkLeft(containers, 10.0, running, runs=2), now_s))
    assert (found.met, takes in found.takes) == (met, True)


@pytest.mark.parametrize(
    ("progress", "met", "takes"),
    [(5.0, "no", "more containers, if it can use them"), (20.0, "no", "more containers"), (100 / 3, "yes", "")],
)
def test_progress_that_ends_as_it_is_due_meets_it_and_needs_nothing(progress: float, met: str, takes: str):
    found = sure(told(progress=progress, launchTime=1_000_000))  # a third in 20 s: all in 60 s
    assert (found.met, found.takes[: len(takes)], bool(found.takes)) == (met, takes, met == "no")
    assert found.source == f"its progress, {progress:.0f} % after 20 s"


@pytest.mark.parametrize(
    ("launch", "ends_s"),
    [(1_010_000, 1030.0), (1_010_000.0, 1030.0), (0, 1040.0), (None, 1040.0), ("soon", 1040.0), (1_030_000, 1030.0)],
)
def test_progress_counts_from_the_launch_and_where_that_is_not_told_from_the_submission(launch: Any, ends_s: float):
    assert sure(told(progress=50.0, launchTime=launch)).expected_end_s == pytest.approx(ends_s)


@pytest.mark.parametrize(("now_s", "met"), [(1059.5, "not known"), (1060.0, "no")])
def test_without_anything_to_go_by_it_is_over_when_it_is_due(now_s: float, met: str):
    assert sure(told(now_s=now_s)).met == met
