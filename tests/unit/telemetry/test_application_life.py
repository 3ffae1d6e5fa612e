"""One application's life in the log, by its id; and clusters that change, said once."""

import asyncio
from collections import deque
from collections.abc import Iterator, MutableMapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from structlog.testing import capture_logs

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.queues import FederatedQueue, SharePolicy
from shim.domain.subclusters import Admission
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.federation.inspection import ClusterChange, ClusterEvents, ClusterStatus, SubClusterDescription
from shim.telemetry import application_life
from shim.telemetry.application_life import ApplicationLives
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS, a_submission
from tests.doubles.clock import FakeClock
from tests.doubles.federation import ScriptedFederation
from tests.doubles.misbehaviours import IsPaused, MisbehavesFor
from tests.doubles.reports import a_document, a_report
from tests.doubles.settings import usual
from tests.support.scripted_server import ScriptedServer

EAST, WEST = SubClusterId("east"), SubClusterId("west")
ONE = ApplicationId(FEDERATION_TIMESTAMP_MS, 1)

Lines = list[MutableMapping[str, Any]]


@pytest.fixture
def lines() -> Iterator[Lines]:
    """What is logged."""
    with capture_logs() as captured:
        yield captured


def of(lines: Lines, application: object) -> Lines:
    return [line for line in lines if line.get("application_id") == str(application)]


def events(lines: Lines, application: object) -> list[str]:
    return [line["event"].removeprefix("application ") for line in of(lines, application)]


async def test_a_submission_and_its_home_with_the_scores(lines: Lines) -> None:
    heddle = await ScriptedFederation().start()
    await heddle.submissions.submit(a_submission(1))
    assert events(lines, ONE) == ["submitted", "home chosen"]
    submitted, chosen = of(lines, ONE)
    assert submitted["user"] == a_submission(1).user
    assert (chosen["home"], chosen["scores"], chosen["reason"]) == ("east", {"east": 1.0, "west": 1.0}, "in order")
    await heddle.submissions.submit(a_submission(1))
    assert len(of(lines, ONE)) == 2, "a repetition is no second life"


async def test_waiting_with_the_reason_and_how_long(lines: Lines) -> None:
    server = ScriptedServer(policy=SharePolicy((FederatedQueue("root.default", max_running=1),)))
    await server.poll()
    first, second = await server.submit(), await server.submit()
    assert events(lines, second) == ["submitted", "waits"]
    assert "root.default" in of(lines, second)[1]["reason"]
    server.federation["east"].move(first, "FINISHED") if first in server.federation["east"].applications else (
        server.federation["west"].move(first, "FINISHED")
    )
    await server.federation.clock.advance(30.0)
    await server.poll()
    await server.federation.wait_for(server.starting.round())
    assert events(lines, second) == ["submitted", "waits", "home chosen"]
    record = await server.federation.store.find(second)
    assert record is not None
    assert record.waited is not None
    chosen = of(lines, second)[2]
    assert chosen["waited_s"] == (record.waited.until_ms - record.waited.since_ms) / 1000 >= 30.0
    assert (record.waited.until_ms, chosen["home"]) == (record.intended_at_ms, record.home_subcluster)


async def test_a_repair_tells_the_old_home_and_why(lines: Lines) -> None:
    federation = ScriptedFederation()
    heddle = await federation.start()
    federation["east"].behave(MisbehavesFor(IsPaused(), times=1, applies=lambda request: request.method == "POST"))
    await federation.wait_for(heddle.submissions.submit(a_submission(1)))
    await federation.clock.advance(30.0)
    await federation.wait_for(heddle.poll())
    await federation.wait_for(heddle.repair.repair_all())
    assert events(lines, ONE) == ["submitted", "home chosen", "repaired"]
    repaired = of(lines, ONE)[2]
    assert (repaired["was"], repaired["reason"]) == ("east", "its home does not know it")


