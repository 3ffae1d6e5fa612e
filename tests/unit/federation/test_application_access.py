"""Rows of applications as those see them who may not."""

import json

import numpy as np
import pytest

from shim.domain.ids import SubClusterId
from shim.federation.application_access import ApplicationAccess, hidden_application
from shim.federation.application_acls import ApplicationACLBook
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.federation.freshness import Freshness
from shim.federation.reading import ColumnsRead
from shim.simulation.state_stores import InMemoryStateStore
from tests.doubles.clock import FakeClock
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
