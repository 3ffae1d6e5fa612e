"""True times of submission in what homes tell of applications that waited."""

import json
from dataclasses import replace

from shim.domain.ids import ApplicationId, SubClusterId
from shim.federation.core.application_index import SubmitTimes
from shim.federation.core.federation_view import FederationView, ViewSettings
from tests.doubles.reports import a_document, a_report
from tests.doubles.settings import usual

EAST = SubClusterId("east")
ONE = ApplicationId(1, 1)


def a_told_document(sequence=1, started_ms=90_000, **members):
    document = a_document(sequence, "east", started_at_ms=started_ms)
    told = {"id": f"application_1_000{sequence}", "startedTime": started_ms, "elapsedTime": 4_000, **members}
    return replace(document, raw=json.dumps(told).encode())


def test_started_and_elapsed_time_count_from_the_submission():
    times = SubmitTimes()
    times.note(ONE, 60_000)
    corrected = times.corrected(a_told_document(name='x","startedTime":5,"y', launchTime=91_000))
    assert corrected.summary.started_at_ms == 60_000
    told = json.loads(corrected.raw)
    assert (told["startedTime"], told["elapsedTime"], told["launchTime"]) == (60_000, 34_000, 91_000)
    assert told["name"] == 'x","startedTime":5,"y'
    other = a_told_document(2)
    assert times.corrected(other) is other


def test_a_members_name_in_a_text_before_the_member_is_not_taken_for_it():
    times = SubmitTimes()
    times.note(ONE, 60_000)
    document = a_told_document()
    raw = b'{"name":"a\\"startedTime\\":7","startedTime":90000}'
    corrected = times.corrected(replace(document, raw=raw))
    assert json.loads(corrected.raw) == {"name": 'a"startedTime":7', "startedTime": 60_000}


def test_the_view_orders_by_submission_whoever_told_of_it():
    view = FederationView((EAST,), usual(ViewSettings))
    view.note_submitted_at(ONE, 10_000)
    view.apply(a_report("east", applications=[a_told_document(1, 90_000), a_told_document(2, 50_000)]))
    assert [each.summary.application_id.sequence for each in view.applications()] == [2, 1]
    view.note(replace(a_told_document(1, 90_000), as_of_s=200.0))
    found = view.find(ONE)
    assert found is not None
    assert found.summary.started_at_ms == 10_000


def test_only_the_newest_are_remembered():
    times = SubmitTimes()
    for number in range(20_001):
        times.note(ApplicationId(1, number), number)
    assert len(times.known) == 20_000
    assert ApplicationId(1, 0) not in times.known
