"""The view shows what an application that spans uses everywhere, in whatever order that is told."""

import itertools
import json
from dataclasses import replace

import pytest

from shim.domain.applications import SPAN_TAG
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.usage import PartUsage
from shim.federation.core.account_book import AccountBook
from shim.federation.core.federation_view import FederationView, Part, ViewSettings
from shim.protocol.rest.usage import UsageForm
from tests.doubles.reports import a_document, a_report
from tests.doubles.settings import usual

EAST, WEST, NORTH = SubClusterId("east"), SubClusterId("west"), SubClusterId("north")
ONE = ApplicationId(1, 1)


def a_view(book=None):
    return FederationView((EAST, WEST, NORTH), usual(ViewSettings), accounts=book or AccountBook(UsageForm()))


def told(subcluster, memory, state="RUNNING", *, containers=1, as_of_s=100.0, number=1, started_at_ms=1000):
    known = a_document(number, subcluster, state, as_of_s=as_of_s, started_at_ms=started_at_ms)
    raw = json.loads(known.raw) | {"memorySeconds": memory, "runningContainers": containers}
    return known.but(told=json.dumps(raw).encode())


def part(subcluster, memory, state="RUNNING", **more):
    known = told(subcluster, memory, state, **more)
    return known.but(summary=replace(known.summary, tags=(SPAN_TAG,), application_type="HEDDLE"))


def shown(view):
    raw = json.loads(view.applications.find(ONE).raw)
    return raw["memorySeconds"], raw["runningContainers"]


REPORTS = (
    a_report("east", 1, applications=[told("east", 100, containers=2)]),
    a_report("west", 1, applications=[part("west", 50, containers=3)]),
    a_report("north", 1, applications=[part("north", 7, containers=1)]),
)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_parts_are_added_in_whatever_order_they_are_told(order):
    view = a_view()
    for number in order:
        view.apply(REPORTS[number])
        view.apply(REPORTS[number])
    assert shown(view) == (157, 6)
    assert [each.summary.application_id for each in view.applications.newest_first()] == [ONE], "and it is listed once"
    assert view.applications.find(ONE).summary.home_subcluster == EAST


def test_what_a_cluster_tells_later_is_shown_at_once_also_after_the_end():
    view = a_view()
    for report in REPORTS:
        view.apply(report)
    version = view.version(Part.APPLICATIONS)
    view.apply(a_report("west", 2, polled_at_s=102.0, applications=[part("west", 60, as_of_s=102.0, containers=3)]))
    assert shown(view) == (167, 6)
    assert view.version(Part.APPLICATIONS) > version, "answers that are kept are made anew"
    view.apply(
        a_report("east", 2, polled_at_s=103.0, applications=[told("east", 110, "KILLED", as_of_s=103.0, containers=-1)])
    )
    assert shown(view) == (177, -1)
    ended = part("west", 90, "KILLED", as_of_s=104.0, containers=-1)
    view.apply(a_report("west", 3, polled_at_s=104.0, applications=[ended]))
    assert shown(view) == (207, -1)
    version = view.version(Part.APPLICATIONS)
    view.apply(a_report("west", 4, polled_at_s=105.0, applications=[ended.but(as_of_s=105.0)]))
    assert view.version(Part.APPLICATIONS) == version, "nothing has changed"


def test_a_document_that_is_read_alone_has_the_account_and_is_kept_bare():
    view = a_view()
    for report in REPORTS:
        view.apply(report)
    fresh = told("east", 120, containers=2, as_of_s=101.0)
    view.applications.note(fresh)
    view.applications.note(fresh.but(as_of_s=102.0))
    assert shown(view) == (177, 6)
    viewed = view.applications.with_account(told("east", 130, containers=2, as_of_s=103.0))
    assert json.loads(viewed.raw)["memorySeconds"] == 187
    hidden = told("east", 0, started_at_ms=0)
    assert view.applications.with_account(hidden) is hidden, "who may not see when it began is not told what it uses"
    other = told("east", 5, number=2)
    assert view.applications.with_account(other) is other


def test_a_resource_manager_that_forgot_what_had_ended_takes_nothing_back():
    view = a_view()
    for report in REPORTS:
        view.apply(report)
    restarted = a_report(
        "west", 2, polled_at_s=110.0, started_on_ms=9_000, applications=[part("west", 20, as_of_s=110.0)]
    )
    view.apply(restarted)
    assert shown(view)[0] == 157
    view.apply(replace(restarted, sequence=3, polled_at_s=111.0, applications={ONE: part("west", 25, as_of_s=111.0)}))
    assert shown(view)[0] == 162
    home = a_report("east", 2, polled_at_s=112.0, started_on_ms=9_000, applications=[told("east", 40, as_of_s=112.0)])
    view.apply(home)
    assert shown(view)[0] == 162


def test_somebody_elses_application_under_that_id_is_no_part():
    view = a_view()
    stranger = part("west", 10_000)
    view.apply(a_report("west", 1, applications=[stranger.but(summary=replace(stranger.summary, user="mallory"))]))
    view.apply(REPORTS[0])
    assert shown(view) == (100, 2)
    view.apply(REPORTS[2])
    assert shown(view) == (107, 3), "and keeps nobody else's out"


def test_accounts_of_an_earlier_heddle_come_back_and_what_is_known_goes_first():
    book = AccountBook(UsageForm())
    parts = {EAST: PartUsage((1, 1000), {"memory_mib_s": 90}), WEST: PartUsage((1, 1000), {"memory_mib_s": 50})}
    book.restore(ONE, "alice", EAST, parts)
    view = a_view(book)
    view.apply(REPORTS[0])
    assert shown(view) == (150, 2)
    book.restore(ONE, "alice", EAST, {WEST: PartUsage((1, 1000), {"memory_mib_s": 1})})
    view.apply(a_report("east", 2, polled_at_s=101.0, applications=[told("east", 101, as_of_s=101.0)]))
    assert shown(view)[0] == 151


def test_accounts_are_bounded():
    book = AccountBook(UsageForm(), most=3)
    for number in range(1, 6):
        book.restore(ApplicationId(1, number), "alice", EAST, {})
    assert len(book) == 3
    assert book.find(ApplicationId(1, 2), "alice") is None
    assert book.find(ApplicationId(1, 5), "alice") is not None
    assert book.find(ApplicationId(1, 5), "bob") is None
