"""Rows of applications as those see them who may not."""

import asyncio
import json
from dataclasses import replace

import numpy as np
import pytest

from shim.domain.access_lists import NO_ACLS, Access, ApplicationACLs, Viewer
from shim.domain.ids import ApplicationId, SubClusterId
from shim.federation import application_access, application_acls
from shim.federation.application_access import ApplicationAccess, hidden_application
from shim.federation.application_acls import ApplicationACLBook
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.federation.freshness import Freshness
from shim.federation.reading import ColumnsRead
from shim.simulation.state_stores import InMemoryStateStore
from tests.doubles.builders import a_record
from tests.doubles.clock import FakeClock
from tests.doubles.failing_stores import SwitchableStore
from tests.doubles.reports import a_document
from tests.doubles.settings import usual


@pytest.fixture
def view():
    made = FederationView((SubClusterId("east"),), usual(ViewSettings))
    for number in (1, 2):
        made.applications.note(a_document(number, "east"))
    return made


@pytest.fixture
def access(view):
    clock = FakeClock()
    return ApplicationAccess(ApplicationACLBook(view, InMemoryStateStore(clock.now_s), clock), view)


def test_times_of_what_is_hidden_are_told_to_nobody(access):
    document = a_document(1, "east")
    hidden = access.hidden(document)
    assert (hidden.summary.started_at_ms, hidden.summary.finished_at_ms) == (0, 0)
    assert hidden.raw == access.hidden_raw(document.raw) != document.raw


def test_rows_are_whole_where_they_may_be_seen_and_hidden_elsewhere(view, access):
    rows = np.arange(2)
    whole = list(view.applications.columns.raws(rows))
    hidden = [access.hidden_raw(raw) for raw in whole]

    def told(visible):
        return list(ColumnsRead(view.applications.columns, Freshness(0.0, ()), access, visible).raws(rows))

    assert told(None) == whole
    assert told(np.array([True, False])) == [whole[0], hidden[1]]


def test_what_is_hidden_is_written_once_as_long_as_it_is_among_the_newest(monkeypatch, access):
    monkeypatch.setattr(application_access, "_MOST_HIDDEN", 2)
    raws = [a_document(number, "east").raw for number in (1, 2, 3)]
    first, second, third = (access.hidden_raw(raw) for raw in raws)
    assert (access.hidden_raw(raws[1]) is second, access.hidden_raw(raws[2]) is third) == (True, True)
    assert access.hidden_raw(raws[0]) == first
    assert access.hidden_raw(raws[0]) is not first
    assert access.hidden_raw(raws[1]) is not second, "the oldest goes"


# ---------------------------------------------------------------------- access lists of submissions


ACLS = ApplicationACLs(view="bob,carol", modify="bob")


class Submitted:
    """A store in which alice's applications were submitted with lists, and a view that lists some of them."""

    def __init__(self, *numbers):
        self.clock = FakeClock()
        self.store = SwitchableStore(self.clock.now_s)
        self.view = FederationView((SubClusterId("east"),), usual(ViewSettings))
        self.book = ApplicationACLBook(self.view, self.store, self.clock)
        self.numbers = numbers

    async def begin(self):
        for number in self.numbers:
            await self.store.insert_intent(a_record(application_id=ApplicationId(1, number), acls=ACLS))

    def lists(self, *numbers):
        for number in self.numbers:
            self.view.applications.remove(ApplicationId(1, number))
        for number in numbers:
            self.view.applications.note(a_document(number, "east"))

    def seen(self, user):
        return sorted(each.sequence for each in self.book.visible_to(user, frozenset))


async def test_lists_of_what_is_listed_are_known_and_others_forgotten(monkeypatch):
    monkeypatch.setattr(application_acls, "_AT_A_TIME", 2)
    made = Submitted(1, 2, 3, 4, 5)
    await made.begin()
    made.lists(1, 2, 3, 4, 5)
    await made.book.refresh()
    assert (made.seen("bob"), made.seen("eve")) == ([1, 2, 3, 4, 5], [])
    assert made.book.grants(ApplicationId(1, 4), Access.MODIFY, "bob", frozenset)
    assert not made.book.grants(ApplicationId(1, 4), Access.MODIFY, "carol", frozenset)
    made.lists(2, 5)
    await made.book.refresh()
    assert made.seen("carol") == [2, 5]
    assert made.book.of(ApplicationId(1, 1)) == NO_ACLS
    made.lists()
    await made.book.refresh()
    assert made.seen("carol") == []


