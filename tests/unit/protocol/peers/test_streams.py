"""The stream of one sub-cluster's reports: what a publisher sends whom, and what a follower makes of it."""

from dataclasses import replace
from typing import Any

import pytest

from shim.domain import ApplicationId, SubClusterReport
from shim.errors import RemoteProtocolError
from shim.protocol.peers import DeltaFrame, ReportFollower, ReportFrame, ReportPublisher, ResyncFrame
from shim.protocol.peers.frames import HelloFrame
from shim.protocol.peers.streams import check_counts, check_numbers
from tests.doubles.reports import a_document, a_report

ONE = ApplicationId(1, 1)


def told(sequence: int, *applications: tuple[int, str], is_complete: bool = True, **fields: Any) -> SubClusterReport:
    made = [a_document(number, "east", state, as_of_s=100.0 + sequence) for number, state in applications]
    return a_report("east", sequence, applications=made, is_complete=is_complete, **fields)


def published(*reports: SubClusterReport, life: str = "life") -> ReportPublisher:
    publisher = ReportPublisher(life)
    for each in reports:
        publisher.publish(each)
    return publisher


def test_the_first_report_goes_whole_and_each_later_one_as_a_change_with_the_time_of_its_sending() -> None:
    publisher, follower = ReportPublisher("life"), ReportFollower("gm")
    first, second = told(1, (1, "RUNNING")), told(2, (1, "RUNNING"), (2, "RUNNING"))
    whole, delta = publisher.publish(first, now_s=7.0), publisher.publish(second, now_s=8.0)
    assert isinstance(whole, ReportFrame)
    assert isinstance(delta, DeltaFrame)
    assert (whole.life, whole.sent_at_s, delta.life, delta.sent_at_s) == ("life", 7.0, "life", 8.0)
    assert follower.receive(whole) == (first,)
    assert follower.receive(delta) == (second,)


@pytest.mark.parametrize("sequence", [1, 2])
def test_a_report_that_is_not_newer_is_refused_and_changes_nothing(sequence: int) -> None:
    publisher = published(told(2, (1, "RUNNING")))
    with pytest.raises(ValueError, match=f"report {sequence} is not newer than 2"):
        publisher.publish(told(sequence, (9, "FINISHED")))
    again = publisher.resync(now_s=3.0)
    assert again is not None
    assert (again.caught_up(), again.sent_at_s) == ((told(2, (1, "RUNNING")),), 3.0)


@pytest.mark.parametrize(
    ("life", "sequence", "is_up_to_date"),
    [("life", 2, True), ("life", 1, False), ("life", 3, False), ("other", 2, False), ("", 0, False)],
)
def test_who_says_hello_gets_what_it_lacks(life: str, sequence: int, is_up_to_date: bool) -> None:  # noqa: FBT001
    publisher = published(told(1), told(2))
    frame = publisher.greet(HelloFrame("gm", life, sequence), now_s=4.0)
    assert (frame is None) is is_up_to_date
    if frame is not None:
        assert (frame.caught_up()[-1], frame.sent_at_s) == (told(2), 4.0)


def test_before_the_first_report_there_is_nothing_to_send() -> None:
    publisher = ReportPublisher("life")
    assert publisher.greet(HelloFrame("gm", "life", 0)) is None
    assert publisher.resync() is None


def test_a_resync_brings_the_parts_that_the_newest_report_lacks_and_what_has_ended() -> None:
    whole = told(1, (1, "RUNNING"), (2, "RUNNING"))
    ended = told(2, (1, "FINISHED"), is_complete=False, documents={"metrics": b"{2}"})
    newest = told(3, (2, "RUNNING"), is_complete=False, documents={"info": b"{3}"})
    frame = published(whole, ended, newest).resync()
    assert frame is not None
    assert [each.report.sequence for each in frame.earlier] == [1, 2]
    assert [each.summary.application_id for each in frame.ended] == [ONE]
    caught = frame.caught_up()
    assert [each.sequence for each in caught] == [1, 2, 3]
    assert ApplicationId(1, 2) in caught[-1].applications
    assert {name: text for each in caught for name, text in each.documents.items()} == {
        **whole.documents,
        "metrics": b"{2}",
        "info": b"{3}",
    }