def test_starts_and_ends_are_told_once_and_not_what_was_before(lines: Lines) -> None:
    view, lives = FederationView((EAST, WEST), usual(ViewSettings)), ApplicationLives()

    def reports(sequence: int, *states: str) -> None:
        documents = [a_document(number, "east", state) for number, state in enumerate(states, start=1)]
        report = a_report("east", sequence, polled_at_s=100.0 + sequence, applications=documents)
        lives.reported(report, view.apply(report))

    old, young = ApplicationId(1, 1), ApplicationId(1, 2)
    reports(1, "RUNNING", "ACCEPTED", "FINISHED")
    assert lines == []
    reports(2, "RUNNING", "ACCEPTED", "FINISHED")
    reports(3, "RUNNING", "RUNNING", "FINISHED")
    reports(4, "RUNNING", "RUNNING", "FINISHED")
    reports(5, "FINISHED", "KILLED", "FINISHED")
    assert (events(lines, old), events(lines, young)) == (["ended"], ["started", "ended"])
    assert of(lines, young)[1]["final_status"] == "KILLED"
    lives.ended(young, EAST, "KILLED", "KILLED")
    assert events(lines, young) == ["started", "ended"], "reconciliation notices it, too"


async def test_very_many_events_are_told_in_turns_and_beyond_a_bound_counted(
    lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application_life, "_MOST_UNTOLD", 300)
    view, lives = FederationView((EAST,), usual(ViewSettings)), ApplicationLives()
    for sequence, state in ((1, "ACCEPTED"), (2, "RUNNING")):
        documents = [a_document(number, "east", state) for number in range(1, 501)]
        report = a_report("east", sequence, polled_at_s=100.0 + sequence, applications=documents)
        lives.reported(report, view.apply(report))
    told = [len(lines)]
    while len(lines) > told[-1] or len(told) == 1:
        told.append(len(lines))
        await asyncio.sleep(0)
    assert max(later - earlier for earlier, later in pairwise(told)) <= 51
    assert told[1] == 50
    assert len([each for each in lines if each["event"] == "application started"]) == 350
    assert [each["left_out"] for each in lines if "left_out" in each] == [150]


def test_a_cluster_that_changes_is_an_event_said_once(lines: Lines) -> None:
    states = iter(["NEW", "RUNNING", "RUNNING", "DRAINING", "LOST", "LOST", "RUNNING", "RETIRED"])

    def statuses() -> list[ClusterStatus]:
        return [
            ClusterStatus(EAST, SubClusterDescription(()), next(states), Admission.OPEN, 1.0, "", "", 0, 0, "refused")
        ]

    clock, changes = FakeClock(), dict[SubClusterId, deque[ClusterChange]]()
    watch = ClusterEvents(statuses, clock, changes)
    for _ in range(8):
        watch.look()
    assert [(line["was"], line["state"], line["log_level"]) for line in lines] == [
        ("NEW", "RUNNING", "info"),
        ("RUNNING", "DRAINING", "info"),
        ("DRAINING", "LOST", "warning"),
        ("LOST", "RUNNING", "info"),
        ("RUNNING", "RETIRED", "info"),
    ]
    assert lines[2]["reason"] == "refused"
    assert [(change.was, change.state, change.reason) for change in changes[EAST]] == [
        (line["was"], line["state"], line["reason"]) for line in lines
    ]
    assert changes[EAST][0].at_ms == int(clock.now_s() * 1000)


def test_a_cluster_that_never_answers_is_told_of_once_and_again_when_it_does(lines: Lines) -> None:
    def status(id_: str, state: str, failure: str, *, is_heard: bool) -> ClusterStatus:
        return ClusterStatus(
            SubClusterId(id_), SubClusterDescription(()), state, Admission.OPEN, 1.0, "", "", 0, 0, failure, is_heard
        )

    moments = iter(
        [
            [status("east", "NEW", "", is_heard=False), status("west", "CORDONED", "refused", is_heard=False)],
            [status("east", "NEW", "refused", is_heard=False), status("west", "CORDONED", "late", is_heard=False)],
            [status("east", "NEW", "time ran out", is_heard=False), status("west", "CORDONED", "x", is_heard=False)],
            [status("east", "RUNNING", "", is_heard=True), status("west", "CORDONED", "x", is_heard=False)],
            [status("east", "RUNNING", "refused", is_heard=True), status("west", "CORDONED", "", is_heard=True)],
        ]
    )
    watch = ClusterEvents(lambda: next(moments), FakeClock(), {})
    for _ in range(5):
        watch.look()
    assert [(line["cluster"], line["state"], line["reason"], line["log_level"]) for line in lines] == [
        ("west", "CORDONED", "refused", "warning"),
        ("east", "NEW", "refused", "warning"),
        ("east", "RUNNING", "", "info"),
    ]