async def test_they_are_learnt_every_second_whatever_the_store_does_meanwhile():
    made = Submitted(1)
    await made.begin()
    running = asyncio.create_task(made.book.run())
    await made.clock.settle()
    made.lists(1)
    await made.clock.advance(0.9)
    assert made.seen("bob") == []
    made.store.reads_fail = True
    await made.clock.advance(5.0)
    assert made.seen("bob") == []
    made.store.reads_fail = False
    await made.clock.advance(1.0)
    assert made.seen("bob") == [1]
    running.cancel()
    await asyncio.wait({running})


WHOLE = {
    "id": "application_1_1",
    "user": "alice",
    "name": "sleeper",
    "queue": "root.default",
    "state": "RUNNING",
    "trackingUrl": "http://rm:8088/proxy/application_1_1/",
    "diagnostics": "secret",
    "startedTime": 5,
    "amContainerLogs": "http://nm:8042/node/containerlogs/c/alice",
    "allocatedMB": 256,
    "masterNodeId": "nm:1",
    "resourceInfo": {"resourceUsagesByPartition": []},
    "timeouts": {"timeout": []},
    "memberOfALaterHadoop": "secret",
}


def test_what_identifies_an_application_stays_and_all_else_is_emptied_or_left_out():
    assert json.loads(hidden_application(json.dumps(WHOLE).encode())) == {
        "id": "application_1_1",
        "user": "alice",
        "name": "sleeper",
        "queue": "root.default",
        "state": "RUNNING",
        "diagnostics": "N/A",
        "startedTime": 0,
        "allocatedMB": 0,
        "masterNodeId": "",
    }


def test_a_member_that_a_hadoop_does_not_tell_is_not_made_up():
    assert hidden_application(b'{"id":"application_1_1"}') == b'{"id":"application_1_1"}'


EAST, WEST = SubClusterId("east"), SubClusterId("west")


class Grants:
    """A book that grants two applications to bob, and one to those of the group `ops`."""

    def visible_to(self, user, groups):
        yield from (ApplicationId(1, 7), ApplicationId(1, 8)) if user == "bob" else ()
        yield from (ApplicationId(1, 9),) if "ops" in groups() else ()


@pytest.mark.parametrize(
    ("viewer", "seen"),
    [
        (Viewer("carol", sees_all=True), {1, 2, 3, 4, 7, 8, 9}),
        (Viewer("alice", sees_all=False), {1, 2, 3, 4, 7, 8, 9}),  # they are hers
        (Viewer("carol", sees_all=False), {3}),
        (Viewer("bob", sees_all=False), {3, 7, 8}),
        (Viewer("carol", frozenset({"ops"}), sees_all=False), {3, 9}),
        (Viewer("dave", sees_all=False), {3, 9}),  # this machine says that he is in ops
        (Viewer("keeper", sees_all=False), {2, 3}),
        (Viewer("carol", frozenset({"keepers"}), sees_all=False), {1, 3, 7, 8, 9}),
    ],
)
def test_who_sees_an_application_by_name_grant_guard_or_queue(view, viewer, seen):
    asked = []

    def administers(home, queue, user, groups):
        asked.append((home, queue))
        return (home, queue, user) == (EAST, "root.b", "keeper") or (queue == "root.default" and "keepers" in groups())

    def groups_of(user):
        return frozenset({"ops"}) if user == "dave" else frozenset()

    documents = [a_document(number, "east") for number in (1, 2, 4, 7, 8, 9)] + [a_document(3, "west")]
    queues = {2: "root.b", 4: "root.c"}
    summaries = [
        replace(each.summary, queue=queues.get(each.summary.application_id.sequence, "root.default"))
        for each in documents
    ]
    access = ApplicationAccess(Grants(), view, administers, groups_of, guarded=frozenset({WEST}), is_on=True)
    sees = access.judge(viewer)
    for _ in range(2):
        assert {each.application_id.sequence for each in summaries if sees(each)} == seen
    assert len(asked) == len(set(asked)), "each queue is asked about once"
    assert all(home == EAST for home, _ in asked), "a guarded one was asked as the viewer"
    shown = access.all_shown([d.but(summary=s) for d, s in zip(documents, summaries, strict=True)], viewer)
    assert {each.summary.application_id.sequence for each in shown if b"told" in each.raw} == seen