def test_what_runs_again_has_not_ended_and_of_what_ended_the_last_are_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shim.protocol.peers.streams._ENDED_KEPT", 2)
    states = [(1, "FINISHED"), (2, "FINISHED")], [(1, "RUNNING")], [(3, "KILLED")], [(2, "FINISHED")], [(4, "FAILED")]
    frame = published(*(told(number, *each) for number, each in enumerate(states, 1))).resync()
    assert frame is not None
    assert [each.summary.application_id.sequence for each in frame.ended] == [2], "the newest report tells of 4 itself"


def test_a_follower_asks_once_for_a_report_that_it_missed_and_passes_what_comes_meanwhile() -> None:
    publisher, follower = ReportPublisher("life"), ReportFollower("gm")
    frames = [publisher.publish(told(number, (number, "RUNNING"))) for number in range(1, 6)]
    assert follower.hello() == HelloFrame("gm", "", 0)
    assert isinstance(follower.receive(frames[1]), ResyncFrame), "nothing is known yet"
    assert follower.receive(frames[2]) == ()
    whole = publisher.resync()
    assert whole is not None
    assert follower.receive(whole) == (told(5, (5, "RUNNING")),)
    assert follower.hello() == HelloFrame("gm", "life", 5)
    assert follower.receive(frames[3]) == (), "older than what is known"
    assert follower.receive(whole) == ()
    publisher.publish(told(6))
    for _ in range(2):
        assert isinstance(follower.receive(publisher.publish(told(7 + _))), ResyncFrame) is (_ == 0)
    follower.hello()
    assert isinstance(follower.receive(publisher.publish(told(9))), ResyncFrame), "a new connection asks anew"


def test_another_life_begins_with_a_whole_report_whatever_its_number() -> None:
    follower = ReportFollower("gm")
    first = published(told(9)).resync()
    assert first is not None
    follower.receive(first)
    other = ReportPublisher("other")
    whole, delta = other.publish(told(1)), other.publish(told(2))
    assert isinstance(follower.receive(delta), ResyncFrame)
    assert follower.receive(whole) == (told(1),)
    assert follower.receive(delta) == (told(2),)
    foreign = ReportFrame.of("third", a_report("west", 10), sent_at_s=0.0)
    with pytest.raises(RemoteProtocolError, match="a report of west on the stream of east"):
        follower.receive(foreign)


@pytest.mark.parametrize(
    ("told_untrusted", "is_good"),
    [
        (2**63, True),
        (-(2**63), True),
        (2**63 + 1, False),
        (-(2**63) - 1, False),
        ({"a": [1, (2.0, 2**63 + 1)]}, False),
        ({"a": [1, {"b": float("nan")}]}, False),
        ([float("inf")], False),
        ({"a": ["text", None, 1.5]}, True),
    ],
)
def test_numbers_are_those_that_are_counted_or_measured(told_untrusted: object, is_good: bool) -> None:  # noqa: FBT001
    if is_good:
        check_numbers(1, told_untrusted)
        return
    with pytest.raises(RemoteProtocolError, match="is no number that a master tells"):
        check_numbers(1, told_untrusted)


@pytest.mark.parametrize(
    ("limit", "what", "report"),
    [
        ("MOST_NODES", "2 nodes", replace(told(1), nodes=told(1).nodes * 2)),
        ("MOST_QUEUES", "2 queues", replace(told(1), queues=told(1).queues * 2)),
        ("MOST_APPLICATIONS", "4 applications", told(1, *((number, "RUNNING") for number in range(4)))),
        ("MOST_LIVE_BYTES", "4 bytes of applications", told(1)),
    ],
)
def test_a_report_has_so_much_of_each_and_no_more(
    monkeypatch: pytest.MonkeyPatch, limit: str, what: str, report: SubClusterReport
) -> None:
    if limit == "MOST_LIVE_BYTES":
        report = replace(report, applications={ONE: a_document(1, "east").but(told=b"4444")})
    monkeypatch.setattr(f"shim.protocol.peers.streams.{limit}", 2)
    check_counts(report)
    monkeypatch.setattr(f"shim.protocol.peers.streams.{limit}", 1)
    with pytest.raises(RemoteProtocolError, match=what):
        check_counts(report)