def test_of_very_many_ends_the_newest_are_remembered(lines: Lines) -> None:
    lives, most = ApplicationLives(), 100_000
    for number in range(1, most + 2):
        lives.ended(ApplicationId(1, number), EAST, "FINISHED", "SUCCEEDED")
    lines.clear()
    lives.ended(ApplicationId(1, 2), EAST, "FINISHED", "SUCCEEDED")
    assert lines == [], "told before"
    lives.ended(ApplicationId(1, 1), EAST, "FINISHED", "SUCCEEDED")
    assert len(lines) == 1, "forgotten"


async def test_an_event_that_cannot_be_told_holds_up_no_other(lines: Lines) -> None:
    view, lives = FederationView((EAST,), usual(ViewSettings)), ApplicationLives()
    told: list[ApplicationId] = []

    def hear(event: object, application_id: ApplicationId, *_: object, **__: object) -> None:
        del event
        told.append(application_id)
        if len(told) % 2:
            raise ValueError("nobody thought of this one")

    end = application_life.listen(hear)
    try:
        for sequence, state in ((1, "ACCEPTED"), (2, "RUNNING")):
            documents = [a_document(number, "east", state) for number in range(1, 201)]
            report = a_report("east", sequence, polled_at_s=100.0 + sequence, applications=documents)
            lives.reported(report, view.apply(report))
        for _ in range(20):
            await asyncio.sleep(0)
    finally:
        end()
    assert len(told) == 200
    assert len([each for each in lines if each["event"] == "an event of an application could not be told"]) == 100


@pytest.mark.parametrize("state", ["NEW", "RUNNING", "LOST"])
@pytest.mark.parametrize("failure", ["", "refused"])
@pytest.mark.parametrize("is_heard", [False, True])
def test_of_a_cluster_all_is_told_when_its_state_is_another_or_it_never_answered(lines, state, failure, is_heard):
    status = ClusterStatus(
        EAST, SubClusterDescription(()), state, Admission.DRAINING, 1, "", "", 0, 0, failure, is_heard
    )
    clock, changes = FakeClock(), dict[SubClusterId, deque[ClusterChange]]()
    watch = ClusterEvents(lambda: [status, replace(status, id=SubClusterId("west"))], clock, changes)
    for _ in range(3):
        watch.look()
    is_absent = bool(failure) and not is_heard
    told = ["east", "west"] if state != "NEW" or is_absent else []
    level = "warning" if is_absent or state == "LOST" else "info"
    fields = {"state": state, "was": "NEW", "admission": "draining", "reason": failure, "log_level": level}
    assert lines == [{"event": f"cluster is {state}", "cluster": cluster, **fields} for cluster in told]
    change = ClusterChange(int(clock.now_s() * 1000), "NEW", state, failure)
    assert changes == {SubClusterId(cluster): deque([change]) for cluster in told}


def test_of_a_cluster_the_latest_hundred_changes_are_kept(lines):
    states = iter(["RUNNING", "LOST"] * 60)
    clock, changes = FakeClock(), dict[SubClusterId, deque[ClusterChange]]()

    def statuses():
        state = next(states)
        return [
            ClusterStatus(EAST, SubClusterDescription(()), state, Admission.OPEN, 1.0, "", "", 0, 0, "", is_heard=True)
        ]

    watch = ClusterEvents(statuses, clock, changes)
    for _ in range(101):
        watch.look()
    assert len(lines) == 101
    assert [each.was for each in changes[EAST]] == ["RUNNING", "LOST"] * 50


async def test_clusters_are_looked_at_each_second(lines):
    looked, clock = [], FakeClock()

    def statuses():
        looked.append(clock.now_s())
        return []

    watching = asyncio.create_task(ClusterEvents(statuses, clock, {}).run())
    await clock.settle()
    for _ in range(3):
        await clock.advance(0.5)
    watching.cancel()
    assert [each - looked[0] for each in looked] == [0.0, 1.0]
